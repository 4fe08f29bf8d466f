"""Errors that more than one room raises: optional libraries, and arguments that nobody takes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import packenv
from packenv.errors import InputError, UnknownArgument, library_needed
from packenv.policies import BestFit

TABLE = pa.table({"submit_time_s": [0, 1], "duration_s": [10, 10], "cpu": [1, 2]})


def test_a_library_that_is_absent_and_one_that_cannot_be_imported() -> None:
    absent = library_needed("the offline optimum", "sat", ModuleNotFoundError("No module", name="ortools.sat"))
    assert absent.startswith("the offline optimum needs ortools, which is not installed: pip install 'ortools>=")
    broken = library_needed("the offline optimum", "sat", ImportError("undefined\nsymbol: x", name="ortools.sat"))
    assert "needs ortools, and importing it fails (undefined symbol: x): pip install --upgrade 'ortools>=" in broken


NAMED = packenv.workload("paper/fig4b", intensity=0.5)
CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: packenv.workload(TABLE, servers="1x8", slot_second=1), "workload() has no argument 'slot_second'; did you mean"),
    (lambda: packenv.workload("paper/fig4b", intensty=0.5), "workload() has no argument 'intensty'; did you mean intensity"),
    (lambda: packenv.evaluate(TABLE, ["bf-j"], servers="1x8", slot_second=1), "evaluate() has no argument 'slot_second'"),
    (lambda: packenv.evaluate(NAMED, ["bf-j"], slotz=9), "evaluate() has no argument 'slotz'; did you mean slots"),
    (lambda: packenv.evaluate(NAMED, ["bf-j"], nonsense=1), "evaluate() has no argument 'nonsense'; known: workload, policies"),
    (lambda: packenv.simulate(NAMED, "bf-j", slotz=9), "simulate() has no argument 'slotz'; did you mean slots"),
    (lambda: packenv.judge("paper/fig4b", "bf-j", taks=9), "judge() has no argument 'taks'; did you mean tasks"),
    (lambda: packenv.plan("paper/fig4b", goals="mean queue <= 9"), "plan() has no argument 'goals'; did you mean *goals"),
    (lambda: packenv.evaluate(NAMED, [BestFit], slots=9), "BestFit is a class: pass an object, BestFit()"),
    (lambda: packenv.simulate(NAMED, BestFit, slots=9), "BestFit is a class: pass an object, BestFit()"),
    *[
        (lambda n=n: packenv.simulate(NAMED, "bf-j", n), f"`slots` must be a whole number of at least 1, not {n!r}")
        for n in (0, 10.5, "9")
    ],
    (lambda: packenv.simulate(NAMED, "bf-j", 9, seed=1.5), "seed must be a whole number from 0 to 2^63 - 1, not 1.5"),
    *[(lambda run=run: run(NAMED, []), "no policy") for run in (packenv.evaluate, packenv.simulate_many, packenv.judge)],
    *[(lambda run=run: run([], ["bf-j"]), "no workload") for run in (packenv.leaderboard, packenv.judge)],
    (lambda: packenv.executor(0), "`processes` must be a whole number of at least 1, not 0"),
    (lambda: packenv.simulate(NAMED, "bf-j", 10**30), f"`slots` must be at most 2^53, not {10**30}"),
    (lambda: packenv.simulate(NAMED, "bf-j", 9, warmup="1"), "`warmup` must be a whole number of at least 0, not '1'"),
    (lambda: packenv.evaluate(NAMED, ["bf-j"], slots=9, seed="1"), "`seed` must be a whole number of at least 0, not '1'"),
    (lambda: packenv.evaluate(NAMED, ["bf-j"], slots=9, executor=3), "`executor` is made by `packenv.executor()`, or has"),
    (lambda: packenv.judge(NAMED, "bf-j", width=0), "`width` of the interval must lie between 0 and 1, not 0"),
    (lambda: packenv.judge(NAMED, "bf-j", seeds=0), "`seeds` must be a whole number of at least 1, not 0"),
    (lambda: packenv.Jobs.of([0], ["a"], [1]), "size must be a list of numbers"),
    (lambda: packenv.Jobs.of([0, 0], [[0.5], [0.5, 0.2]], [1, 1]), "size must be a list of numbers, or of equally many"),
    (lambda: packenv.Jobs.of(0, 0.5, 1), "size must have shape (tasks,) or (tasks, resources), not ()"),
    *[(lambda slots=slots: packenv.Jobs.of([0], [0.5], [slots]), "row 0: service is above 2^53") for slots in (10**17, 1e300)],
    (lambda: packenv.workload({"cpu": ["x", 0.5], "duration_s": [1, 1]}), "a table of type dict, column cpu, cannot be read"),
    (lambda: packenv.sustained("absent.csv"), "absent.csv: no such file"),
    (lambda: packenv.Servers([[1.0], [2.0]], names=("a",)), "servers: 1 names for 2 servers"),
    (lambda: packenv.workload("absent.jsonl"), "absent.jsonl: no such file"),
    (lambda: packenv.workload("absent.txt"), "absent.txt: no such file"),
    (lambda: packenv.workload(pa.table([pa.array([1])] * 2, ["cpu", "cpu"])), "column cpu occurs more than once"),
]


@pytest.mark.parametrize(("call", "problem"), CALLS, ids=[problem for _, problem in CALLS])
def test_bad_arguments(call: Callable[[], Any], problem: str) -> None:
    with pytest.raises(InputError) as error:
        call()
    assert problem in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        *((call, "paper/fig3a") for call in (packenv.vqs_bound, packenv.halving_bound, packenv.queue_bound, packenv.resolved)),
        (lambda source: packenv.optimal_schedule(source, time_limit=5), "price/fig1"),
        (lambda source: packenv.plan_servers(source, "bf-j", "mean wait <= 3", slots=500, seeds=2).servers, "paper/fig4b"),
    ],
)
def test_a_workload_is_a_name_wherever_it_is_an_object(call: Callable[[Any], Any], name: str) -> None:
    of_name, of_object = call(name), call(packenv.workload(name))
    values = [getattr(answer, "value", getattr(answer, "makespan", answer)) for answer in (of_name, of_object)]
    assert values[0] == values[1]


def test_the_longest_service_is_measured() -> None:
    """2^53 slots, times units of size, are above 64 bits."""
    jobs = packenv.Jobs.of([0, 0], [0.5, 1.0], [2**53, 1])
    assert packenv.Workload(jobs=jobs, servers=1).area_bound == pytest.approx(2.0)


SEEDS: list[tuple[Any, str]] = [(0, "whole number of at least 1"), (-1, "of at least 1"), (2.5, "of at least 1"), (True, "of at")]
SEEDS += [("2", "of at least 1"), ([], "at least one"), ([3, 3], "has 3 twice"), ([0.5], "not 0.5"), ([-1], "not -1")]
RUNS: list[Callable[..., Any]] = [
    lambda **options: packenv.evaluate(NAMED, ["bf-j"], slots=9, **options),
    lambda **options: packenv.simulate_many(NAMED, ["bf-j"], slots=9, **options),
    lambda **options: packenv.evaluate_agent(lambda observation, mask: 0, "packenv/ServerFill-v1", **options),
]


@pytest.mark.parametrize("run", RUNS, ids=["evaluate", "simulate_many", "evaluate_agent"])
@pytest.mark.parametrize(("seeds", "problem"), SEEDS, ids=[str(seeds) for seeds, _ in SEEDS])
def test_bad_seeds(run: Callable[..., Any], seeds: Any, problem: str) -> None:
    with pytest.raises(InputError, match="`seeds`") as error:
        run(seeds=seeds)
    assert problem in str(error.value)


def test_one_policy_is_a_list_of_one() -> None:
    one, several = (packenv.evaluate(NAMED, policies, slots=99, seeds=2) for policies in ("bf-j", ["bf-j"]))
    assert [*one.results] == [*several.results] == ["bf-j"]
    assert [run.mean_queue for run in one.results["bf-j"]] == [run.mean_queue for run in several.results["bf-j"]]


def test_an_unknown_argument_comes_back_from_another_process() -> None:
    error = pickle.loads(pickle.dumps(UnknownArgument("slotz", ["slots"], "evaluate")))
    assert str(error) == "evaluate() has no argument 'slotz'; did you mean slots?" and error.name == "slotz"


def test_columns_as_text() -> None:
    table = TABLE.rename_columns(["Submitted", "duration_s", "cpu"])
    as_text = packenv.workload(table, servers="1x8", slot_seconds=1, columns="submit_time_s=Submitted")
    as_mapping = packenv.workload(table, servers="1x8", slot_seconds=1, columns={"submit_time_s": "Submitted"})
    assert as_text.jobs is not None and as_mapping.jobs is not None
    assert as_text.jobs.arrival.tolist() == as_mapping.jobs.arrival.tolist() == [0, 1]
