"""Fresh arrays for every step, in memory that has been used before.

Whoever got an array may keep it. One that nobody keeps is as good as a new one, the caches still have it, and its address is
known: asking NumPy for that takes longer than making the array.
"""

from __future__ import annotations

from collections import deque
from sys import getrefcount
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEPT = 4  # what is shown, what the agent still looks at, and some to spare
Pair = tuple[NDArray[Any], int]

_pair: Pair = (np.empty(0), 0)
ALONE = getrefcount(_pair[0])
"""How often an array is counted that only its pair holds."""


class Spares:
    """Arrays like the given one."""

    def __init__(self, like: NDArray[Any]) -> None:
        self.shape, self.dtype = like.shape, like.dtype
        self.pairs: deque[Pair] = deque(maxlen=KEPT)

    def take(self) -> Pair:
        """An array that nobody holds, with anything in it, and its address."""
        for pair in self.pairs:
            if getrefcount(pair[0]) == ALONE:
                return pair
        array = np.empty(self.shape, self.dtype)
        self.pairs.append((array, int(array.ctypes.data)))
        return self.pairs[-1]
