"""Amounts as Kubernetes writes them: 500m, 1.5, 128Mi, 2e3.

Source: kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

from packenv.errors import InputError
from packenv.inputs.numbers import shown

FORM = re.compile(r"([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE]([+-]?[0-9]{1,2})|([KMGTPE]i|[numkMGTPE]?))", re.ASCII)
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {f"{letter}i": 10 * (n + 1) for n, letter in enumerate("KMGTPE")}


def quantity(value: Any) -> Fraction:
    """The amount that a text or a number of JSON stands for, exactly. Raises InputError, which does not say where it stands."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        raise InputError(f"{shown(str(value))} is no quantity such as 500m or 2Gi")
    return _amount(str(value))


@lru_cache(10_000)  # a large dump has few different ones: reading it takes half the time
def _amount(text: str) -> Fraction:
    match = FORM.fullmatch(text)
    if match is None:
        raise InputError(f"{shown(text)} is no quantity such as 500m or 2Gi")
    number, exponent, suffix = match.groups()
    if exponent is not None:
        return Fraction(number) * Fraction(10) ** int(exponent)
    return Fraction(number) * (2 ** BINARY[suffix] if suffix in BINARY else Fraction(10) ** DECIMAL[suffix])
