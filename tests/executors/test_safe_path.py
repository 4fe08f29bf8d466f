"""Processes import nothing from the current folder, and the environment stays as it was, whoever starts them."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

from packenv.executors.local import SAFE_PATH, safe_path


def test_threads_that_start_processes_at_the_same_time() -> None:
    """Each puts back what it found: without a lock the later one finds, and puts back, what the earlier one had set."""
    before = os.environ.get(SAFE_PATH)

    def start(seconds: float) -> str | None:
        with safe_path():
            time.sleep(seconds)
            return os.environ.get(SAFE_PATH)

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.submit(start, 0.05), threads.submit(start, 0.1)
        assert (first.result(), second.result()) == ("1", "1")
    assert os.environ.get(SAFE_PATH) == before
