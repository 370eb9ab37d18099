# Two commands do everything on a fresh machine: make demo, make test.
# Only Python 3.11 or later with pip is needed; name another with PYTHON=…

PYTHON ?= python3
ARGS ?=
# Tests at once: those with the real client mostly wait for tokens.
JOBS ?= 4
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

.PHONY: help setup demo test check format lock clean

help:
	@echo "make demo    a fan-out against a rate limit, without and with Paceline"
	@echo "make test    every test (ARGS='-k name' for some)"
	@echo "make check   linter, formatter, two type checkers, the table of promises and their tests"
	@echo "make format  let the formatter and the linter's safe fixes run"
	@echo "make lock    after a change of dependencies in pyproject.toml"
	@echo "make clean   remove .venv and every cache"

setup:
	@$(PYTHON) .ci/setup.py

demo: setup
	@$(BIN)/python -m paceline_mcp demo $(ARGS)

test: setup
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

check: setup
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/python -m basedpyright
	$(BIN)/python -m paceline_bench.pins
	$(BIN)/python -m paceline_bench.ids

format: setup
	$(BIN)/python -m ruff check --fix
	$(BIN)/python -m ruff format

lock: setup
	$(BIN)/python -m uv lock
	$(BIN)/python -m paceline_bench.pins --write

clean:
	rm -rf .venv .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache dist build
