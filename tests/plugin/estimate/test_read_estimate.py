"""What Read returns for a path, whatever stands there."""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paceline.estimate import page, text
from paceline.estimate.kinds import kind_of
from paceline.estimate.read import CAP, SMALL, estimate_read, token_cap
from paceline.estimate.result import measure_result

if TYPE_CHECKING:
    from pathlib import Path

LINE = "def total_{}(a, b): return a + b * 17  # a remark of some length here\n"
MODEL = "claude-opus-5"
any_path = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)


def source(lines: int) -> str:
    return "".join(LINE.format(number) for number in range(lines))


def write(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def shown(content: str, first: int = 1) -> str:
    """What the client shows: every line numbered, the empty one after the last newline too."""
    return "\n".join(f"{at}\t{line}" for at, line in enumerate(content.split("\n"), first))


def test_a_whole_small_file_costs_what_its_numbered_lines_cost(tmp_path: Path) -> None:
    content = source(300)
    found = estimate_read(write(tmp_path, "a.py", content), model=MODEL)
    assert found.tokens == measure_result("Read", shown(content), MODEL)
    assert found.low < found.tokens < found.high
    assert (found.kind, found.capped, found.reason) == ("code", False, "")
    assert (found.lines, found.total_lines) == (301, 301)


def test_more_than_two_thousand_short_lines_are_shown_whole(tmp_path: Path) -> None:
    """The documentation says 2,000 lines; the clients 2.1.240 and 2.1.332 show all of them."""
    found = estimate_read(write(tmp_path, "a.txt", "l1\n" * 2_500), model=MODEL)
    assert (found.lines, found.capped) == (2_501, False)


def test_a_range_costs_exactly_its_lines(tmp_path: Path) -> None:
    content = source(3_000)
    path = write(tmp_path, "a.py", content)
    lines = content.split("\n")[99:149]
    found = estimate_read(path, 100, 50, model=MODEL)
    assert found.tokens == measure_result("Read", shown("\n".join(lines), 100), MODEL)
    assert found.lines == 50


def test_a_limit_scales_the_estimate_by_its_lines(tmp_path: Path) -> None:
    """[CASE 30] 2 MB without a limit never counts as half a million tokens, 100 lines as 100."""
    path = write(tmp_path, "a.py", source(30_000))
    assert len(source(30_000)) > 2_000_000
    whole = estimate_read(path, model=MODEL)
    assert whole.tokens <= CAP
    assert whole.capped
    hundred = estimate_read(path, limit=100, model=MODEL)
    two_hundred = estimate_read(path, limit=200, model=MODEL)
    assert 1_000 < hundred.tokens < two_hundred.tokens < 2.2 * hundred.tokens


def test_a_file_over_the_cap_gives_its_first_page(tmp_path: Path) -> None:
    found = estimate_read(write(tmp_path, "a.py", source(3_000)), model=MODEL)
    assert found.capped
    assert found.reason == "first page only"
    assert 0.8 * CAP < found.tokens < 1.1 * CAP
    assert found.lines < found.total_lines == 3_001


def test_the_first_page_is_cut_in_proportion_to_lines_not_to_tokens(tmp_path: Path) -> None:
    """Seen on the client: 2,000 short lines before the long ones make a tiny first page."""
    path = write(tmp_path, "a.txt", "x\n" * 2_000 + ("word " * 100 + "\n") * 320)
    found = estimate_read(path, model=MODEL)
    assert found.capped
    assert found.tokens < 0.4 * CAP


def test_one_endless_line_is_cut_inside(tmp_path: Path) -> None:
    found = estimate_read(write(tmp_path, "a.js", "x=1;" * 50_000), model=MODEL)
    assert found.capped
    assert 0.75 * CAP < found.tokens < CAP


def test_a_range_over_the_cap_is_an_error_of_a_few_tokens(tmp_path: Path) -> None:
    path = write(tmp_path, "a.py", source(3_000))
    found = estimate_read(path, 1, 2_900, model=MODEL)
    assert (found.tokens, found.capped, found.reason) == (SMALL, True, "over the token cap")


def test_the_client_variable_moves_the_cap(tmp_path: Path) -> None:
    path = write(tmp_path, "a.py", source(3_000))
    env = {"CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS": "5000"}
    found = estimate_read(path, model=MODEL, env=env)
    assert 4_000 < found.tokens < 5_500
    larger = {"CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS": "200000"}
    assert not estimate_read(path, model=MODEL, env=larger).capped


@pytest.mark.parametrize("told", ["", "0", "-5", "many", "1e4", "٣", "9" * 40])
def test_a_cap_that_is_no_number_is_the_default(told: str) -> None:
    assert token_cap({"CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS": told}) == CAP


def test_allow_large_gives_all_of_it(tmp_path: Path) -> None:
    path = write(tmp_path, "a.py", source(3_000))
    found = estimate_read(path, model=MODEL, allow_large=True)
    assert found.tokens > 2 * CAP
    assert not found.capped
    huge = write(tmp_path, "b.py", source(12_000))
    assert estimate_read(huge, model=MODEL, allow_large=True).tokens > 3.5 * found.tokens


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_no_limit(tmp_path: Path, limit: int) -> None:
    path = write(tmp_path, "a.py", source(50))
    assert estimate_read(path, limit=limit).tokens == estimate_read(path).tokens


def test_an_offset_past_the_end_brings_a_reminder(tmp_path: Path) -> None:
    found = estimate_read(write(tmp_path, "a.py", source(50)), 500)
    assert (found.tokens, found.reason) == (SMALL, "past the end")


def test_an_unchanged_file_costs_a_stub(tmp_path: Path) -> None:
    path = write(tmp_path, "a.py", source(500))
    assert estimate_read(path, unchanged=True).tokens == SMALL


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.zip", b"PK\x03\x04" * 100, "binary"),
        ("a.PYC", b"\0" * 100, "binary"),
        ("empty.py", b"", "empty"),
        ("a.png", b"not an image", "not an image"),
        ("a.pdf", b"hello", "not a pdf"),
        ("a.ipynb", b'{"cells":', "not a notebook"),
        ("b.ipynb", b"[" * 100_000, "not a notebook"),
        ("c.ipynb", b'{"cells": 7}', "not a notebook"),
    ],
)
def test_what_has_no_content_costs_a_small_constant_with_a_reason(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    found = estimate_read(write(tmp_path, name, content))
    assert (found.tokens, found.reason) == (SMALL, reason)


def test_a_missing_file_and_a_folder_cost_a_small_constant(tmp_path: Path) -> None:
    """[CASE 30]"""
    assert estimate_read(str(tmp_path / "nope")).reason == "missing"
    assert estimate_read(str(tmp_path)).reason == "directory"
    assert estimate_read(str(tmp_path / ".." / tmp_path.name / ".")).reason == "directory"


def test_nul_bytes_in_a_text_are_read_with_a_note(tmp_path: Path) -> None:
    """The client refuses binaries by name alone and shows any other with a note."""
    plain = estimate_read(write(tmp_path, "a.txt", b"abc def\n" * 20))
    found = estimate_read(write(tmp_path, "b.txt", b"abc\0def\n" * 20))
    assert found.tokens > plain.tokens + 50


@pytest.mark.parametrize(
    ("encoding", "mark"), [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]
)
def test_utf16_with_its_mark_costs_what_its_text_costs(
    tmp_path: Path, encoding: str, mark: bytes
) -> None:
    content = "hello wörld, a line\n" * 40
    wide = estimate_read(write(tmp_path, "a.txt", mark + content.encode(encoding)))
    assert wide.tokens == estimate_read(write(tmp_path, "b.txt", content)).tokens


def test_a_byte_order_mark_and_windows_line_ends_cost_nothing(tmp_path: Path) -> None:
    plain = estimate_read(write(tmp_path, "a.txt", "one\ntwo\n"))
    marked = estimate_read(write(tmp_path, "b.txt", b"\xef\xbb\xbfone\r\ntwo\r\n"))
    assert marked.tokens == plain.tokens


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "shift_jis", "gbk", "koi8-r"])
def test_a_legacy_encoding_is_priced_as_the_client_shows_it(tmp_path: Path, encoding: str) -> None:
    words = {"shift_jis": "灯台守は手紙を", "gbk": "灯塔看守人每", "koi8-r": "маяк и письмо"}
    raw = (words.get(encoding, "café naïve") + "\n").encode(encoding) * 30
    found = estimate_read(write(tmp_path, "a.txt", raw))
    decoded = raw.decode("utf-8", "replace")
    expected = measure_result("Read", shown(decoded), "") + page.UTF8_NOTE
    assert found.tokens == expected


def test_a_fifo_is_never_opened(tmp_path: Path) -> None:
    """Opening one without a reader at its other end would hang."""
    if sys.platform == "win32":
        pytest.skip("no FIFOs")
    path = tmp_path / "pipe.py"
    os.mkfifo(path)
    assert estimate_read(str(path)).reason == "fifo"


@pytest.mark.skipif(sys.platform == "win32", reason="no /dev")
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/tty", "/dev/stdin"])
def test_a_device_is_never_opened(path: str) -> None:
    assert estimate_read(path).tokens == SMALL


def link(where: Path, to: str) -> str:
    try:
        where.symlink_to(to)
    except OSError as err:
        pytest.skip(f"no symbolic links here: {err}")
    return str(where)


def test_a_link_costs_what_it_leads_to_and_a_loop_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "a.py", source(40))
    assert estimate_read(link(tmp_path / "b.py", path)).tokens == estimate_read(path).tokens
    assert estimate_read(link(tmp_path / "loop", "loop")).tokens == SMALL
    assert estimate_read(link(tmp_path / "gone", "nowhere")).reason == "missing"


@pytest.mark.skipif(
    sys.platform == "win32" or (hasattr(os, "geteuid") and os.geteuid() == 0),
    reason="root reads everything",
)
def test_a_file_one_may_not_read_costs_a_small_constant(tmp_path: Path) -> None:
    path = write(tmp_path, "a.py", source(40))
    (tmp_path / "a.py").chmod(0)
    assert estimate_read(path).reason == "permission denied"


@pytest.mark.parametrize("gigabytes", [1, 10])
def test_a_huge_sparse_file_is_sampled_not_read(tmp_path: Path, gigabytes: int) -> None:
    path = tmp_path / "huge.log"
    with path.open("wb") as file:
        file.write(source(100).encode())
        try:
            file.truncate(gigabytes << 30)
        except OSError as err:
            pytest.skip(f"no sparse files here: {err}")
    size = gigabytes << 30
    for offset, limit in ((None, None), (None, 50), (900, 50), (10**9, 10), (1, 10**9)):
        assert estimate_read(str(path), offset, limit).tokens <= CAP * 2
    opened = page.Source(str(path), size)
    try:
        taken = sum(len(opened.read(at, 1 << 30)) for at in (0, size // 2, size - 100))
    finally:
        opened.close()
    assert taken <= page.SIZE_MAX


def test_a_range_deep_in_a_large_file_is_sampled_where_it_lies(tmp_path: Path) -> None:
    long = "a much longer line of words that goes on and on without an end\n"
    path = write(tmp_path, "a.log", "x\n" * 200_000 + long * 20_000)
    head = estimate_read(path, 1_000, 100)
    deep = estimate_read(path, 700_000, 100)
    assert deep.tokens > 3 * head.tokens


def test_a_file_that_grows_or_shrinks_while_it_is_read_is_no_error(tmp_path: Path) -> None:
    path = write(tmp_path, "a.log", source(10))
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            for lines in (5_000, 0, 3):
                write(tmp_path, "a.log", source(lines))

    writer = threading.Thread(target=change)
    writer.start()
    try:
        for _ in range(60):
            found = estimate_read(path)
            assert 0 < found.low <= found.tokens <= found.high
    finally:
        stop.set()
        writer.join(10)
    stale = page.Source(path, 10)
    try:
        assert page.shown(stale, page.Range(None, None), "v47", CAP).tokens >= 0
    finally:
        stale.close()


@given(path=any_path, offset=st.integers() | st.none(), limit=st.integers() | st.none())
def test_no_path_and_no_range_raises(path: str, offset: int | None, limit: int | None) -> None:
    for name in (path, f"../{path}", f"{path}\0", f"{path}\n", path + "\ud800"):
        found = estimate_read(name, offset, limit)
        assert 0 <= found.low <= found.tokens <= found.high


@pytest.mark.parametrize("path", [None, 7, b"bytes", [], {}])
def test_a_path_that_is_no_text_costs_a_small_constant(path: object) -> None:
    assert estimate_read(path).tokens == SMALL  # type: ignore[arg-type]


HEADS = [
    b"",
    b"\0",
    b"[{",
    b"\xff\xfe",
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF89a",
    b"%PDF-1.7\n",
    b"RIFF\0\0\0\0WEBPVP8 ",
    b"RIFF\0\0\0\0WEBPVP8L",
    b"RIFF\0\0\0\0WEBPVP8X",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    content=st.binary(max_size=3_000),
    ending=st.sampled_from(
        ["py", "txt", "png", "jpg", "gif", "webp", "pdf", "ipynb", "json", "zip", "svg", ""]
    ),
    head=st.sampled_from(HEADS),
    offset=st.integers(-3, 40) | st.none(),
    limit=st.integers(-3, 40) | st.none(),
)
def test_no_content_raises(
    tmp_path: Path, content: bytes, ending: str, head: bytes, offset: int | None, limit: int | None
) -> None:
    path = write(tmp_path, f"f.{ending}", head + content)
    found = estimate_read(path, offset, limit, model=MODEL)
    assert 0 <= found.low <= found.tokens <= found.high
    assert found.tokens <= CAP * 2 or found.kind in ("image", "pdf")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    lines=st.lists(
        st.text(st.characters(exclude_characters="\r\0\ufeff", exclude_categories=["Cs"])),
        max_size=40,
    )
)
def test_the_estimate_of_a_text_is_what_is_measured_when_it_came_back(
    tmp_path: Path, lines: list[str]
) -> None:
    content = "\n".join(lines)
    found = estimate_read(write(tmp_path, "a.txt", content), model=MODEL)
    if found.reason != "empty":
        notes = page.UTF8_NOTE if "\ufffd" in content else 0
        assert found.tokens == measure_result("Read", shown(content), MODEL) + notes


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/a/b.py", "code"),
        ("C:\\a\\b.TSX", "code"),
        ("jquery.min.js", "minified"),
        ("x.d.ts", "code"),
        ("Makefile", "text"),
        (".gitignore", "text"),
        ("a.tar.gz", "binary"),
        ("notes.md", "prose"),
        ("", "text"),
    ],
)
def test_a_kind_is_found_by_the_name(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def picture_of(wide: int, high: int) -> str:
    size = wide.to_bytes(4, "big") + high.to_bytes(4, "big")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\0" * 40).decode()


def test_a_notebook_costs_its_cells_outputs_and_images(tmp_path: Path) -> None:
    def notebook(outputs: list[Any]) -> str:
        cell = {"cell_type": "code", "id": "c1", "metadata": {}, "source": ["print(1)\n", "x"]}
        return json.dumps({"cells": [{**cell, "outputs": outputs}], "nbformat": 4})

    bare = estimate_read(write(tmp_path, "a.ipynb", notebook([])), model=MODEL)
    said = notebook([{"output_type": "stream", "name": "stdout", "text": ["word " * 200]}])
    with_text = estimate_read(write(tmp_path, "b.ipynb", said), model=MODEL)
    assert bare.tokens + 150 < with_text.tokens < bare.tokens + 450
    picture = {"output_type": "display_data", "data": {"image/png": picture_of(280, 280)}}
    with_image = estimate_read(write(tmp_path, "c.ipynb", notebook([picture])), model=MODEL)
    assert with_image.tokens == pytest.approx(bare.tokens + 100, abs=10)
    flood = notebook([{"output_type": "stream", "name": "stdout", "text": ["word " * 9_000]}])
    assert estimate_read(write(tmp_path, "d.ipynb", flood), model=MODEL).tokens < 200


def test_the_spread_of_an_unknown_kind_is_that_of_all(tmp_path: Path) -> None:
    assert text.spread("no such kind", "v47") == text.spread("", "v47")
    assert text.spread("prose", "v47") != text.spread("log", "v47")
