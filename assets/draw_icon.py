"""Draw ``icon.png``: three riders in single file, the first in the wind. Standard library only.

    python3 assets/draw_icon.py

Shapes are signed distances in pixels, so an edge is one pixel of coverage and no sample is wasted.
"""

from __future__ import annotations

import struct
import zlib
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Colour = tuple[int, int, int]
Shape = tuple["Callable[[float, float], float]", tuple[float, float, float, float]]

SIZE = 512
ROAD: Colour = (16, 42, 56)
SKY: Colour = (24, 66, 84)
LEADER: Colour = (255, 176, 59)
SECOND: Colour = (150, 214, 205)
THIRD: Colour = (104, 168, 170)
WIND: Colour = (226, 240, 238)


def bar(x1: float, y1: float, x2: float, y2: float, radius: float) -> Shape:
    """Return a line with round ends."""
    dx, dy = x2 - x1, y2 - y1
    length = dx * dx + dy * dy

    def distance(x: float, y: float) -> float:
        along = max(0.0, min(1.0, ((x - x1) * dx + (y - y1) * dy) / length))
        return hypot(x - x1 - along * dx, y - y1 - along * dy) - radius

    box = (min(x1, x2) - radius, min(y1, y2) - radius, max(x1, x2) + radius, max(y1, y2) + radius)
    return distance, box


def ring(cx: float, cy: float, radius: float, half: float) -> Shape:
    """Return a circle line, ``half`` pixels thick to either side; a disc when ``radius`` is 0."""

    def distance(x: float, y: float) -> float:
        return abs(hypot(x - cx, y - cy) - radius) - half

    reach = radius + half
    return distance, (cx - reach, cy - reach, cx + reach, cy + reach)


def rounded_square(inset: float, corner: float) -> Shape:
    """Return the tile everything stands on."""
    half = SIZE / 2 - inset - corner

    def distance(x: float, y: float) -> float:
        dx, dy = abs(x - SIZE / 2) - half, abs(y - SIZE / 2) - half
        return hypot(max(dx, 0.0), max(dy, 0.0)) + min(max(dx, dy), 0.0) - corner

    return distance, (0, 0, SIZE, SIZE)


def rider(left: float, ground: float, scale: float) -> list[Shape]:
    """Return one rider bent over the handlebar, riding to the right."""

    def at(x: float, y: float) -> tuple[float, float]:
        return left + x * scale, ground - y * scale

    back, front, crank = at(24, 24), at(104, 24), at(58, 28)
    saddle, bars, hip, shoulder = at(46, 66), at(94, 68), at(44, 80), at(82, 106)
    thin, thick = 3.2 * scale, 7.5 * scale
    return [
        ring(*back, 21 * scale, 2.6 * scale),
        ring(*front, 21 * scale, 2.6 * scale),
        bar(*back, *crank, thin),
        bar(*crank, *saddle, thin),
        bar(*crank, *bars, thin),
        bar(*saddle, *bars, thin),
        bar(*front, *bars, thin),
        bar(*hip, *shoulder, thick),
        bar(*shoulder, *bars, 5 * scale),
        bar(*hip, *at(72, 58), 6 * scale),
        bar(*at(72, 58), *at(60, 24), 5 * scale),
        ring(*at(99, 120), 0, 11.5 * scale),
    ]


class Picture:
    """RGBA pixels, painted over one another."""

    def __init__(self) -> None:
        self.pixels = [bytearray(SIZE * 4) for _ in range(SIZE)]

    def paint(self, shape: Shape, colour: Colour, opacity: float = 1.0) -> None:
        """Lay a shape over what is there."""
        distance, (x1, y1, x2, y2) = shape
        for y in range(max(0, int(y1) - 1), min(SIZE, int(y2) + 2)):
            row = self.pixels[y]
            for x in range(max(0, int(x1) - 1), min(SIZE, int(x2) + 2)):
                cover = max(0.0, min(1.0, 0.5 - distance(x + 0.5, y + 0.5))) * opacity
                if cover:
                    self._blend(row, x * 4, colour, cover)

    @staticmethod
    def _blend(row: bytearray, at: int, colour: Colour, cover: float) -> None:
        below = row[at + 3] / 255 * (1 - cover)
        alpha = cover + below
        for channel in range(3):
            mixed = (colour[channel] * cover + row[at + channel] * below) / alpha
            row[at + channel] = round(mixed)
        row[at + 3] = round(alpha * 255)

    def png(self) -> bytes:
        """Return the picture as a PNG file."""

        def chunk(kind: bytes, data: bytes) -> bytes:
            check = struct.pack(">I", zlib.crc32(kind + data))
            return struct.pack(">I", len(data)) + kind + data + check

        header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
        rows = b"".join(b"\0" + bytes(row) for row in self.pixels)
        body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
        return b"\x89PNG\r\n\x1a\n" + body


def draw() -> Picture:
    """Return the finished icon."""
    picture = Picture()
    picture.paint(rounded_square(8, 96), SKY)
    ground = 352.0
    tile = rounded_square(8, 96)[0]

    def road(x: float, y: float) -> float:
        return max(tile(x, y), ground + 2 - y)

    picture.paint((road, (0, ground, SIZE, SIZE)), ROAD)
    for y, start, end in ((196, 404, 452), (232, 424, 470), (268, 412, 458)):
        picture.paint(bar(start, y, end, y, 4.5), WIND, 0.55)
    for left, colour in ((26, THIRD), (144, SECOND), (262, LEADER)):
        for shape in rider(left, ground, 1.12):
            picture.paint(shape, colour)
    return picture


if __name__ == "__main__":
    Path(__file__).with_name("icon.png").write_bytes(draw().png())
