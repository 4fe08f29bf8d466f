"""Pieces: every item once, in pieces of seconds; what fails and what is lost; tables and modules that travel apart."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.errors import InputError
from packenv.executors import shared as sharing
from packenv.executors.local import LocalProcesses, ThisProcess, executor
from packenv.executors.pieces import PIECE, Pieces
from packenv.executors.shared import Bytes, Sharing, ShippedModules, modules_to_ship


def half(number: int) -> float:
    if number == 13:
        raise ZeroDivisionError("thirteen")
    return number / 2


def slow(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


class Counting(ThreadPoolExecutor):
    """Remembers the pieces."""

    def __init__(self, workers: int = 2) -> None:
        super().__init__(workers)
        self.workers, self.pieces = workers, list[list[int]]()

    def submit(self, call: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        self.pieces.append([*args[2]])
        return super().submit(call, *args, **options)


class Losing(Counting):
    """Loses every piece that has a certain item in it, as a machine that dies of it."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        future = super().submit(call, *args, **options)
        if 5 in args[2]:
            future = Future()
            future.set_exception(RuntimeError("a node died"))
        return future


@pytest.mark.parametrize("make", [ThisProcess, Counting, lambda: LocalProcesses(2)])
def test_every_item_once(make: Callable[[], Executor]) -> None:
    with make() as pool:
        found = {one.number: one for one in Pieces(pool).each(half, range(40))}
    assert sorted(found) == [*range(40)]
    assert all(one.value == n / 2 and one.error is None for n, one in found.items() if n != 13)
    error = found[13].error
    assert isinstance(error, ZeroDivisionError) and str(error) == "thirteen"
    assert "in half" in "".join(getattr(error, "__notes__", []))  # where it was raised


def test_pieces_grow_to_seconds() -> None:
    with Counting() as pool:
        pieces = Pieces(pool)
        pieces.seconds[float] = PIECE / 5
        list(pieces.each(slow, [0.0] * 200))
    longest = max(map(len, pool.pieces))
    assert longest > 5  # they turned out to be quick
    assert len(pool.pieces[-1]) == 1  # no worker waits long for another
    with Counting() as pool:
        pieces = Pieces(pool)
        pieces.seconds[int] = 2 * PIECE
        list(pieces.each(half, [0] * 20))
        assert len(pool.pieces[0]) == 1


def test_a_lost_piece_is_done_again_item_by_item() -> None:
    with Losing() as pool:
        pieces = Pieces(pool)
        pieces.seconds[int] = 1e-9
        found = {one.number: one for one in pieces.each(half, [0] * 100)}
    assert len(pool.pieces[0]) > 5
    assert sorted(found) == [*range(100)]
    assert [n for n, one in found.items() if one.error is not None] == [5]
    assert str(found[5].error) == "a node died"


def test_an_executor_that_has_failed_is_said() -> None:
    with LocalProcesses(2) as pool, pytest.raises(InputError, match="ended from outside"):
        list(Pieces(pool).each(exit_hard, [0, 1]))


def exit_hard(_: int) -> None:
    import os

    os._exit(1)


def test_what_is_yielded_late_is_not_waited_for() -> None:
    """The first outcome comes when its item has ended."""
    began = time.monotonic()
    with Counting() as pool:
        outcomes = Pieces(pool).each(slow, [0.0, 1.5])
        next(outcomes)
        assert time.monotonic() - began < 1.4
        outcomes.close()


class Cluster(ThreadPoolExecutor):
    """Shares bytes, and counts them."""

    def __init__(self) -> None:
        super().__init__(1)
        self.sent = list[int]()

    def share(self, data: bytes) -> Bytes:
        self.sent.append(len(data))
        return Bytes(data)


def test_a_table_of_jobs_is_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = packenv.Jobs.of(np.arange(10_000), np.full(10_000, 0.5), np.full(10_000, 2))
    workload = packenv.Workload(jobs=jobs, servers=3)
    pool = Cluster()
    shares = Sharing(pool)
    values = [shares.share(("a", workload)), shares.share(("b", [workload, workload]))]
    assert sum(size > 50_000 for size in pool.sent) == 1
    monkeypatch.setattr(sharing, "_kept", type(sharing._kept)())
    received = [pickle.loads(pickle.dumps(value)).value() for value in values]
    assert received[1][1][0].jobs is received[1][1][1].jobs is received[0][1].jobs
    assert np.array_equal(received[0][1].jobs.arrival, jobs.arrival) and received[0][1].jobs.arrival.flags.writeable
    assert len(sharing._kept) <= sharing.KEPT


def test_values_are_kept_by_the_process_that_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_kept", type(sharing._kept)())
    value = Sharing(ThisProcess()).share([1, 2])
    assert value.value() is value.value() == [1, 2]
    for n in range(sharing.KEPT):
        Sharing(ThisProcess()).share(n).value()
    assert value.key not in sharing._kept


MODULES = {
    "shipped_pack/__init__.py": b"",
    "shipped_pack/part.py": b"from shipped_alone import X\nY = X + 1\n",
    "shipped_alone.py": b"X = 2\n",
}


def test_modules_are_imported_as_they_were_sent(tmp_path: Path) -> None:
    (tmp_path / "shipped_alone.py").write_text("X = 5\n")  # another version that lies on the path there
    modules = ShippedModules("a", MODULES)
    code = f"""
import pickle, sys
pickle.loads({pickle.dumps(modules)!r}).put_on_path()
pickle.loads({pickle.dumps(modules)!r}).put_on_path()
import shipped_pack.part
print(shipped_pack.part.Y, len([1 for finder in sys.meta_path if type(finder).__name__ == "Shipped"]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "1"]


def test_modules_that_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_first.py").write_text("import own_second, numpy, packenv\n")
    (tmp_path / "own_second.py").write_text("Z = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("own_first")
    modules = modules_to_ship(["own_first", "packenv.cluster", "numpy"])
    assert modules is not None and sorted(modules.files) == ["own_first.py", "own_second.py"]
    modules.put_on_path()  # they are loaded as they are
    assert not any(type(finder).__name__ == "Shipped" for finder in sys.meta_path)
    other = ShippedModules("b", {"own_second.py": b"Z = 2\n"})
    with pytest.raises(InputError, match="module own_second has another version"):
        other.put_on_path()
    assert modules_to_ship(["numpy", "packenv.policies"]) is None
    with pytest.raises(InputError, match="code in __main__ cannot be sent"):
        modules_to_ship(["__main__"])


def test_executors_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(executor(processes=1), ThisProcess) and isinstance(executor(1), ThisProcess)
    with executor(2) as two:
        assert isinstance(two, LocalProcesses) and two.workers == 2
    with pytest.raises(InputError, match="executor: 2 processes or processes=3: give one of them"):
        executor(2, processes=3)
    with pytest.raises(InputError, match="no executor 'dask': processes, ray or ray://HOST:PORT"):
        executor("dask")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"needs ray, which is not installed: pip install 'ray"):
        executor("ray")


def where_it_lies(jobs: packenv.Jobs) -> tuple[bool, str, int]:
    """Whether the arrays of a table are mapped from a file, may be written to, and what they add up to."""
    base: Any = jobs.demand
    while isinstance(base, np.ndarray):
        base = base.base
    kind = type(base.obj).__name__ if isinstance(base, memoryview) else type(base).__name__
    before = int(jobs.arrival[3])
    jobs.arrival[3] += 1  # a page of this process alone
    written = int(jobs.arrival[3]) == before + 1
    jobs.arrival[3] -= 1
    return written, kind, int(jobs.arrival.sum() + 3 * jobs.demand.sum() + 5 * jobs.service.sum())


def large_table(rows: int) -> packenv.Jobs:
    rng = np.random.default_rng(0)
    return packenv.Jobs.of(np.arange(rows), rng.uniform(0.1, 0.2, (rows, 1)), rng.integers(1, 9, rows))


def test_a_large_table_is_mapped_by_every_process() -> None:
    """Its arrays lie in a file that goes with the processes; those of a small one travel, as do those to threads."""
    for rows, lies in ((60_000, "mmap"), (500, "")):
        jobs = large_table(rows)
        expected = int(jobs.arrival.sum() + 3 * jobs.demand.sum() + 5 * jobs.service.sum())
        with LocalProcesses(2) as processes:
            pieces = Pieces(processes)
            found = [outcome.value for outcome in pieces.each(where_it_lies, [jobs] * 4)]
            folder = None if processes.files is None else Path(processes.files.name)
            assert [each.stat().st_size > 2**20 for each in folder.iterdir()] == [True] if folder else not lies
        assert [own[2] for own in found] == [expected] * 4 and all(own[0] for own in found)
        assert not lies or {own[1] for own in found} == {lies}
        assert folder is None or not folder.exists()
    with Counting() as threads:
        assert {outcome.value[1] for outcome in Pieces(threads).each(where_it_lies, [large_table(60_000)])} != {"mmap"}


def test_runs_on_a_mapped_table_are_the_same() -> None:
    workload = packenv.Workload(jobs=large_table(60_000), servers=2)
    with LocalProcesses(2) as processes:
        there, again = packenv.simulate_many(workload, ["fifo-ff"], 2, executor=processes)["fifo-ff"]
    here = packenv.simulate(workload, "fifo-ff")
    assert (there.mean_queue, there.delay_p99, there.started) == (here.mean_queue, here.delay_p99, here.started)
    assert again.mean_queue == here.mean_queue
