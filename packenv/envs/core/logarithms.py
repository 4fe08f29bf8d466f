"""Counts of tasks on a scale of order 1: log(1 + n) / 5, looked up where n is small."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import fused
from packenv.compiled.intrinsics import natural

FACTOR = 0.2
TABULATED = 4096
COMMON_SERVERS = 5
"""With so many servers a count per root of the servers, n · √(5 / L), is the count."""


def logarithms(share: float) -> NDArray[np.float32]:
    """(4096,) log(1 + share · n) / 5 of n = 0, 1, …"""
    return (np.log1p(share * np.arange(TABULATED)) * FACTOR).astype(np.float32)


LOGARITHMS = logarithms(1.0)


@fused
def logarithm(x: float) -> float:
    """log(1 + x) / 5 of any number x >= 0."""
    return math.log1p(x) * FACTOR


@fused
def logarithm_of(count: int) -> float:
    """log(1 + count) / 5."""
    return LOGARITHMS[natural(count)] if count < LOGARITHMS.shape[0] else logarithm(count)
