"""Resources are integers (CONTRIBUTING, decision 2): C units per unit of capacity.

With C = 3·2^20 every boundary of the universal partition is an integer, and a task fits if demand <= room, exactly.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

UNIT = 3 * 2**20
"""Integer units per unit of capacity (the papers' server of capacity 1)."""

LARGEST_CAPACITY = (2**31 - 1) // UNIT
"""The largest capacity of a server in any resource: a size and a row number must fit one 64-bit key."""


MOST = 2.0**40  # what larger amounts count as: they fit in no server either, and integers cannot hold them


def to_units(amount: ArrayLike) -> NDArray[np.int64]:
    """Amounts of a resource in integer units: ⌊x·C + 10⁻³⌋, and at least 1 for a positive amount.

    Any shape. The caller must have rejected negative and non-finite amounts.
    """
    exact = np.asarray(amount, dtype=np.float64)
    units = np.floor(np.minimum(exact, MOST) * UNIT + 1e-3).astype(np.int64)
    return np.where(exact > 0, np.maximum(units, 1), units)
