"""Asking the API for its limits: one tiny request, whose raw response's headers tell them.

With an Admin API key in ``ANTHROPIC_ADMIN_KEY`` the Rate Limits API is asked instead, which spends
nothing and tells no more than the limits. Both are documented by the API; the SDK is imported here
and nowhere else, since it takes seconds.
"""

from __future__ import annotations

import os
import time
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from paceline.errors import PacelineError
from paceline.families import family_of
from paceline.ledger.observe import Seen
from paceline_mcp.cli.output import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = {"requests": "requests", "input": "input-tokens", "output": "output-tokens"}
"""What ``anthropic-ratelimit-…-limit``, ``-remaining`` and ``-reset`` call each dimension."""
KINDS = {
    "requests_per_minute": "requests",
    "input_tokens_per_minute": "input",
    "output_tokens_per_minute": "output",
}
TIMEOUT_S = 30.0
BY_HAND = "next: paceline limits set --model all --itpm N tells a limit by hand"
DIGITS_MAX = 15


def probe(model: str, env: Mapping[str, str] | None = None) -> list[Seen]:
    """Return what the API tells of each of its buckets; nothing when it does not.

    A refused probe tells as much as an answered one: the headers are on both.

    Raises:
        PacelineError: the API cannot be reached or refuses, or there is no credential.
    """
    import anthropic

    env = os.environ if env is None else env
    admin = env.get("ANTHROPIC_ADMIN_KEY")
    try:
        client = anthropic.Anthropic(timeout=TIMEOUT_S, max_retries=0)
        if admin:
            found = _listed(client, admin, model)
            if found:
                return found
        raw = client.messages.with_raw_response.create(
            model=model, max_tokens=1, messages=[{"role": "user", "content": "1"}]
        )
        return told(raw.headers, time.time())
    except anthropic.APIStatusError as err:
        found = told(err.response.headers, time.time())
        if found:
            return found
        raise PacelineError(
            f"the API refused the probe of {plain(model)} with {err.status_code}; {BY_HAND}"
        ) from err
    except anthropic.APIConnectionError as err:
        host = plain(err.request.url.host)
        raise PacelineError(f"the API at {host} does not answer; {BY_HAND}") from err
    except (anthropic.AnthropicError, TypeError) as err:
        raise PacelineError(
            f"the API cannot be asked without a key: set ANTHROPIC_API_KEY; {BY_HAND}"
        ) from err


def told(headers: Mapping[str, str], now: float) -> list[Seen]:
    """Return what a response's headers say of the buckets. What cannot be is left out.

    Args:
        headers: of the response, their names in small letters.
        now: epoch seconds by this machine's clock, which the resets are brought to.
    """
    ahead = now - _date(headers.get("date", ""), now)
    found: list[Seen] = []
    for dimension, name in NAMES.items():
        prefix = f"anthropic-ratelimit-{name}"
        limit = _count(headers.get(f"{prefix}-limit", ""))
        if limit:
            reset = _reset(headers.get(f"{prefix}-reset", ""))
            left = _count(headers.get(f"{prefix}-remaining", ""))
            found.append(Seen(dimension, limit, left, None if reset is None else reset + ahead))
    return found


def _count(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX else None


def _reset(text: str) -> float | None:
    """Return the time of an RFC 3339 date, which is what the resets are."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if at.tzinfo is None else at.timestamp()


def _date(text: str, now: float) -> float:
    """Return the API's clock, to the second; this machine's where it says nothing."""
    try:
        return parsedate_to_datetime(text).timestamp() + 0.5
    except (ValueError, TypeError):
        return now


def _listed(client: Any, admin: str, model: str) -> list[Seen]:
    """Read the organization's list of limits (documented; needs an Admin API key)."""
    response = client.get(
        "/v1/organizations/rate_limits",
        cast_to=dict[str, Any],
        options={"headers": {"x-api-key": admin}},
    )
    found: dict[str, float] = {}
    for group in response.get("data", []) if isinstance(response, dict) else []:
        models = [str(name) for name in group.get("models", [])]
        if any(family_of(name) == family_of(model) for name in models):
            for limit in group.get("limits", []):
                dimension = KINDS.get(str(limit.get("type")))
                value = limit.get("value")
                if dimension and isinstance(value, int | float) and value > 0:
                    found[dimension] = float(value)
    return [Seen(dimension, limit) for dimension, limit in found.items()]
