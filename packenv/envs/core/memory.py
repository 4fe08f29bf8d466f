"""One stretch of memory in large pages for all arrays of a batch.

A step of one cluster touches some thirty arrays, each on a page of its own; with a thousand clusters that is far more
pages than a processor can find quickly. In pages of 2 MB a whole batch is a few dozen.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.intrinsics import CACHE_LINE

HUGE = 2 * 2**20
LEAST = 2 * HUGE  # bytes: smaller batches gain nothing


def gathered(frame: Any, keep: tuple[str, ...] = ()) -> Any:
    """The same frame with copies of its arrays (and of the frames in it), all in one place; fields named in `keep` as is."""
    total = sum(_room(array.nbytes) for array in _arrays(frame, keep))
    if total < LEAST:
        return frame
    return _moved(frame, keep, _Arena(total))


class _Arena:
    def __init__(self, total: int) -> None:
        size = (total // HUGE + 2) * HUGE
        private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
        memory = mmap.mmap(-1, size, **private)  # systems that give large pages seldom do so for shared memory
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        self.bytes: NDArray[np.uint8] = np.frombuffer(memory, np.uint8)
        self.used = -int(self.bytes.ctypes.data) % HUGE

    def copy(self, array: NDArray[Any]) -> NDArray[Any]:
        place = self.bytes[self.used : self.used + array.nbytes].view(array.dtype).reshape(array.shape)
        place[...] = array
        self.used += _room(array.nbytes)
        return place


def _room(size: int) -> int:
    return math.ceil(size / CACHE_LINE) * CACHE_LINE


def _arrays(value: Any, keep: tuple[str, ...]) -> Iterator[NDArray[Any]]:
    if isinstance(value, np.ndarray):
        yield value
    for name in getattr(value, "_fields", ()):
        if name not in keep:
            yield from _arrays(getattr(value, name), keep)


def _moved(value: Any, keep: tuple[str, ...], arena: _Arena) -> Any:
    if isinstance(value, np.ndarray):
        return arena.copy(value) if value.size else value
    fields = getattr(value, "_fields", None)
    if fields is None:
        return value
    parts = {name: getattr(value, name) for name in fields}
    moved = {name: part if name in keep else _moved(part, keep, arena) for name, part in parts.items()}
    make: Any = getattr(value, "_replace", None) or value.replace  # a NamedTuple, or a Frame
    return make(**moved)
