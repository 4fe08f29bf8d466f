"""The least number of equal servers with which a policy meets goals: bracketing, and paired runs on the same jobs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from packenv.errors import InputError
from packenv.planning.goals import Goal
from packenv.results.result import Result
from packenv.results.stability import UNSTABLE, Verdict, combine
from packenv.runs.chance import seeds_for
from packenv.runs.run import Run
from packenv.workloads.servers import MOST_SERVERS, Servers
from packenv.workloads.workload import Workload

STEPS = 100  # at most, from the number that the search found to the one that other seeds confirm


class NoneMeets(InputError):
    """No number of servers meets the goals with a policy."""


class Seen(NamedTuple):
    """What is taken of one run."""

    values: list[float | None]  # of each goal
    verdict: Verdict
    stopped: str | None
    max_queue: int


class Trial(NamedTuple):
    """One number of servers, with all seeds."""

    servers: int
    values: list[list[float | None]]  # of each goal, one for each seed
    stable: bool  # a stream: the verdict of all seeds together is not "unstable"; no run was stopped
    queued: bool  # whether a task ever waited for others in the last slot of any event
    met: list[bool]  # of each goal: by its mean over the seeds

    @property
    def meets(self) -> bool:
        return self.stable and all(self.met)


class Plan(NamedTuple):
    """The answer for one policy."""

    policy: str
    servers: int
    at: Trial  # with that number
    below: Trial | None  # with one server less, on the same seeds; None where no policy meets the goals with it
    tried: tuple[Trial, ...]  # all that the search looked at, by number of servers
    fresh: bool  # whether `at` and `below` are of seeds that the search did not use


class AskRuns(Protocol):
    """Makes runs side by side, and takes of each what a function says."""

    def __call__(self, runs: Sequence[Run], extract: Callable[[Workload, Result], Any]) -> list[Any]: ...


def seen(workload: Workload, result: Result, goals: Sequence[Goal]) -> Seen:
    """The `Extract` of a plan's runs."""
    return Seen([goal.value(result) for goal in goals], result.verdict, result.stopped, result.max_queue or 0)


def with_servers(workload: Workload, count: int) -> Workload:
    """The same work on so many servers like the first one."""
    servers = Servers(np.repeat(workload.servers.capacity[:1], count, axis=0))
    return workload.with_(servers=servers, **({} if workload.jobs is not None else {"rate": workload.rate}))


@dataclass(frozen=True)
class Search:
    """Tries numbers of servers with one policy. `slots`, `options`: of packenv.simulate."""

    workload: Workload
    policy: str
    goals: Sequence[Goal]
    seeds: int
    slots: int | None
    options: dict[str, Any]
    ask: AskRuns
    progress: Callable[[int], None] = lambda servers: None

    def run(self, bound: int) -> Plan:
        """Search from `bound` on, below which no policy meets the goals. Raises InputError if no number of servers does.

        More servers are taken to serve every goal but the utilisation. It goes up in steps that double until all others are
        met, halves the interval, and asks then for the utilisation too. Seeds that the search did not use confirm the answer, or
        move it by some servers.
        """
        tried: dict[int, Trial] = {}

        def enough(servers: int) -> bool:
            trial = tried[servers] = tried.get(servers) or self.trial(servers, self.first_seeds)
            of_goals = zip(trial.met, self.goals, strict=True)
            return trial.stable and all(met or goal.measure == "utilisation" for met, goal in of_goals)

        low, high, step = bound - 1, bound, max(1, bound // 16)
        while not enough(high):
            trial = tried[high]
            if trial.stable and not trial.queued:
                raise NoneMeets(self._never(trial, ", where no task waits,"))
            low, high, step = high, high + step, 2 * step
            if high > MOST_SERVERS:
                raise NoneMeets(self._never(trial, ", the most that were tried,"))
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        if not tried[high].meets:
            raise NoneMeets(self._never(tried[high], ", the fewest for the others,"))
        ordered = tuple(tried[servers] for servers in sorted(tried))
        if not self.fresh_seeds:
            return Plan(self.policy, high, tried[high], tried.get(high - 1), ordered, fresh=False)
        return self._confirmed(high, bound, ordered)

    def _confirmed(self, servers: int, bound: int, tried: tuple[Trial, ...]) -> Plan:
        fresh: dict[int, Trial] = {}

        def meets(count: int) -> bool:
            trial = fresh[count] = fresh.get(count) or self.trial(count, self.fresh_seeds)
            return trial.meets

        for _ in range(STEPS):
            if not meets(servers):
                servers += 1
            elif servers > bound and meets(servers - 1):
                servers -= 1
            else:
                return Plan(self.policy, servers, fresh[servers], fresh.get(servers - 1), tried, fresh=True)
        raise InputError(
            f"{self.policy}: near {servers:,} servers other seeds say otherwise again and again; give more --seeds or --slots"
        )

    @property
    def first_seeds(self) -> list[int]:
        return seeds_for(self.policy, self.workload, range(self.seeds))

    @property
    def fresh_seeds(self) -> list[int]:
        """As many others; none where neither the jobs nor the policy depend on the seed."""
        if len(seeds_for(self.policy, self.workload, range(2))) == 1:
            return []
        return [*range(self.seeds, 2 * self.seeds)]

    def trial(self, servers: int, seeds: Sequence[int]) -> Trial:
        """Run all seeds on so many servers."""
        self.progress(servers)
        workload = with_servers(self.workload, servers)
        runs = [Run(workload, self.policy, seed, self.slots, self.options) for seed in seeds]
        results: list[Seen] = self.ask(runs, partial(seen, goals=self.goals))
        values = [[result.values[n] for result in results] for n in range(len(self.goals))]
        stopped = any(result.stopped for result in results)
        unstable = self.workload.jobs is None and combine(result.verdict for result in results).kind == UNSTABLE
        met = [goal.met(mean_of(own)) for goal, own in zip(self.goals, values, strict=True)]
        return Trial(servers, values, not (stopped or unstable), any(result.max_queue > 0 for result in results), met)

    def _never(self, trial: Trial, why: str) -> str:
        shown = ((goal, mean_of(own)) for goal, own, met in zip(self.goals, trial.values, trial.met, strict=True) if not met)
        goal, value = next(iter(itertools.chain(shown, [(None, None)])))
        if goal is None:
            return f"{self.policy}: no number of servers will do: with {trial.servers:,}{why} it is unstable"
        found = "not known" if value is None else f"{value:,.4g}{' slots' if goal.is_time else ''}"
        with_these = f"with {trial.servers:,} servers{why} the {goal.title} is {found}"
        return f"{self.policy}: no number of servers meets {goal.text!r}: {with_these}"


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean over the seeds; None unless each has a value."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None
