"""Names, numbers and amounts as text."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

MOST_NAMED = 5
UNITS = {"cpu": (1, "cores"), "memory": (2**30, "GiB"), "ephemeral-storage": (2**30, "GiB ephemeral-storage")}


def some(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    more = [f"{len(names) - MOST_NAMED:,} more"] if len(names) > MOST_NAMED else []
    *front, last = [*names[:MOST_NAMED], *more]
    return f"{', '.join(front)} and {last}" if front else last


def counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def amount_text(name: str, amount: float | Fraction) -> str:
    unit, word = UNITS.get(name, (1, name))
    word = "core" if name == "cpu" and amount == 1 else word
    return f"{float(amount / unit):,.4g} {word}" + (" memory" if name == "memory" else "")
