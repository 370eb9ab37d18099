"""The response headers of each style: pure, from bucket values and the time (epoch seconds)."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from paceline_bench.simapi.bucket import Bucket, full_in

if TYPE_CHECKING:
    from collections.abc import Mapping

ORGANIZATION = "00000000-0000-4000-8000-000000000000"
FIVE_HOURS = 5 * 3600
_RESET_MAX = 7 * 86400.0


def api_key(buckets: Mapping[str, Bucket], now: float) -> dict[str, str]:
    """Return ``anthropic-ratelimit-*`` of the three buckets.

    ``-reset`` is when the bucket is full again. ``tokens`` is the most restrictive of the token
    limits in effect, which here is input and output added up.
    """
    found: dict[str, str] = {}
    names = {"requests": "requests", "input": "input-tokens", "output": "output-tokens"}
    for dimension, name in names.items():
        found |= _triple(name, buckets[dimension], now)
    one, two = buckets["input"], buckets["output"]
    total = Bucket(
        one.limit + two.limit, one.capacity + two.capacity, one.level + two.level, now, one.drain
    )
    return found | _triple("tokens", total, now)


def subscriber(utilization: float, reset: float, *, rejected: bool = False) -> dict[str, str]:
    """Return the ``anthropic-ratelimit-unified-*`` headers of a plan.

    Args:
        utilization: share of the five-hour window that is spent.
        reset: epoch seconds at which the five-hour window starts anew.
        rejected: the window is used up.
    """
    five = "rejected" if rejected else "allowed"
    week = math.ceil(reset) + 4 * 86400
    values = {
        "status": five,
        "reset": str(math.ceil(reset)),
        "representative-claim": "five_hour",
        "5h-status": five,
        "5h-reset": str(math.ceil(reset)),
        "5h-utilization": f"{1.0 if rejected else utilization:.4g}",
        "7d-status": "allowed",
        "7d-reset": str(week),
        "7d-utilization": f"{utilization / 4:.4g}",
        "overage-status": "rejected",
        "overage-disabled-reason": "org_level_disabled",
    }
    return {f"anthropic-ratelimit-unified-{name}": value for name, value in values.items()}


def common(request_id: str) -> dict[str, str]:
    """Return what every response carries."""
    return {"request-id": request_id, "anthropic-organization-id": ORGANIZATION}


def _triple(name: str, bucket: Bucket, now: float) -> dict[str, str]:
    prefix = f"anthropic-ratelimit-{name}"
    reset = datetime.fromtimestamp(now + min(full_in(bucket), _RESET_MAX), UTC)
    return {
        f"{prefix}-limit": f"{bucket.limit:.0f}",
        f"{prefix}-remaining": f"{max(0, math.floor(bucket.level))}",
        f"{prefix}-reset": reset.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
