"""Conformance tests for policies."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from packenv.api import simulate
from packenv.cluster.build import build, grow
from packenv.cluster.loop import runner_for
from packenv.cluster.slots import FINISHED, GROW
from packenv.errors import InputError, MisuseError
from packenv.jobs import Jobs
from packenv.policy import attached, find_policy, initial_state_of, name_of, needs_of
from packenv.results.result import Result
from packenv.simulation import setting_of
from packenv.testing.named_tests import require, run_tests
from packenv.testing.replay import problem_of, waited
from packenv.workloads.laws import Geometric, Uniform
from packenv.workloads.workload import Workload

TIMES = 50  # as long as tasks arrive, no task may be left waiting
STEPS = 7  # slots with events from one pause to the next


def usual_workloads() -> list[Workload]:
    """Return small workloads: equal servers, unequal servers, two resources."""
    service = Geometric(20)
    pair = (Uniform(0.1, 0.6), Uniform(0.05, 0.5))
    return [
        Workload(sizes=Uniform(0.1, 0.9), service=service, servers=3, intensity=0.7, name="equal servers"),
        Workload(sizes=Uniform(0.05, 0.5), service=service, servers="1x1,2x0.5", intensity=0.7, name="unequal servers"),
        Workload(sizes=pair, service=service, servers="2x1:1,1x0.6:1", intensity=0.6, name="two resources"),
    ]


class PolicyTests:
    """Promises of every policy, each a named test to inherit.

    policy      an object, a class without arguments, or a name such as "vqs:J=5" or "my_module:MyPolicy:x=1"
    workloads   workloads that it takes; None: small ones with equal servers, unequal servers and two resources (it
                may refuse some, by InputError with one line)
    slots       length of each run
    seed        seed of the jobs, and of a policy that needs chance
    """

    policy: Any = None
    workloads: Sequence[Workload] | None = None
    slots = 600
    seed = 0
    _results: list[tuple[str, Workload, Result]] | None = None  # pytest collects no class with an __init__

    def test_takes_some_workload(self) -> None:
        """It takes every given workload, and some of the usual ones."""
        self._runs()

    def test_schedule_is_feasible(self) -> None:
        """No server is overfull, and tasks start once for their service."""
        for where, case, result in self._runs():
            jobs, schedule = _jobs_of(case, result), result.schedule
            assert schedule is not None
            problem = problem_of(jobs, case.servers.units, schedule.start, schedule.server, result.slots, schedule.end)
            require(problem is None, f"{where}: {problem}")

    def test_jobs_are_those_of_the_seed(self) -> None:
        """The policy does not change arrivals. Tasks start or wait."""
        for where, case, result in self._runs():
            jobs, schedule = _jobs_of(case, result), result.schedule
            assert schedule is not None
            arrived = int((jobs.arrival < result.slots).sum())
            require(result.arrived == arrived, f"{where}: {result.arrived} tasks arrive, and {arrived} of the seed's do")
            started = int((schedule.start >= 0).sum())
            require(result.started == started, f"{where}: {started} tasks have a start, and {result.started} were started")
            if jobs.phase is None and jobs.predecessors is None:
                count = result.started + result.waiting
                lost = f"{where}: {arrived} tasks arrive, and {count} have started or wait: some are lost, or double"
                require(count == arrived, lost)

    def test_queue_obeys_littles_law(self) -> None:
        """The measured queue adds up to the waiting of the tasks."""
        for where, case, result in self._runs():
            schedule, slots = result.schedule, result.slots
            assert schedule is not None
            total = waited(_jobs_of(case, result), schedule.start, schedule.end, slots)
            measured = round((result.mean_queue or 0.0) * slots)
            law = f"{where}: Little's law: the queue adds up to {measured}, and the tasks' waiting to {total}"
            require(measured == total, law)

    def test_same_seed_same_schedule(self) -> None:
        """Two runs with the same seed are equal."""
        for where, case, first in self._runs():
            second = _run(self._policy(), case, self.slots, self.seed, where)
            same = isinstance(second, Result) and first.schedule is not None and second.schedule is not None
            same = same and _equal(first.schedule, second.schedule) and first.mean_queue == second.mean_queue
            require(same, f"{where}: not deterministic: two runs with seed {first.seed} have different schedules")

    def test_every_task_starts(self) -> None:
        """Once no more tasks arrive, all start."""
        for where, case, _ in self._runs():
            long = _run(self._policy(), case.tabulated(self.seed, self.slots), TIMES * self.slots, self.seed, where)
            if isinstance(long, Result):
                never = long.arrived - long.started
                require(never == 0, f"{where}: {never} tasks never start, though none has arrived since slot {self.slots}")

    def test_paused_and_copied_runs_go_on_alike(self) -> None:
        """Paused, grown and copied runs start tasks as one run."""
        for where, case, _ in self._runs():
            _check_resumes(self._policy(), case.tabulated(self.seed, self.slots), self.slots, self.seed, where)

    def _policy(self) -> Any:
        require(self.policy is not None, f"{type(self).__name__}: set `policy` to an object, a class or a name")
        try:
            policy = find_policy(self.policy) if isinstance(self.policy, str) else self.policy
        except InputError as problem:
            raise AssertionError(str(problem)) from None
        return policy() if isinstance(policy, type) else policy

    def _runs(self) -> list[tuple[str, Workload, Result]]:
        """Return label, workload and result for each accepted workload."""
        from packenv.theory.capacity.max_workload import resolved  # brings the solver with it

        if self._results is None:
            subject, refusal, results = self._policy(), "", []
            for case in map(resolved, usual_workloads() if self.workloads is None else self.workloads):
                where = f"{name_of(subject)} on {case.name}"
                result = _run(subject, case, self.slots, self.seed, where)
                if isinstance(result, InputError):
                    require(self.workloads is None, f"{where}: refuses: {result}")
                    refusal = str(result)
                else:
                    results.append((where, case, result))
            require(bool(results), f"{name_of(subject)} refuses every workload: {refusal!r}; give one that it takes")
            self._results = results
        return self._results


def check_policy(policy: Any, workload: Workload | Sequence[Workload] | None = None, *, slots: int = 600, seed: int = 0) -> None:
    """Raise AssertionError, with one line, for a failed promise.

    policy     an object, or a name such as "vqs:J=5" or "my_module:MyPolicy:x=1"
    workload   one that it takes, or several; None: the usual ones
    slots      length of each run
    seed       seed of the jobs
    """
    tests = PolicyTests()
    tests.policy, tests.slots, tests.seed = policy, slots, seed
    tests.workloads = [workload] if isinstance(workload, Workload) else workload
    run_tests(tests)


def _run(policy: Any, workload: Workload, slots: int, seed: int, where: str) -> Any:
    """Return the result, or a refusal's InputError."""
    try:
        return simulate(workload, policy, slots, seed, warmup=0, schedule=True, drain=False)
    except MisuseError as problem:
        raise AssertionError(f"{where}: {problem}") from problem
    except InputError as problem:
        require("\n" not in str(problem), f"{where}: refuses in more than one line: {str(problem).splitlines()[0]}")
        return problem
    except Exception as problem:
        raise AssertionError(f"{where}: crashes: {type(problem).__name__}: {problem}") from problem


def _jobs_of(workload: Workload, result: Result) -> Jobs:
    """Draw the jobs of the run's seed again, unseen by policies."""
    fixed = workload.at(result.seed)
    return fixed.jobs if fixed.jobs is not None else fixed.jobs_table(result.seed, result.arrived + 1)


def _equal(first: Any, second: Any) -> bool:
    return np.array_equal(first.start, second.start) and np.array_equal(first.server, second.server)


def _check_resumes(policy: Any, table: Workload, slots: int, seed: int, where: str) -> None:
    complete = _run(policy, table, slots, seed, where)
    if isinstance(complete, InputError):
        return
    # pause and copy half-way, then run both to the end
    paused = _Paused(policy, table, seed)
    paused.advance(slots // 2)
    copied = copy.copy(paused)
    copied.cluster, copied.state = copy.deepcopy((paused.cluster, paused.state), paused.shared())
    copied.state = attached(policy, copied.cluster, copied.state)
    for run, what in ((paused, "paused and grown"), (copied, "copied half-way")):
        run.advance(slots)
        same = _equal(complete.schedule, run)
        require(same, f"{where}: a run that is {what} goes on differently: the policy has data outside its state")


class _Paused:
    """A run that stops every few slots."""

    def __init__(self, policy: Any, table: Workload, seed: int) -> None:
        assert table.jobs is not None
        setting = setting_of(table)
        self.policy, self.run = policy, runner_for(policy)
        needs, rows = needs_of(policy, setting), len(table.jobs)
        self.cluster = build(table.source([seed]), setting.capacity, needs, places=2, jobs=table.jobs, record_rows=rows)
        self.state = attached(policy, self.cluster, initial_state_of(policy, setting, seed))

    def shared(self) -> dict[int, Any]:
        """Return the constant parts that a copy may share."""
        c = self.cluster
        return {id(value): value for value in (c.source, c.capacity, c.scale)}

    def advance(self, until: int) -> None:
        reason = None
        while reason != FINISHED:
            reason = self.run(self.policy, self.cluster, self.state, until, STEPS)
            if reason == GROW:
                self.cluster = grow(self.cluster, self.cluster.task.shape[1] + 3)
                self.state = attached(self.policy, self.cluster, self.state)

    @property
    def start(self) -> Any:
        return self.cluster.measures.start[0]

    @property
    def server(self) -> Any:
        return self.cluster.measures.server[0]
