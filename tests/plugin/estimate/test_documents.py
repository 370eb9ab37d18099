"""Images by their pixels, PDFs by their pages."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.estimate import document, image
from paceline.estimate.read import SMALL, estimate_read

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = "claude-opus-4-5", "claude-opus-4-8"


def png(wide: int, high: int) -> bytes:
    size = wide.to_bytes(4, "big") + high.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\x08\x02\0\0\0" + b"\0" * 20


def gif(wide: int, high: int) -> bytes:
    return b"GIF89a" + wide.to_bytes(2, "little") + high.to_bytes(2, "little") + b"\0" * 20


def jpeg(wide: int, high: int) -> bytes:
    size = high.to_bytes(2, "big") + wide.to_bytes(2, "big")
    exif = b"\xff\xe1" + (2 + 30_000).to_bytes(2, "big") + b"\0" * 30_000
    return b"\xff\xd8" + exif + b"\xff\xff\xc2\x00\x11\x08" + size + b"\x03" + b"\0" * 20


def webp(form: bytes, wide: int, high: int) -> bytes:
    head = b"RIFF\x40\0\0\0WEBP" + form + b"\x20\0\0\0"
    if form == b"VP8 ":
        return (
            head + b"\0" * 6 + wide.to_bytes(2, "little") + high.to_bytes(2, "little") + b"\0" * 9
        )
    if form == b"VP8L":
        bits = (wide - 1) | (high - 1) << 14
        return head + b"\x2f" + bits.to_bytes(4, "little") + b"\0" * 9
    small = (wide - 1).to_bytes(3, "little") + (high - 1).to_bytes(3, "little")
    return head + b"\0" * 4 + small + b"\0" * 9


@pytest.mark.parametrize(
    "head",
    [
        png(1920, 1080),
        gif(1920, 1080),
        jpeg(1920, 1080),
        webp(b"VP8 ", 1920, 1080),
        webp(b"VP8L", 1920, 1080),
        webp(b"VP8X", 1920, 1080),
    ],
    ids=["png", "gif", "jpeg", "webp lossy", "webp lossless", "webp extended"],
)
def test_the_pixel_size_is_read_from_the_header(head: bytes) -> None:
    assert image.size(head) == (1920, 1080)


@pytest.mark.parametrize(
    ("wide", "high", "old", "new"),
    [
        (1000, 1000, 1296, 1296),
        (200, 100, 32, 32),
        (1, 1, 1, 1),
        (1920, 1080, 1560, 2691),
        (3840, 2160, 1560, 2952),
        (10, 100_000, 56, 72),
    ],
)
def test_an_image_costs_its_patches_after_it_was_made_smaller(
    wide: int, high: int, old: int, new: int
) -> None:
    """The vision page's own examples; the client cuts a side to 2,000 px before it sends."""
    assert image.tokens_of(wide, high, OLD) == pytest.approx(old, rel=0.03, abs=2)
    assert image.tokens_of(wide, high, NEW) == pytest.approx(new, rel=0.03, abs=2)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_no_size_costs_more_than_its_tier_allows(wide: int, high: int) -> None:
    assert 1 <= image.tokens_of(wide, high, OLD) <= 1568
    assert 1 <= image.tokens_of(wide, high, NEW) <= 4784


@given(st.binary(max_size=200), st.sampled_from([png, gif, jpeg]))
def test_a_broken_header_is_no_error(tail: bytes, make: object) -> None:
    del make
    for head in (
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a",
        b"\xff\xd8",
        b"\xff\xd8\xff",
        b"RIFF1234WEBP",
        b"",
    ):
        assert image.tokens(head + tail, NEW) >= 0
    assert image.tokens_of_base64(base64.b64encode(tail).decode() + "=é", NEW) >= 0


def test_an_image_file_is_estimated_from_its_header(tmp_path: Path) -> None:
    path = tmp_path / "a.PNG"
    path.write_bytes(png(1000, 1000))
    found = estimate_read(str(path), model=NEW)
    assert (found.kind, found.tokens) == ("image", 1296)
    assert found.low <= 1296 <= found.high


def pdf(pages: int) -> bytes:
    kids = b"".join(b"%d 0 R " % (3 + at) for at in range(pages))
    objects = b"<< /Type /Pages /Kids [%s] /Count %d >>\n" % (kids, pages)
    return b"%PDF-1.4\n" + objects + b"<< /Type /Page /MediaBox [0 0 612 792] >>\n" * pages


@pytest.mark.parametrize("pages", [1, 3, 40])
def test_a_pdf_costs_by_its_pages(tmp_path: Path, pages: int) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(pages))
    one = document.PDF_PAGE + image.tokens_of(*document.PDF_PAGE_PIXELS, NEW)
    assert estimate_read(str(path), model=NEW).tokens == pages * one


def test_pages_asked_for_cost_as_images(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(40))
    one = image.tokens_of(*document.PDF_PAGE_PIXELS, NEW)
    assert estimate_read(str(path), pages="2-4", model=NEW).tokens == 3 * one
    assert estimate_read(str(path), pages="7", model=NEW).tokens == one
    assert estimate_read(str(path), pages="1-25", model=NEW).tokens == SMALL
    for nonsense in ("x", "-", "9-1", "1-", "٣", "1" * 50, "\0"):
        assert estimate_read(str(path), pages=nonsense, model=NEW).tokens <= 20 * one


def test_a_pdf_whose_pages_are_compressed_is_guessed_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7\n" + b"\x01\x02\x03" * 200_000)
    found = estimate_read(str(path), model=NEW)
    assert found.low * 4 < found.tokens < found.high
