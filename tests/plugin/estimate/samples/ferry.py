"""Timetable of a small ferry: departures, tides and how many cars still fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

DECK_METRES = 84.5
BOARDING = timedelta(minutes=12)


@dataclass(slots=True)
class Sailing:
    departs: datetime
    harbour: str
    vehicles: list[float] = field(default_factory=list)

    def free(self) -> float:
        """Return the metres of deck that nobody has booked yet."""
        return DECK_METRES - sum(length + 0.6 for length in self.vehicles)

    def book(self, length: float) -> bool:
        if length <= 0 or length > self.free():
            return False
        self.vehicles.append(length)
        return True


def next_sailing(sailings: list[Sailing], now: datetime, length: float) -> Sailing | None:
    for sailing in sorted(sailings, key=lambda one: one.departs):
        if sailing.departs - BOARDING > now and sailing.free() >= length:
            return sailing
    return None
