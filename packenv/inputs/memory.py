"""Limit on the memory for reading a file.

The default is three quarters of what the machine, its container and `ulimit -v` allow. PACKENV_MEMORY sets it in GB. A file
above the limit is one line of error, before the machine runs out.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from packenv.errors import InputError
from packenv.inputs.numbers import read_number

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

VARIABLE = "PACKENV_MEMORY"
GB = 10**9
SHARE = 0.75
UNKNOWN = 8 * GB
CONTAINER = Path("/sys/fs/cgroup/memory.max")


class Memory:
    """Budget of bytes for reading `path`, which every reader reserves from."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self.limit, self.reserved = path, memory_limit(), 0

    def reserve(self, amount: int) -> None:
        """Reserve `amount` additional bytes, or raise InputError."""
        self.reserved += amount
        if self.reserved > self.limit:
            raise InputError(
                f"{self.path}: too large: reading it needs more than {self.limit / GB:.3g} GB of memory; set {VARIABLE}=GB "
                "to allow more"
            )


def memory_limit() -> int:
    """Return the bytes that reading a file may take."""
    text = os.environ.get(VARIABLE)
    if text:
        try:
            limit = int(read_number(text) * GB)
        except InputError as problem:
            raise InputError(f"{VARIABLE}: {problem}") from None
        if limit <= 0:
            raise InputError(f"{VARIABLE} must be above 0, not {text}")
        return limit
    machine = machine_memory()
    return int(SHARE * min(machine, _process(machine), _container(machine)))


def machine_memory() -> int:
    """Return the machine's memory in bytes, UNKNOWN if unavailable."""
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    status = (ctypes.c_uint64 * 8)(ctypes.sizeof(ctypes.c_uint64) * 8)  # MEMORYSTATUSEX: two words of 32 bits, then 64 each
    kernel = getattr(getattr(ctypes, "windll", None), "kernel32", None)
    return int(status[1]) if kernel is not None and kernel.GlobalMemoryStatusEx(status) else UNKNOWN


def _process(otherwise: int) -> int:
    if resource is None:
        return otherwise
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    return otherwise if allowed == resource.RLIM_INFINITY else allowed


def _container(otherwise: int) -> int:
    try:
        text = CONTAINER.read_text(encoding="ascii").strip()
    except (OSError, UnicodeError):
        return otherwise
    return int(text) if text.isascii() and text.isdigit() else otherwise
