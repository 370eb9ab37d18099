"""What the tools answer: typed results, each with one line of advice."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Reserved(BaseModel):
    """Whether a budget was reserved."""

    granted: bool
    reservation: str = Field(default="", description="id to settle with, if there is anything to")
    wait_s: float = Field(default=0.0, description="seconds until it would fit, 0 when granted")
    advice: str


class Settled(BaseModel):
    """Whether a reservation was settled."""

    settled: bool
    advice: str


class Reported(BaseModel):
    """What a reported refusal was taken for."""

    cause: str
    retryable: bool
    resets_at: float | None = None
    limit: int | None = None
    wait_s: float = Field(
        default=0.0, description="seconds to wait before the same request is sent again"
    )
    advice: str


class BucketRow(BaseModel):
    """One bucket as it stands now."""

    family: str
    dimension: str
    limit: float | None
    capacity: float | None
    level: float
    source: str


class Status(BaseModel):
    """The account's budget now."""

    account: str
    buckets: list[BucketRow]
    reserved: int
    waiting: int
    closed_until: float | None = Field(
        default=None, description="epoch seconds, when a quota ran out"
    )
    gate: bool
    agent: str = Field(default="", description="the agent that asked, when it is known")
    advice: str


class Plan(BaseModel):
    """What a fan-out would cost."""

    plan: dict[str, Any]
    advice: str


class Manifest(BaseModel):
    """The runs of a session."""

    runs: list[dict[str, Any]]
    verdict: str
    advice: str


class Tickets(BaseModel):
    """What to run again, and how."""

    tickets: list[dict[str, Any]]
    scripts: list[dict[str, Any]] = Field(default_factory=list)
    advice: str
