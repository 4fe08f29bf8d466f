"""When and where the tasks of a run started."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Schedule(NamedTuple):
    """Start, server and end of each row, -1 if never started."""

    start: NDArray[np.int64]  # (rows,) slots
    server: NDArray[np.int32]  # (rows,)
    end: NDArray[np.int64]  # (rows,) slots; later than the run's last slot if the task was still in service then
    source: NDArray[np.int32] | None = None  # (rows,) server from which it reads, -1 at home; None if reads take no resources
    devices: NDArray[np.int64] | None = None  # (rows,) of its server that it has, as bits; None if servers have no devices
