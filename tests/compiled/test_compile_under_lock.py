"""Processes that need the same machine code: one compiles, the others wait for it, and nothing that goes wrong stops them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from packenv.compiled.locks import Lock
from tests.compiled.test_cache import PROGRAM, ROOT, Code

pytestmark = pytest.mark.slow  # they start processes that compile

fcntl = pytest.importorskip("fcntl", reason="there are no such locks here")

EAGER = """
import packenv.compiled.announcement as said
import packenv.compiled.decorators as rules
said.PATIENCE, rules.LONGEST = 0.0, {longest}
"""
HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "r+")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""
WORD = "packenv: compiling 1 function, once for this version …"


def start(code: Code, before: str = "") -> subprocess.Popen[str]:
    cached = {
        "PACKENV_CACHE": str(code.folder / "cache"),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PACKENV_QUIET": "",
    }
    program = before + PROGRAM.format(folder=str(code.folder))
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", program], env=os.environ | cached, cwd="/", **pipes)


def locks(code: Code) -> list[Path]:
    """The lock files of its functions, after a run; what the run kept is removed."""
    assert code.run() == (121, 3)
    for file in code.kept:
        file.unlink()
    found = sorted((code.folder / "cache").rglob("*.lock"))
    assert [file.name for file in found] == ["answer.lock", "square.lock"]
    return found


@contextmanager
def held(files: list[Path]) -> Iterator[None]:
    """Hold these locks in this process."""
    with ExitStack() as stack:
        for file in files:
            fcntl.flock(stack.enter_context(file.open("r+")), fcntl.LOCK_EX)
        yield


def test_one_of_many_compiles(tmp_path: Path) -> None:
    code = Code(tmp_path)
    many = [start(code) for _ in range(4)]
    found = [process.communicate(timeout=120)[0].split() for process in many]
    assert [answer for answer, _ in found] == ["121"] * 4
    assert sum(int(compiled) for _, compiled in found) == 3


@pytest.mark.minutes
def test_the_others_wait_and_say_so(tmp_path: Path) -> None:
    code = Code(tmp_path)
    with held(locks(code)):
        process = start(code, EAGER.format(longest=300.0))
        other = start(code, EAGER.format(longest=300.0))
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=6)
        assert other.poll() is None
    found = [each.communicate(timeout=120) for each in (process, other)]
    assert sum(int(out.split()[1]) for out, _ in found) == 3
    said = [line for _, err in found for line in err.splitlines()]
    assert said == [WORD]  # one line for all of them


@pytest.mark.minutes
def test_what_is_kept_is_loaded_without_the_lock(tmp_path: Path) -> None:
    code = Code(tmp_path)
    files = locks(code)
    assert code.run() == (121, 3)
    with held(files):
        assert code.run() == (121, 0)


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    code = Code(tmp_path)
    holders = [subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE) for file in locks(code)]
    for holder in holders:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
    process = start(code)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=4)
    for holder in holders:
        holder.kill()
        holder.communicate()
    assert process.communicate(timeout=120)[0].split() == ["121", "3"]


@pytest.mark.minutes
def test_a_holder_that_never_ends_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    code = Code(tmp_path)
    with held(locks(code)):
        out, err = start(code, EAGER.format(longest=0.5)).communicate(timeout=120)
    assert out.split() == ["121", "3"] and WORD in err


@pytest.mark.minutes
@pytest.mark.parametrize("trouble", ["a folder in its place", "no locks", "no such module"])
def test_without_locks_each_process_compiles(tmp_path: Path, trouble: str) -> None:
    code = Code(tmp_path)
    files = locks(code)
    before = {
        "no locks": "import fcntl, errno\ndef none(*words): raise OSError(errno.ENOLCK, 'no locks')\nfcntl.flock = none\n",
        "no such module": "import sys; sys.modules['fcntl'] = None\n",
    }.get(trouble, "")
    if not before:
        for file in files:
            file.unlink()
            file.mkdir()
    with held([] if not before else files):
        out, err = start(code, before).communicate(timeout=120)
    assert (out.split(), err) == (["121", "3"], "")


def test_a_lock_is_given_back(tmp_path: Path) -> None:
    lock, other = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert lock.acquire() and lock.descriptor is not None
    assert not other.acquire(lambda seconds: seconds < 0.2) and other.descriptor is None
    lock.release()
    assert other.acquire() and other.descriptor is not None
    other.release()
