"""The standard library's JSON without the price of its import. On a hook's fast path.

``import json`` loads ``re``, ``enum`` and ``collections`` with it and costs as much as a bare
interpreter (docs/start-up.md). The scanner and the encoder underneath live in ``_json``; they are
used here with the settings :mod:`json` gives them, and whatever they do not take (a syntax error,
an interpreter that has none) goes to :mod:`json`, whose word is the last.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

try:
    from _json import encode_basestring_ascii, make_encoder, make_scanner
except ImportError:  # pragma: no cover - not CPython
    make_scanner = make_encoder = encode_basestring_ascii = None  # type: ignore[assignment, misc]

_SPACE = " \t\n\r"


def loads(text: str) -> Any:
    """Return the value of strict JSON. ``ValueError`` if none, ``RecursionError`` if deep."""
    if _scan is not None:
        try:
            value, end = _scan(text, len(text) - len(text.lstrip(_SPACE)))
        except Exception:  # noqa: BLE001, S110 - 3.11 reports a syntax error as SystemError
            pass
        else:
            if not text[end:].strip(_SPACE):
                return value
    import json

    return json.loads(text, parse_constant=_no_constant)


def dumps(value: Any) -> str:
    """Return compact ASCII JSON. ``ValueError`` on NaN and infinities, ``TypeError`` on no JSON."""
    if _encode is not None:
        try:
            return "".join(_encode(value, 0))
        except Exception:  # noqa: BLE001, S110 - json tells what is wrong with it
            pass
    import json

    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _no_constant(name: str) -> NoReturn:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def _no_default(value: object) -> NoReturn:
    msg = f"{type(value).__name__} is not JSON"
    raise TypeError(msg)


class _Rules:
    """What ``json.JSONDecoder`` hands to the scanner."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_no_constant)
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner's protocol


def _make() -> tuple[Any, Any]:
    """Return scanner and encoder, or a None each. The last three: no sorting, skipping, NaN."""
    names = None, _no_default, encode_basestring_ascii, None, ":", ",", False, False, False
    try:
        return make_scanner(_Rules), make_encoder(*names)  # type: ignore[arg-type]
    except TypeError:  # pragma: no cover - an interpreter with other signatures
        return None, None


_scan, _encode = _make()
