"""Numbers from text: plain ASCII digits, within bounds.

Python's own `int` and `float` also accept `1_0` and Arabic digits. Readers raise InputError without the place of the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from numbers import Real

from packenv.errors import InputError

Exact = str | int | float | Decimal | Fraction
"""A number with the value of its printed decimal."""

LARGEST_WHOLE = 2**53
"""Up to here a float holds every whole number; no count, slot or seed is larger."""
LARGEST_AMOUNT = 2**63
MOST_DIGITS = 400
EXACT_DIGITS = 18  # of a number that is taken exactly
SHOWN = 40  # characters of a bad value in a message

_CLOCK = re.compile(
    r"(?:(\d+)(?:-| days?,? ))?(\d+):([0-5]\d):([0-5]\d(?:[.,]\d+)?)", re.ASCII
)  # Slurm's, Python's, spreadsheets'
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:([\d.,]+)H)?(?:([\d.,]+)M)?(?:([\d.,]+)S)?)?", re.ASCII)  # ISO 8601
_PARTS = re.compile(r"(?:\d+(?:[.,]\d+)? ?(?:[a-zµ]+)[, ]*)+", re.ASCII)  # 2h 30m
_PART = re.compile(r"(\d+(?:[.,]\d+)?) ?([a-zµ]+)")
UNITS_OF_TIME = {
    unit: seconds
    for units, seconds in (
        ("w week weeks", 604_800), ("d day days", 86_400), ("h hour hours", 3600), ("m min mins minute minutes", 60),
        ("s sec secs second seconds", 1), ("ms", Fraction(1, 10**3)), ("us µs", Fraction(1, 10**6)), ("ns", Fraction(1, 10**9)),
    )
    for unit in units.split()
}  # fmt: skip
"""Seconds of each unit, and of each name that it has."""
_WITH_UNIT = re.compile(r"(.*?)\s*([a-zµ]*)", re.ASCII | re.DOTALL)
_QUANTITY = re.compile(
    r"([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE]([+-]?[0-9]{1,2})|([KMGTPE]i|[numkMGTPE]?))", re.ASCII
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BYTES = re.compile(r"(.*[0-9]) ?([kKMGTPE]i?)B?", re.ASCII)  # 8GiB, 8 GB, 8KB
_BINARY = {f"{letter}i": 10 * (n + 1) for n, letter in enumerate("KMGTPE")}
_UNIT = " ?[a-zA-Zµ]{0,7}"
_DECIMAL_COMMA = re.compile(rf"[+-]?[0-9]+,[0-9]+{_UNIT}")
_THOUSANDS = re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(,[0-9]{{3}})+{_UNIT}")
_GROUPED = re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(\.[0-9]{{3}})+(,[0-9]+)?{_UNIT}")
_POINT = re.compile(rf"[+-]?[0-9]*\.[0-9.,]*(e[+-]?[0-9]+)?{_UNIT}", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = {"inf": math.inf, "+inf": math.inf}


def read_whole(text: str, low: int = 0, high: int = LARGEST_WHOLE) -> int:
    """Return the whole number in a text, `low` to `high`."""
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise InputError(f"{excerpt(text)} is not a whole number")
    value = int(text) if len(text) <= MOST_DIGITS else math.inf if text[0] != "-" else -math.inf
    if not low <= value <= high:
        problem = "is too large" if value > high else f"is below {low}"
        raise InputError(f"{excerpt(text, quoted=False)} {problem}")
    return int(value)


def read_number(text: str, infinite: bool = False) -> float:
    """Return the finite decimal number in a text, or `inf` if `infinite`."""
    text = text.strip()
    if infinite and text.lower() in _INFINITE:
        return math.inf
    if not is_number(text):
        raise InputError(f"{excerpt(text)} is not a number")
    value = float(text)
    if math.isinf(value):
        raise InputError(f"{excerpt(text, quoted=False)} is too large")
    return value


def read_share(text: str | float) -> float:
    """Return a share: a number, or per cent, such as 0.05 or 5%. Raises InputError."""
    stripped = str(text).strip()
    try:
        return read_number(stripped.removesuffix("%").rstrip()) / (100 if stripped.endswith("%") else 1)
    except InputError:
        raise InputError(f"{excerpt(str(text))} is not a share such as 0.05 or 5%") from None


def exact(number: Exact, name: str) -> Fraction:
    """Return a positive decimal exactly, a float as printed."""
    if isinstance(number, Fraction):
        fraction = number
    else:
        if not is_number(str(number)):
            raise InputError(f"{name} {excerpt(str(number))} is not a decimal number")
        decimal = Decimal(str(number))
        if abs(decimal.adjusted()) > EXACT_DIGITS or len(decimal.as_tuple().digits) > EXACT_DIGITS:
            raise InputError(f"{name} {excerpt(str(number), quoted=False)} is too large, too small or too long")
        fraction = Fraction(decimal)
    if fraction <= 0:
        raise InputError(f"{name} must be above 0, not {number}")
    return fraction


def read_quantity(text: str) -> Fraction:
    """Return a Kubernetes quantity such as 500m, 128Mi or 2e3, exactly.

    G is 10^9, Gi 2^30, and m a thousandth. Source: kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise InputError(f"{excerpt(text)} is not a quantity such as 500m or 2Gi")
    number, exponent, suffix = match.groups()
    if exponent is not None:
        return Fraction(number) * Fraction(10) ** int(exponent)
    return Fraction(number) * (2 ** _BINARY[suffix] if suffix in _BINARY else Fraction(10) ** _DECIMAL[suffix])


def quantity_of(text: str) -> Fraction | None:
    """Return a quantity or bytes (8GiB, 8 GB), else None."""
    if (written := _BYTES.fullmatch(text)) is not None:
        text = written[1] + ("k" if written[2] == "K" else written[2])
    return read_quantity(text) if _QUANTITY.fullmatch(text) else None


def finite_amount(value: object) -> float:
    """Return an amount from 0 to 2^63: a number, 500m or 4Gi.

    Raises InputError for any other.
    """
    if isinstance(value, str):
        quantity = quantity_of(value.strip())
        value = None if quantity is None else float(quantity)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError("is not a number")
    amount = float(value)
    if not 0 <= amount <= LARGEST_AMOUNT:
        raise InputError(f"must be at least 0 and finite, not {amount:g}")
    return amount


def read_duration(text: str) -> Fraction | None:
    """Return the seconds of a duration such as 1-02:03:04 or PT15M.

    Also reads 00:15:04 and 2h 30m. None for other texts, including 15:04: it could mean minutes and seconds, or hours and
    minutes.
    """
    parts: list[tuple[str | None, int | Fraction]]
    if clock := _CLOCK.fullmatch(text):
        parts = [*zip(clock.groups(), (86_400, 3600, 60, 1), strict=True)]
    elif (iso := _ISO.fullmatch(text)) and any(iso.groups()):
        parts = [*zip(iso.groups(), (604_800, 86_400, 3600, 60, 1), strict=True)]
    elif _PARTS.fullmatch(text) and all(unit in UNITS_OF_TIME for _, unit in _PART.findall(text)):
        parts = [(count, UNITS_OF_TIME[unit]) for count, unit in _PART.findall(text)]
    else:
        return None
    counts = [(count.replace(",", "."), unit) for count, unit in parts if count is not None]
    return sum((Fraction(count) * unit for count, unit in counts), Fraction(0)) if all(is_number(c) for c, _ in counts) else None


class Duration(float):
    """Seconds of a text with a unit, such as 10min; `text` shows it."""

    def __new__(cls, seconds: float | Fraction, text: str) -> Duration:
        new = super().__new__(cls, seconds)
        new.text = text
        return new

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]
        return float(self), self.text

    text: str


def read_seconds(text: str) -> Fraction | None:
    """Return the seconds of 90, 1.5h, 1e3 s or a duration."""
    text = text.strip()
    if (parts := _WITH_UNIT.fullmatch(text)) is not None and is_number(parts[1]) and (not parts[2] or parts[2] in UNITS_OF_TIME):
        return Fraction(read_number(parts[1])) * UNITS_OF_TIME[parts[2] or "s"]
    return read_duration(text)


def with_points(texts: Iterable[str]) -> dict[str, str]:
    """Map a column's numbers with decimal commas to decimal points.

    Units may follow the numbers. Next to decimal commas, points separate thousands: 1.024 next to 512,5. Raises InputError if a
    comma or a point may separate either decimals or thousands.
    """
    texts = [*texts]
    commas = [text for text in texts if _DECIMAL_COMMA.fullmatch(text) or _THOUSANDS.fullmatch(text) or _is_grouped(text)]
    if commas and all(_THOUSANDS.fullmatch(text) for text in commas):
        raise InputError(f"{excerpt(commas[0])} may have thousands or decimals behind the comma: write it without")
    points = [text for text in texts if _POINT.fullmatch(text)] if commas else []
    for text in points:
        if not _GROUPED.fullmatch(text):
            raise InputError(f"{excerpt(text)} has a decimal point, and {excerpt(commas[0])} a decimal comma: write all alike")
    return {text: text.replace(".", "").replace(",", ".") for text in (*commas, *points) if text.count(",") <= 1}


def _is_grouped(text: str) -> bool:
    return "," in text and _GROUPED.fullmatch(text) is not None


def may_be_thousands(texts: Iterable[str]) -> str | None:
    """Return the first number if all may have thousands, as 1.024."""
    points = [text for text in texts if "." in text and is_number(text)]
    return points[0] if points and all(_GROUPED.fullmatch(text) for text in points) else None


def is_number(text: str) -> bool:
    """Return whether a text is a decimal number of any magnitude."""
    return _NUMBER.fullmatch(text.strip()) is not None


def excerpt(text: str, quoted: bool = True) -> str:
    """Return a text for a message: quoted, and shortened if long."""
    cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
    return repr(cut) if quoted else cut
