"""The runner: the same results on every executor, in any order of ending; what a run raises; compiled once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from experiments.eagle import runs as eagle
from packenv.errors import InputError, MisuseError
from packenv.executors import pieces
from packenv.executors.local import LocalProcesses, ThisProcess, local_executor
from packenv.results.result import Result
from packenv.runs import runner as module
from packenv.runs.keys import keys_of
from packenv.runs.log import RunLog
from packenv.runs.run import Run, by_policy, runs_of, whole_result
from packenv.runs.runner import Runner, RunOptions, RunsFailed, extract_all, run_all, run_most
from packenv.workloads.workload import Workload

WORKLOAD = packenv.workload("paper/fig4b", intensity=0.8)
RUNS = runs_of(WORKLOAD, ("bf-js", "fifo-ff"), (3, 4), slots=4000)


def mean_queue(workload: Workload, result: Result) -> tuple[str, int, float | None]:
    return result.policy, result.seed, result.mean_queue


@cache
def expected() -> list[tuple[str, int, float | None]]:
    return [(run.policy, run.seed, packenv.simulate(WORKLOAD, run.policy, 4000, run.seed).mean_queue) for run in RUNS]


class LastFirst(Executor):
    """Does nothing until it is asked for a result, then the call that came last."""

    def __init__(self) -> None:
        self.calls: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, call: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.calls.append((future, lambda: call(*args, **options)))
        return future

    def run_last(self, waiting: Any, **options: Any) -> tuple[set[Future[Any]], set[Future[Any]]]:
        future, call = self.calls.pop()
        future.set_result(call())
        return {future}, set()


def test_runs_and_results_by_policy() -> None:
    assert [(run.policy, run.seed) for run in RUNS] == [("bf-js", 3), ("bf-js", 4), ("fifo-ff", 3), ("fifo-ff", 4)]
    assert by_policy(("a", "b"), [1, 2, 3, 4]) == {"a": [1, 2], "b": [3, 4]}


def test_here() -> None:
    assert extract_all(RUNS, mean_queue, RunOptions(1)) == expected()


def test_in_processes() -> None:
    """The extract is a function of this module, which the processes import."""
    assert extract_all(RUNS, mean_queue, RunOptions(2)) == expected()


def test_on_threads_of_the_caller() -> None:
    """Batches travel pickled; the executor stays open."""
    with ThreadPoolExecutor(2) as threads:
        with Runner(executor=threads) as runner:
            assert runner.all(RUNS, mean_queue) == expected()
            assert [result.mean_queue for result in runner.all(RUNS[:1])] == [expected()[0][2]]
        assert threads.submit(int).result() == 0


def test_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    backwards = LastFirst()
    monkeypatch.setattr(pieces, "wait", backwards.run_last)
    assert [n for n, _ in Runner(executor=backwards).each(RUNS, mean_queue)] == [3, 2, 1, 0]
    assert Runner(executor=backwards).all(RUNS, mean_queue) == expected()


def test_each_comes_as_it_ends_and_not_all_are_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(module, "make", lambda run, extract: made.append(run.seed))
    results = Runner(processes=1).each(runs_of(WORKLOAD, ["bf-js"], range(5), 10))
    next(results)
    assert made == [0]


def test_a_policy_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    monkeypatch.setattr(module, "compile_policy", lambda run, helpers: compiled.append(run.policy))
    with Runner(processes=1) as runner:
        runner.all(RUNS, mean_queue)
        runner.all(RUNS[:1], mean_queue)
    assert compiled == ["bf-js", "fifo-ff"]


@pytest.mark.parametrize("processes", [1, 2])
def test_what_a_run_raises(processes: int) -> None:
    bad = [Run(WORKLOAD, "bf-js", seed, slots=100, options={"warmup": 100}) for seed in (0, 1)]
    with pytest.raises(InputError, match="warmup must lie between 0 and the number of slots"):
        run_all(bad, RunOptions(processes))


def test_a_workload_is_made_once_for_its_runs() -> None:
    made = []

    def make() -> Workload:
        made.append(1)
        return WORKLOAD

    assert extract_all([Run(make, run.policy, run.seed, run.slots) for run in RUNS], mean_queue, RunOptions(1)) == expected()
    assert made == [1]


class Failing:
    """Puts a task on a server that is full, in runs of seed 3."""

    name = "failing"

    def initial_state(self, setting: packenv.Setting, seed: int) -> int:
        return seed

    def schedule(self, cluster: Any, state: int) -> None:
        if state == 3:
            raise KeyError("seed 3")


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_that_fails_does_not_stop_the_others(processes: int, capfd: pytest.CaptureFixture[str]) -> None:
    runs = runs_of(WORKLOAD, (Failing(), "bf-js"), range(5), slots=300)
    found, failure = run_most(runs, RunOptions(processes))
    assert [n for n, result in enumerate(found) if result is None] == [3]
    assert isinstance(failure, RunsFailed) and str(failure) == "1 of 10 runs failed (above)"
    said = [line for line in capfd.readouterr().err.splitlines() if "failing" in line]
    assert len(said) == 1 and said[0].startswith("packenv: failing on paper/fig4b, seed 3: ") and "KeyError" in said[0]
    with pytest.raises(RunsFailed):
        run_all(runs, RunOptions(processes))
    with pytest.raises(MisuseError, match=r"policy failing: KeyError: .seed 3. \(.*test_runner\.py, line \d+\)"):
        run_all(runs, RunOptions(processes, fail_fast=True))


class FailingAtOnce(Failing):
    """In the run of one slot, too, by which a policy is compiled beforehand."""

    def initial_state(self, setting: packenv.Setting, seed: int) -> int:
        raise KeyError("state")


def test_nor_does_a_policy_that_cannot_begin(capfd: pytest.CaptureFixture[str]) -> None:
    found, failure = run_most(runs_of(WORKLOAD, (FailingAtOnce(), "bf-js"), (3,), slots=300), RunOptions(1))
    assert found[0] is None and found[1] is not None and failure is not None
    assert "failing on paper/fig4b, seed 3: policy failing: KeyError" in capfd.readouterr().err
    with pytest.raises(MisuseError, match="policy failing: KeyError"):
        run_most(runs_of(WORKLOAD, (FailingAtOnce(),), (3, 4), slots=300), RunOptions(1))


def test_many_from_python(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        found = packenv.simulate_many(WORKLOAD, ["bf-js", "fifo-ff"], [3, 4], 4000, executor=threads)
        judged = packenv.judge(WORKLOAD, "bf-js", seeds=2, width=0.3, executor=threads, log=tmp_path / "log")
    assert [(name, one.seed, one.mean_queue) for name, results in found.items() for one in results] == expected()
    assert judged == packenv.judge(WORKLOAD, "bf-js", seeds=2, width=0.3)
    assert (tmp_path / "log").read_text().startswith('{"run": ')
    with pytest.raises(InputError, match="two policies have the same name"):
        packenv.simulate_many(WORKLOAD, ["vqs", "vqs"])


def test_where_runs_take_place() -> None:
    assert isinstance(local_executor(1), ThisProcess) and isinstance(local_executor(8, most=1), ThisProcess)
    processes = local_executor(8, most=3)
    assert isinstance(processes, LocalProcesses) and len(processes.shares) == 3
    processes.shutdown()


def test_modules_of_functions_go_along_to_other_machines() -> None:
    """Of what is taken from runs, and of workloads that are made where the runs take place: experiments are not installed."""
    run = Run(partial(eagle.cluster, "google", 10, 5, 1), "bf-js")
    with ThreadPoolExecutor(1) as threads:
        modules = Runner(executor=threads)._prepare([run], partial(eagle.measures_of, cutoff=1.0))
        assert Runner(executor=threads)._prepare([Run(WORKLOAD, "bf-js")], whole_result) is None
    assert modules is not None
    assert sorted(modules.files) == [f"experiments/{name}.py" for name in ("__init__", "eagle/__init__", "eagle/runs", "finding")]


def test_keys_say_what_runs_depend_on() -> None:
    table = Workload(jobs=packenv.Jobs.of([0, 0], [0.5, 0.6], [2, 3]), servers=1)
    longer = Workload(jobs=packenv.Jobs.of([0, 0], [0.5, 0.6], [2, 4]), servers=1)
    one = Run(WORKLOAD, "bf-js", 0, 100)
    others = [
        *(Run(WORKLOAD, "bf-js", 1, 100), Run(WORKLOAD, "bf-js", 0, 101), Run(WORKLOAD, "vqs", 0, 100)),
        *(Run(WORKLOAD, "bf-js", 0, 100, {"warmup": 5}), Run(table, "bf-js", 0, 100), Run(longer, "bf-js", 0, 100)),
    ]
    assert len(set(keys_of([one, *others]))) == 7
    assert keys_of([Run(packenv.workload("paper/fig4b", intensity=0.8), "bf-js", 0, 100)]) == keys_of([one])


def test_a_log_makes_only_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    with Runner(processes=1) as runner:
        first = RunLog(path).complete(RUNS[:3], runner)
        made = []
        real = module.make
        monkeypatch.setattr(module, "make", lambda run, extract: (made.append(run), real(run, extract))[1])
        again = RunLog(path).complete(RUNS, runner)
    assert made == RUNS[3:] and again[:3] == first
    assert [run.values["mean_queue"] for run in again] == [queue for *_, queue in expected()]
    assert len(path.read_text().splitlines()) == 4
    assert np.isfinite(again[0].path.queue).all()
