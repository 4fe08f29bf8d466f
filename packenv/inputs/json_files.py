"""JSON reader with limits on size, depth and numbers.

NaN, Infinity and duplicate keys are errors.
"""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from packenv.errors import InputError
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import excerpt
from packenv.inputs.text_files import read_text, reading

MOST_BYTES = 2**26
PER_BYTE = 24  # bytes of memory for a byte of JSON, at most
DEEPEST = 64
"""Lists and objects inside each other; workloads have about eight."""
NESTED = frozenset((dict, list))
MOST_DIGITS = 18  # a whole number then fits 64 bits


@contextmanager
def without_collection() -> Iterator[None]:
    """Switch off garbage collection, which takes a quarter of a large read."""
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()


def read_json(path: str | Path, digits: int = MOST_DIGITS) -> Any:
    """Return a JSON file's value, with `digits` per whole number."""
    with reading(path):
        if (size := Path(path).stat().st_size) > MOST_BYTES:
            raise InputError(f"{path}: {size:,} bytes, more than {MOST_BYTES:,}, are too many for JSON")
        Memory(path).reserve(PER_BYTE * size)
        text = read_text(Path(path))
    try:
        return parse_json(text, digits)
    except InputError as problem:
        raise InputError(f"{path}: {problem}") from None


def parse_json(text: str, digits: int = MOST_DIGITS) -> Any:
    """Return the value of a JSON text, or raise InputError "not JSON"."""
    try:
        value = json.loads(
            text, parse_int=_integer_of(digits), parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_object
        )
    except RecursionError:
        raise InputError(f"not JSON: more than {DEEPEST} lists and objects inside each other") from None
    except ValueError as problem:
        raise InputError(f"not JSON: {problem}") from None
    _check_depth(value)
    return value


def whole_number(value: Any) -> int:
    """Return a JSON whole number, or raise ValueError ("3", true, 2.5)."""
    if type(value) is not int:
        raise ValueError(f"{excerpt(str(value))} is not a whole number")
    return value


def finite_number(value: Any) -> float:
    """Return a JSON number, or raise ValueError ("nan", true)."""
    if type(value) not in (int, float):
        raise ValueError(f"{excerpt(str(value))} is not a number")
    return float(value)


def _integer_of(digits: int) -> Callable[[str], int]:
    def integer(text: str) -> int:
        if len(text) > digits + text.startswith("-"):
            raise InputError(f"the number {excerpt(text, quoted=False)} is too large")
        return int(text)

    return integer


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InputError(f"the number {excerpt(text, quoted=False)} is too large")
    return value


def _no_constant(text: str) -> Any:
    raise InputError(f"{text} is not a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for n, key in enumerate(keys) if key in keys[:n])
        raise InputError(f"key {excerpt(twice)} occurs more than once")
    return value


def _check_depth(value: Any) -> None:
    level, depth = [value] if type(value) in NESTED else [], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise InputError(f"not JSON: more than {DEEPEST} lists and objects inside each other")
        level = [
            item for inside in level for item in (inside.values() if type(inside) is dict else inside) if type(item) in NESTED
        ]
