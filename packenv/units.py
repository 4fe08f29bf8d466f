"""Integer resources: C units per unit of capacity (CONTRIBUTING, decision 2).

With C = 3·2^20 every boundary of the universal partition is an integer, and a task fits if demand <= room, exactly.

Amounts may be in any unit, bytes too. If a server has more than LARGEST_CAPACITY of a resource, the resource's unit is doubled
`scale` times, until the largest server has at most LARGEST_CAPACITY. So whole amounts stay exact up to 700 million, and multiples
of 2 KiB up to 2^40 bytes. Partition boundaries stay exact, and smaller resources are not scaled.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

UNIT = 3 * 2**20
"""Integer units per unit of capacity (the papers' server of capacity 1)."""

LARGEST_CAPACITY = (2**31 - 1) // UNIT
"""The largest capacity of a server in any resource, once it is scaled: a size and a row number must fit one 64-bit key."""

LARGEST_AMOUNT = 2**50
"""The largest capacity, or demand, in a user's unit."""

MOST = 2.0**40  # what larger amounts count as, once scaled: they fit in no server either, and integers cannot hold them


def to_units(amount: ArrayLike, scale: ArrayLike = 0) -> NDArray[np.int64]:
    """Return amounts in integer units: ⌊x·C / 2^scale + 10⁻³⌋.

    A positive amount has at least 1 unit. Any shape; `scale`: one, or (D,) of the last axis. The caller must have rejected
    negative and non-finite amounts.
    """
    exact = np.asarray(amount, dtype=np.float64)
    scaled = np.ldexp(exact, -np.asarray(scale, np.int64))
    units = np.floor(np.minimum(scaled, MOST) * UNIT + 1e-3).astype(np.int64)
    return np.where(exact > 0, np.maximum(units, 1), units)


def scale_for(largest: ArrayLike, limit: float = LARGEST_CAPACITY) -> tuple[int, ...]:
    """(D,) doublings until `largest` <= `limit`, () for none."""
    amounts = np.maximum(np.atleast_1d(np.asarray(largest, np.float64)), limit)
    scale = np.ceil(np.log2(amounts / limit)).astype(np.int64)
    scale += np.ldexp(amounts, -scale) > limit  # where the logarithm was rounded down
    return tuple(scale.tolist()) if scale.any() else ()
