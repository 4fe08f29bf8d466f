"""Words of a command line: defaults of a test, and what it says instead."""

from __future__ import annotations

from collections.abc import Sequence


def over(defaults: Sequence[str], *more: str) -> list[str]:
    """Return `more` after those `defaults` that it does not repeat. Each option of `defaults` has one value."""
    pairs = zip(defaults[::2], defaults[1::2], strict=True)
    return [word for pair in pairs if pair[0] not in more for word in pair] + list(more)
