"""Resources are integers (DESIGN, decision 2): C units per unit of capacity.

C = 3·2^20 makes every boundary of the universal partition exact, and keeps "fits" a plain `<=`.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

UNIT = 3 * 2**20
"""Integer units per unit of capacity (the papers' server of capacity 1)."""

LARGEST_CAPACITY = (2**31 - 1) // UNIT
"""Largest capacity of a server in any resource: sizes share a 64-bit key with the row number."""


def to_units(amount: ArrayLike) -> NDArray[np.int64]:
    """Amounts of a resource as integer units: ⌊x·C + 10⁻³⌋; 0 stays 0, a positive amount is at least 1.

    Any shape; non-finite or negative amounts are the caller's to reject first.
    """
    exact = np.asarray(amount, dtype=np.float64)
    units = np.floor(exact * UNIT + 1e-3).astype(np.int64)
    return np.where(exact > 0, np.maximum(units, 1), units)
