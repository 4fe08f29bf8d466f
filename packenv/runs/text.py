"""Numbers for lines that people read."""

from __future__ import annotations


def number(value: float | None, digits: int = 3) -> str:
    """`1,234`, `12.3`, and a dash for None."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def counted(n: int, what: str) -> str:
    """`1 server`, `2 servers`."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"
