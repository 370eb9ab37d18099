"""Tokens of an image from the pixel size in its header. On a hook's fast path.

Source: the vision page of the API documentation (28-pixel patches; long edge 1,568 px and 1,568
tokens, from Claude 4.7 on 2,576 px and 4,784 tokens).
"""

from __future__ import annotations

from paceline.estimate import text

CLIENT_EDGE = 2000
"""The client makes an image smaller than this many pixels a side before it sends it."""
PATCH = 28
STANDARD = (1568, 1568)
HIGH = (2576, 4784)

_PNG_HEAD, _GIF_HEAD, _WEBP_HEAD = 24, 10, 30
_MARKER = 0xFF
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE = frozenset((0x01, *range(0xD0, 0xDA)))
_BASE64_LOOKED_AT = 4 * 64 * 1024


def tokens(head: bytes, model: str) -> int:
    """Return the tokens of the image whose file starts with ``head``; 0 when it is no image."""
    found = size(head)
    if found is None:
        return 0
    return tokens_of(*found, model)


def tokens_of(width: int, height: int, model: str) -> int:
    """Return the tokens of ``width`` by ``height`` pixels after the API's downscaling."""
    edge, most = HIGH if text.tokenizer_of(model) == text.V47 else STANDARD
    edge = min(edge, CLIENT_EDGE)
    scale = min(1.0, edge / max(width, height, 1))
    wide, high = max(1.0, width * scale), max(1.0, height * scale)
    patches = _patches(wide, high)
    while patches > most:
        shrink = min(0.99, (most / patches) ** 0.5)
        wide, high = max(1.0, wide * shrink), max(1.0, high * shrink)
        patches = _patches(wide, high)
    return patches


def tokens_of_base64(data: str, model: str) -> int:
    """Return the tokens of an image in base64, from its first 256 KB; 0 when it is none."""
    import binascii  # a shared object to load, and few images come as base64

    head = data[:_BASE64_LOOKED_AT].encode("ascii", "ignore").translate(None, b"\r\n ")
    try:
        return tokens(binascii.a2b_base64(head[: len(head) // 4 * 4]), model)
    except binascii.Error:
        return 0


def _patches(wide: float, high: float) -> int:
    return -int(-wide // PATCH) * -int(-high // PATCH)


def size(head: bytes) -> tuple[int, int] | None:
    """Return (width, height) of a PNG, JPEG, GIF or WebP from its first bytes, or None."""
    if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) >= _PNG_HEAD:
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= _GIF_HEAD:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(head)
    if head[:2] == b"\xff\xd8":
        return _jpeg(head)
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    if len(head) < _WEBP_HEAD:
        return None
    chunk = head[12:16]
    if chunk == b"VP8 ":
        return (
            int.from_bytes(head[26:28], "little") & 0x3FFF,
            int.from_bytes(head[28:30], "little") & 0x3FFF,
        )
    if chunk == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8X":
        return (
            int.from_bytes(head[24:27], "little") + 1,
            int.from_bytes(head[27:30], "little") + 1,
        )
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head):
        if head[at] != _MARKER:
            return None
        marker = head[at + 1]
        if marker == _MARKER:
            at += 1
            continue
        if marker in _FRAMES:
            return (
                int.from_bytes(head[at + 7 : at + 9], "big"),
                int.from_bytes(head[at + 5 : at + 7], "big"),
            )
        if marker in _BARE:
            at += 2
            continue
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None
