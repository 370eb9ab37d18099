"""Other offline ways to count: rules of thumb, and counters that a registry still has.

Left out, with the reason: tiktoken (downloads its vocabulary at first use), the npm package
``@anthropic-ai/tokenizer`` and ``tokenizers`` with its file (the same Claude 2 vocabulary as
``anthropic-tokenizer``), ``ctoc`` (in no registry), the count_tokens API (not offline).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def counters() -> tuple[dict[str, Callable[[str], float]], list[str]]:
    """Return the counters by name, and the names of those that are not installed here."""
    found: dict[str, Callable[[str], float]] = {
        "bytes / 4": lambda text: len(text.encode("utf-8", "replace")) / 4,
        "bytes / 3": lambda text: len(text.encode("utf-8", "replace")) / 3,
        "characters / 3.5": lambda text: len(text) / 3.5,
    }
    missing = []
    try:
        module = import_module("anthropic_tokenizer")
        found["anthropic-tokenizer (Claude 2)"] = lambda text: float(module.count_tokens(text))
    except (ImportError, AttributeError) as err:
        missing.append(f"anthropic-tokenizer ({err})")
    try:
        encoding = import_module("bpe_openai").get_encoding("o200k_base")
        found["bpe-openai (o200k)"] = lambda text: float(len(encoding.encode(text)))
    except (ImportError, AttributeError) as err:
        missing.append(f"bpe-openai ({err})")
    return found, missing
