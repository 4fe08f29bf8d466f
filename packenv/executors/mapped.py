"""Large values for other processes of this machine: their arrays lie in one file, which every process maps into its memory.

So the arrays are in memory once, whatever the number of processes, and do not travel with each call. A process that writes to one
of them gets a copy of the pages that it writes to.
"""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

LEAST = 1 << 20  # bytes: smaller values travel with the calls
ALIGNED = 64  # bytes


class Mapped(NamedTuple):
    """A pickled value without its arrays, and where these lie in a file: (start, bytes) of each."""

    data: bytes
    file: str
    places: tuple[tuple[int, int], ...]

    def get(self) -> bytes:
        return self.data

    def buffers(self) -> list[memoryview]:
        """The arrays' memory, for `pickle.Unpickler`."""
        with Path(self.file).open("rb") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        return [whole[start : start + length] for start, length in self.places]


def mapped(value: Any, folder: Callable[[], str]) -> Mapped | None:
    """The value with its arrays in a new file of the folder; None if they are small, or there is no room."""
    found: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL, buffer_callback=found.append)
    parts = [each.raw() for each in found]
    if sum(part.nbytes for part in parts) < LEAST:
        return None
    places: list[tuple[int, int]] = []
    descriptor, name = tempfile.mkstemp(dir=folder())
    try:
        with os.fdopen(descriptor, "wb") as file:
            for part in parts:
                file.write(bytes(-file.tell() % ALIGNED))
                places.append((file.tell(), part.nbytes))
                file.write(part)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        return None
    return Mapped(data, name, tuple(places))
