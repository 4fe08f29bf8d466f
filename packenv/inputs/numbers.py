"""Numbers from text: plain ASCII digits, within bounds. Python's own `int` and `float` also take `1_0` and Arabic digits."""

from __future__ import annotations

import math
import re

from packenv.errors import InputError

LARGEST_WHOLE = 2**53
"""Up to here a float holds every whole number; no count, slot or seed is larger."""
MOST_DIGITS = 400
SHOWN = 40  # characters of a bad value in a message

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = {"inf": math.inf, "+inf": math.inf}


def read_whole(text: str, low: int = 0, high: int = LARGEST_WHOLE) -> int:
    """The whole number that a text is, `low` to `high`. Raises InputError, which does not say where the text stands."""
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise InputError(f"{shown(text)} is not a whole number")
    value = int(text) if len(text) <= MOST_DIGITS else math.inf if text[0] != "-" else -math.inf
    if not low <= value <= high:
        raise InputError(f"{shown(text, quoted=False)} is too large" if value > high else f"{shown(text, False)} is below {low}")
    return int(value)


def read_number(text: str, infinite: bool = False) -> float:
    """The finite decimal number that a text is; `inf` too if `infinite`. Raises InputError, which does not say where."""
    text = text.strip()
    if infinite and text.lower() in _INFINITE:
        return math.inf
    if not is_number(text):
        raise InputError(f"{shown(text)} is not a number")
    value = float(text)
    if math.isinf(value):
        raise InputError(f"{shown(text, quoted=False)} is too large")
    return value


def is_number(text: str) -> bool:
    """Whether a text is a decimal number of any magnitude."""
    return _NUMBER.fullmatch(text.strip()) is not None


def shown(text: str, quoted: bool = True) -> str:
    """A text as a message shows it: quoted, and long ones cut short."""
    cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
    return repr(cut) if quoted else cut
