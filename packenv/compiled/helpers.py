"""Helper processes, which compile the functions needed next.

The first run of a policy, or the first step of an environment, compiles some thirty functions, one after another. Nearly half of
the time is the compiler's front end, which is Python. The functions are known (`needed.json`). If several are missing and there
is a second core, helpers start from the other end, under the locks of `compile_under_lock`. On two cores, a cold `gymnasium.make`
and a cold first number take about two thirds of the time. A helper is a plain Python process without your modules. It ends when
it has nothing left to do, and immediately when this process ends.
"""

from __future__ import annotations

import atexit
import functools
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from packenv.compiled.announcement import QUIET, announcement
from packenv.compiled.apart import Apart
from packenv.compiled.cache import base, folder_for
from packenv.compiled.help_out import LENGTH
from packenv.compiled.locks import HAS_LOCKS

MOST = 3  # helpers
FEW = 6  # missing functions for which a helper's start, more than a second of processor, is not worth it
PROCESSES = "PACKENV_COMPILE_PROCESSES"  # the variable that says how many helpers there may be; 0: none

_expected: list[Apart] = []  # the missing functions, in the order in which they are called, that no helper has been given yet
_helpers: list[subprocess.Popen[bytes]] = []
_allowed = 0  # helpers of this process, if another one has started it


def allow(helpers: int) -> None:
    """Allow this process `helpers` helpers if another one started it."""
    global _allowed
    if multiprocessing.parent_process() is not None:
        _allowed = max(helpers, 0)


def most_helpers() -> int:
    """Return the most helpers (one per further core)."""
    if not HAS_LOCKS or not sys.executable or getattr(sys, "frozen", False) or "PYTEST_XDIST_WORKER" in os.environ:
        return 0
    chosen = os.environ.get(PROCESSES, "")
    most = min(MOST, int(chosen)) if chosen.isdecimal() else MOST
    if multiprocessing.parent_process() is not None:
        most = min(most, _allowed)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(most, cores - 1)


@functools.cache
def needed() -> dict[str, list[str]]:
    """Return function names per caller in call order (tests/compiled/test_needed.py)."""
    text = Path(__file__).with_name("needed.json").read_text(encoding="utf-8")
    named: dict[str, list[str]] = json.loads(text)
    return named


@functools.cache
def expect(kind: str, resources: int, otherwise: str) -> None:
    """Announce the next run, and start helpers if needed.

    kind       a policy's or environment's name in `needed.json`
    resources  of the servers: one, or several
    otherwise  the name there for a kind that is not listed

    Only the first call for a kind does anything.
    """
    functions = needed().get(f"{kind}, several resources" if resources > 1 else kind, needed()[otherwise])
    apart = {name_of(function): function for function in Apart.by_address.values()}
    missing = [apart[name] for name in functions if name in apart and not _is_there(apart[name])]
    if missing:
        announcement.expect(base(), len(missing))
    if len(missing) >= FEW and (most := most_helpers()) > 0:
        _expected[:] = missing
        _start(most - len(_running()))


def name_of(function: Apart) -> str:
    """Return its name in `needed.json`."""
    return f"{function.function.__module__}.{function.function.__qualname__}"


def _is_there(function: Apart) -> bool:
    folder = folder_for((function.function.__module__,))
    kept = folder is not None and next(folder.glob(f"*.{function.function.__qualname__}-*.nbi"), None) is not None
    return function.word.value != 0 or kept


def offer() -> None:
    """Give helpers all expected functions with known types."""
    if not _expected or (multiprocessing.parent_process() is not None and not _allowed):
        return
    jobs = []
    # Take the expected functions whose argument types are known.
    for function in [*_expected]:
        arguments = function.argument_types()
        folder = folder_for((function.function.__module__,))
        if arguments is not None and folder is not None:
            _expected.remove(function)
            if not _is_there(function):
                jobs.append((function.function.__module__, function.function.__qualname__, str(folder), arguments))
    # Deal them out to the helpers.
    running = _running()
    for number, helper in enumerate(running):
        if share := jobs[number :: len(running)]:
            message = pickle.dumps(share)
            with suppress(OSError):  # it has just ended
                assert helper.stdin is not None
                helper.stdin.write(len(message).to_bytes(LENGTH) + message)
                helper.stdin.flush()


def _running() -> list[subprocess.Popen[bytes]]:
    return [helper for helper in _helpers if helper.poll() is None]


def _start(helpers: int) -> None:
    """Start helpers with this process's module path."""
    for number in range(helpers):
        program = f"import sys; sys.path[:] = {sys.path!r}\nfrom packenv.compiled.help_out import help_out\n"
        program += f"help_out({str(base())!r}, {number})"
        with suppress(OSError):
            helper = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process
                env=os.environ | {PROCESSES: "0", QUIET: "1", "PACKENV_CACHE": str(base())},
            )
            _helpers.append(helper)


@atexit.register
def _end() -> None:
    for helper in _running():
        helper.kill()
    for helper in _helpers:
        with suppress(subprocess.TimeoutExpired):
            helper.wait(1)
    _helpers.clear()
