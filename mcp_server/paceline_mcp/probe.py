"""Asking the API for its limits: one tiny request, whose raw response's headers tell them.

With an Admin API key in ``ANTHROPIC_ADMIN_KEY`` the Rate Limits API is asked instead, which spends
nothing. Both are documented by the API; the SDK is imported here and nowhere else, since it takes
seconds.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from paceline.errors import StateError
from paceline.families import family_of

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADERS = {
    "requests": "anthropic-ratelimit-requests-limit",
    "input": "anthropic-ratelimit-input-tokens-limit",
    "output": "anthropic-ratelimit-output-tokens-limit",
}
KINDS = {
    "requests_per_minute": "requests",
    "input_tokens_per_minute": "input",
    "output_tokens_per_minute": "output",
}
TIMEOUT_S = 30.0


def probe(model: str, env: Mapping[str, str] | None = None) -> dict[str, float]:
    """Return the limits per minute by dimension as the API tells them; empty when it does not.

    A refused probe tells as much as an answered one: the headers are on both.

    Raises:
        StateError: the API cannot be reached, or there is no credential.
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
        return _told(raw.headers)
    except anthropic.APIStatusError as err:
        found = _told(err.response.headers)
        if found:
            return found
        raise StateError(f"the API refused the probe ({err.status_code})", model) from err
    except (anthropic.AnthropicError, TypeError) as err:
        raise StateError(
            "the API cannot be asked; set ANTHROPIC_API_KEY, or tell the limit by hand: "
            "paceline limits set --model all --itpm N",
            model,
        ) from err


def _told(headers: Mapping[str, str]) -> dict[str, float]:
    found = {}
    for dimension, name in HEADERS.items():
        value = headers.get(name, "")
        if value.isascii() and value.isdigit() and int(value) > 0:
            found[dimension] = float(value)
    return found


def _listed(client: Any, admin: str, model: str) -> dict[str, float]:
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
    return found
