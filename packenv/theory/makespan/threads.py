"""Several searches side by side, in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Found = TypeVar("Found")


def in_threads(search: Callable[[int, threading.Event], Found], count: int) -> list[Found]:
    """Return `search(k, stop)` for k < `count`; failures and Ctrl-C set `stop`."""
    stop = threading.Event()
    with ThreadPoolExecutor(count) as pool:
        runs = [pool.submit(search, k, stop) for k in range(count)]
        try:
            return [run.result() for run in runs]
        finally:
            stop.set()
