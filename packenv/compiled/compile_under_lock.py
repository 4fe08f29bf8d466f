"""Locks: one process compiles while others wait and load.

Without locks every process compiles, and so it does after waiting LONGEST seconds for another one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from packenv.compiled.announcement import announcement, count_one
from packenv.compiled.helpers import offer
from packenv.compiled.locks import Lock

LONGEST = 300.0  # seconds that one function may take another process


def compile_under_lock(dispatcher: Any, lock: Path, base: Path) -> None:
    """Make Numba's dispatcher compile under the lock.

    Cached code is loaded without the lock. `base` is the folder of all machine code. Two methods of Numba are replaced; if a
    version lacks them, every process compiles.
    """
    kept: Any = getattr(dispatcher, "_cache", None)
    if not (hasattr(dispatcher, "compile") and hasattr(kept, "load_overload")):
        return
    turn = Lock(lock)
    compile_now, load = dispatcher.compile, kept.load_overload

    def load_or_lock(signature: Any, target: Any) -> Any:
        overload = load(signature, target)
        if overload is None:
            announcement.begin(id(dispatcher), base)
            offer()
            turn.acquire(lambda seconds: seconds < LONGEST)
            overload = load(signature, target)  # another process may have compiled it since
        if overload is None:
            count_one(base)
        return overload

    def compile_in_turn(signature: Any) -> Any:
        try:
            return compile_now(signature)
        finally:
            turn.release()
            announcement.end(id(dispatcher))

    kept.load_overload = load_or_lock
    dispatcher.compile = compile_in_turn
