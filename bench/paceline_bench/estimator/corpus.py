"""The corpus: up to a few dozen texts of each kind, chosen the same way everywhere."""

from __future__ import annotations

import ast
import hashlib
import json
import random
import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from paceline_bench.estimator import generated

LONGEST = 48_000
"""Characters kept of one file: about what one Read returns."""
SHORTEST = 700


@dataclass(frozen=True, slots=True)
class Sample:
    """One text of the corpus. ``source`` names the package it came from."""

    kind: str
    name: str
    source: str
    text: str


# kind: (how many at most, [(source folders, suffixes, part of the path or "")])
_FILES: dict[str, tuple[int, list[tuple[str, str, str]]]] = {
    "python": (
        60,
        [
            ("stdlib", ".py", ""),
            ("sdist-django", ".py", ""),
            ("wheel-homeassistant", ".py", ""),
            ("wheel-ansible-core", ".py", ""),
        ],
    ),
    "javascript": (45, [("npm-*", ".js .mjs .cjs", ""), ("sdist-django", ".js", "")]),
    "minified js": (
        25,
        [
            ("npm-*", ".min.js .prod.js", ""),
            ("wheel-bokeh", ".min.js", ""),
            ("wheel-mkdocs-material", ".js", ""),
            ("wheel-jupyterlab", ".js", "static"),
        ],
    ),
    "typescript": (45, [("sdist-bokeh", ".ts", ""), ("npm-*", ".ts .d.ts .cts", "")]),
    "go": (30, [("debian-golang-*", ".go", ""), ("sdist-pygments", ".go", "")]),
    "rust": (30, [("debian-librust-*", ".rs", ""), ("sdist-pygments", ".rs", "")]),
    "java/kotlin": (35, [("sdist-jpype1", ".java", ""), ("npm-react-native", ".java .kt", "")]),
    "c/c++": (
        40,
        [
            ("npm-react-native", ".h .cpp .mm .m", ""),
            ("sdist-jpype1", ".h .cpp", ""),
            ("sdist-pygments", ".c .cpp .h", ""),
        ],
    ),
    "c#": (20, [("sdist-pythonnet", ".cs", "")]),
    "php": (20, [("debian-php-*", ".php", "")]),
    "ruby/perl": (
        25,
        [
            ("debian-ruby-*", ".rb", ""),
            ("debian-libhtml-*", ".pm .pl", ""),
            ("sdist-pygments", ".rb .pl .pm", ""),
        ],
    ),
    "other languages": (60, [("sdist-pygments", "", "examplefiles")]),
    "sql": (30, [("sdist-sqlfluff", ".sql", "")]),
    "html": (
        30,
        [
            ("sdist-django", ".html", ""),
            ("wheel-sphinx", ".html", ""),
            ("wheel-wagtail", ".html", ""),
            ("npm-*", ".html", ""),
        ],
    ),
    "css": (
        30,
        [
            ("npm-*", ".css .scss", ""),
            ("wheel-wagtail", ".css", ""),
            ("wheel-jupyterlab", ".css", ""),
        ],
    ),
    "svg": (30, [("npm-*", ".svg", ""), ("wheel-jupyterlab", ".svg", "")]),
    "json": (
        40,
        [
            ("wheel-homeassistant", ".json", "components"),
            ("npm-*", ".json", ""),
            ("wheel-jupyterlab", ".json", ""),
            ("wheel-vega-datasets", ".json", ""),
        ],
    ),
    "source map": (12, [("npm-*", ".map", "")]),
    "yaml": (
        30,
        [
            ("wheel-homeassistant", ".yaml", ""),
            ("sdist-sqlfluff", ".yml .yaml", ""),
            ("wheel-ansible-core", ".yml .yaml", ""),
        ],
    ),
    "toml/ini": (20, [("sdist-*", ".toml .cfg .ini", ""), ("debian-*", ".toml", "")]),
    "xml": (15, [("npm-*", ".xml .plist", ""), ("sdist-pygments", ".xml", "")]),
    "csv": (30, [("wheel-statsmodels", ".csv", ""), ("wheel-vega-datasets", ".csv", "")]),
    "markdown": (
        40,
        [("npm-*", ".md", ""), ("sdist-*", ".md", ""), ("wheel-mkdocs-material", ".md", "")],
    ),
    "docs/rst": (
        40,
        [
            ("sdist-django", ".txt", "docs"),
            ("wheel-sphinx", ".rst", ""),
            ("sdist-pygments", ".rst", ""),
        ],
    ),
    "licence": (
        12,
        [
            ("npm-*", "LICENSE LICENSE.md LICENSE.txt", ""),
            ("sdist-*", "LICENSE LICENSE.txt LICENSE.md COPYING", ""),
            ("wheel-*", "LICENSE LICENSE.txt COPYING", ""),
        ],
    ),
    "po catalog": (20, [("sdist-django", ".po", ""), ("wheel-wagtail", ".po", "")]),
}
_GENERATED = {
    "log": 25,
    "json records": 25,
    "csv numbers": 20,
    "encoded": 25,
    "lock file": 20,
    "diff": 30,
    "emoji": 15,
    "notebook": 15,
    "shell output": 25,
}
# prose by script: languages of the catalogs it is made from.
_PROSE = {
    "latin prose": "de fr es pt it nl pl cs sk sl hr hu ro fi sv da nb et lv lt tr vi id ca eu "
    "gl is ga cy sq az",
    "cyrillic prose": "ru uk bg sr mk kk ky tg mn be",
    "greek prose": "el",
    "arabic prose": "ar fa ur ckb",
    "hebrew prose": "he",
    "devanagari prose": "hi ne mr",
    "thai prose": "th",
    "chinese prose": "zh_Hans zh_Hant",
    "japanese prose": "ja",
    "korean prose": "ko",
    "other scripts": "hy ka bn ta te kn ml my km pa gu",
    "english prose": "en",
}
_PROSE_MOST = {
    "latin prose": 93,
    "cyrillic prose": 30,
    "arabic prose": 16,
    "devanagari prose": 12,
    "other scripts": 33,
    "english prose": 20,
}
_PROSE_SHARE = 10
_STORIES = 80
_PROSE_SIZE = 6_000


def gather(root: Path) -> list[Sample]:
    """Return the corpus from the sources under ``root``, each text once."""
    found: list[Sample] = []
    seen: set[str] = set()
    for kind, (most, places) in _FILES.items():
        _add(found, seen, _files(root, kind, most, places), most)
    for kind, languages in _PROSE.items():
        most = _PROSE_MOST.get(kind, _PROSE_SHARE)
        _add(found, seen, _prose(root, kind, languages.split(), most), most)
    _add(found, seen, _stories(root), _STORIES)
    paths = [sample.name for sample in found]
    code = [sample.text for sample in found if sample.kind in ("python", "typescript", "go")]
    docs = [sample.text for sample in found if sample.kind in ("markdown", "docs/rst")]
    for kind, most in _GENERATED.items():
        made = []
        for at in range(most):
            rng = random.Random(f"{kind} {at}")
            made.append(Sample(kind, f"{at}", "generated", _generate(kind, rng, code, docs, paths)))
        _add(found, seen, made, most)
    return found


def _add(found: list[Sample], seen: set[str], samples: list[Sample], most: int) -> None:
    left = most
    for sample in samples:
        text = _cut(sample.text)
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        if left and len(text) >= SHORTEST and digest not in seen:
            seen.add(digest)
            found.append(Sample(sample.kind, sample.name, sample.source, text))
            left -= 1


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return text[: text.rfind("\n", LONGEST // 2, LONGEST) + 1 or LONGEST]


def _generate(
    kind: str, rng: random.Random, code: list[str], docs: list[str], paths: list[str]
) -> str:
    match kind:
        case "log":
            return generated.log(rng)
        case "json records":
            return generated.records(rng)
        case "csv numbers":
            return generated.table(rng)
        case "encoded":
            return generated.encoded(rng)
        case "lock file":
            return generated.lock(rng)
        case "diff":
            return generated.diff(rng, rng.choice(code), rng.choice(code))
        case "emoji":
            return generated.emoji(rng)
        case "notebook":
            return generated.notebook(rng, rng.choice(code), rng.choice(docs))
        case _:
            return generated.listing(rng, paths, rng.choice(code))


def _files(root: Path, kind: str, most: int, places: list[tuple[str, str, str]]) -> list[Sample]:
    """Return texts of one kind, taken from its places in turn so that no package crowds it."""
    queues = []
    for source, suffixes, part in places:
        folders = (
            [Path(sysconfig.get_path("stdlib"))]
            if source == "stdlib"
            else sorted(root.glob(source))
        )
        queues += [
            [(folder, path) for path in _candidates(folder, suffixes.split(), part, kind)]
            for folder in folders
        ]
    samples: list[Sample] = []
    at = 0
    while len(samples) < most * 2 and any(at < len(queue) for queue in queues):
        for queue in queues:
            if at < len(queue):
                folder, path = queue[at]
                text = _decode(path)
                if text is not None:
                    name = str(path.relative_to(folder))
                    samples.append(Sample(kind, name, folder.name, text))
        at += 1
    return samples


def _candidates(folder: Path, suffixes: list[str], part: str, kind: str) -> list[Path]:
    def fits(path: Path) -> bool:
        name = path.name
        if part not in str(path.relative_to(folder)) or "site-packages" in path.parts:
            return False
        if suffixes and not name.endswith(tuple(suffixes)):
            return False
        minified = ".min." in name or ".prod." in name or "static" in path.parts
        if kind in ("javascript", "css") and minified:
            return False
        if name.endswith(".output"):
            return False
        return SHORTEST <= path.stat().st_size <= 400_000

    chosen = [path for path in folder.rglob("*") if path.is_file() and fits(path)]
    return sorted(
        chosen, key=lambda p: hashlib.sha256(str(p.relative_to(folder)).encode()).digest()
    )[:60]


def _decode(path: Path) -> str | None:
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text


def _prose(root: Path, kind: str, languages: list[str], most: int) -> list[Sample]:
    """Return prose by language: what catalogs translate, put together to texts of a few KB."""
    by_language = []
    for language in languages:
        lines = _sentences(root, language)
        random.Random(language).shuffle(lines)
        texts = []
        part: list[str] = []
        size = 0
        for line in lines:
            part.append(line)
            size += len(line)
            if size > _PROSE_SIZE:
                texts.append("\n".join(part) + "\n")
                part, size = [], 0
                if len(texts) == most:
                    break
        if size > SHORTEST:
            texts.append("\n".join(part) + "\n")
        by_language.append(
            [Sample(kind, f"{language}-{at}", "catalogs", t) for at, t in enumerate(texts)]
        )
    return [queue[at] for at in range(most) for queue in by_language if at < len(queue)]


def _stories(root: Path) -> list[Sample]:
    """Return what people say and write, by language: no catalog speaks like that."""
    samples = []
    for path in sorted(root.glob("wheel-mimesis/mimesis/datasets/*/text.json")):
        told = json.loads(_decode(path) or "{}")
        lines = [line for part in ("text", "quotes", "questions") for line in told.get(part, [])]
        text = "\n".join(line for line in lines if isinstance(line, str))
        samples += [
            Sample("stories", f"{path.parent.name}-{at}", "catalogs", text[at : at + _PROSE_SIZE])
            for at in range(0, len(text), _PROSE_SIZE)
        ]
    return samples


def _sentences(root: Path, language: str) -> list[str]:
    lines: dict[str, None] = {}
    code = language.replace("_", "-")
    if language == "en":
        texts = [_decode(path) or "" for path in sorted(root.glob("sdist-django/*/docs/**/*.txt"))]
        for text in texts[::3]:
            for block in text.split("\n\n"):
                flat = " ".join(block.split())
                if len(flat) > 120 and re.fullmatch(r"[A-Z][\w ,.;:'()`-]+", flat):
                    lines[flat.replace("`", "")] = None
        return list(lines)
    for path in sorted(root.glob(f"*/**/locale/{language}/LC_MESSAGES/*.po")):
        for found in re.findall(r'^msgstr (.+(?:\n".*)*)', _decode(path) or "", re.MULTILINE):
            text = "".join(_unquote(piece) for piece in found.split("\n"))
            if len(text) > 12:
                lines[text] = None
    for path in sorted(root.glob(f"wheel-homeassistant/**/translations/{code}.json"))[::4]:
        stack = [json.loads(_decode(path) or "{}")]
        while stack:
            item = stack.pop()
            if isinstance(item, dict):
                stack.extend(item.values())
            elif isinstance(item, str) and len(item) > 12:
                lines[item] = None
    return list(lines)


def _unquote(piece: str) -> str:
    try:
        value = ast.literal_eval(piece)
    except (SyntaxError, ValueError):
        return ""
    return value if isinstance(value, str) else ""
