"""The least number of equal servers with which a policy meets goals: bracketing, and paired runs on the same jobs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from packenv.errors import InputError
from packenv.planning.bracketing import least_from, least_up
from packenv.planning.goals import Goal
from packenv.planning.most_used import most_used
from packenv.policy import name_of
from packenv.results.result import Result
from packenv.results.stability import UNSTABLE, Verdict, combine
from packenv.runs.chance import seeds_for
from packenv.runs.run import Run
from packenv.workloads.servers import MOST_SERVERS, Servers
from packenv.workloads.workload import Workload


class NoneMeets(InputError):
    """No number of servers meets the goals with a policy."""


class Seen(NamedTuple):
    """What is taken of one run."""

    values: list[float | None]  # of each goal
    verdict: Verdict
    stopped: str | None
    max_queue: int
    mean_queue: float | None = None

    def plain(self) -> dict[str, Any]:
        """In JSON's types."""
        return self._asdict() | {"verdict": list(self.verdict)}

    @classmethod
    def from_plain(cls, plain: Any) -> Seen:
        """Read what `plain` made. ValueError, KeyError or TypeError for anything else."""
        return cls(**plain | {"verdict": Verdict(*plain["verdict"])})


class Trial(NamedTuple):
    """One number of servers, with all seeds."""

    servers: int
    values: list[list[float | None]]  # of each goal, one for each seed
    stable: bool  # a stream: the verdict of all seeds together is not "unstable"; no run was stopped
    queued: bool  # whether a task ever waited for others in the last slot of any event
    met: list[bool]  # of each goal: by its mean over the seeds
    mean_queues: tuple[float | None, ...] = ()  # of each seed

    @property
    def meets(self) -> bool:
        return self.stable and all(self.met)

    def same_queue(self, other: Trial) -> bool:
        """Whether the mean queue is known and the same to the last digit, seed by seed."""
        return bool(self.mean_queues) and None not in self.mean_queues and self.mean_queues == other.mean_queues


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
    return Seen([goal.value(result) for goal in goals], result.verdict, result.stopped, result.max_queue or 0, result.mean_queue)


def with_servers(workload: Workload, count: int) -> Workload:
    """The same work on so many servers like the first one."""
    servers = Servers(np.repeat(workload.servers.capacity[:1], count, axis=0))
    return workload.with_(servers=servers, **({} if workload.jobs is not None else {"rate": workload.rate}))


@dataclass(frozen=True)
class Search:
    """What is tried with one policy. `slots`, `options`: of packenv.simulate."""

    workload: Workload
    policy: str | Any
    goals: Sequence[Goal]
    seeds: int
    slots: int | None
    options: dict[str, Any]

    def run(self, bound: int, ask: AskRuns, progress: Callable[[int], None] = lambda servers: None) -> Plan:
        """Search from `bound` on, below which no policy meets the goals. Raises NoneMeets if no number of servers does.

        More servers are taken to serve every goal but the utilisation. It goes up in steps that double until all others are
        met, halves the interval, and asks then for the utilisation too. Seeds that the search did not use confirm the answer, or
        move it by some servers. `progress` is told each number of servers that is tried.
        """

        def at(servers: int, seeds: Sequence[int]) -> Trial:
            progress(servers)
            return self.trial(servers, seeds, ask)

        tried = self._least(bound, lambda servers: at(servers, self.seeds_of(range(self.seeds))))
        servers = min(trial.servers for trial in tried if self.enough(trial))
        by_number = {trial.servers: trial for trial in tried}
        if not by_number[servers].meets:
            raise NoneMeets(self.never(by_number[servers], ", the fewest for the others,"))
        if len(self.seeds_of(range(2))) == 1:  # neither the jobs nor the policy depend on it
            return Plan(self.name, servers, by_number[servers], by_number.get(servers - 1), tried, fresh=False)
        fresh = self._confirmed(servers, bound, lambda count: at(count, range(self.seeds, 2 * self.seeds)))
        return Plan(self.name, fresh[1].servers, fresh[1], fresh[0], tried, fresh=True)

    def of(self, workload: Workload) -> Search:
        """The same search for another workload."""
        return replace(self, workload=workload)

    @property
    def name(self) -> str:
        return self.policy if isinstance(self.policy, str) else name_of(self.policy)

    @property
    def most(self) -> int:
        """The most servers that are tried: one for each task of a table."""
        return MOST_SERVERS if self.workload.jobs is None else min(MOST_SERVERS, len(self.workload.jobs))

    @property
    def said_of_most(self) -> str:
        one_each = self.workload.jobs is not None and len(self.workload.jobs) <= MOST_SERVERS
        return ", one for each task," if one_each else ", the most that were tried,"

    def seeds_of(self, seeds: range) -> list[int]:
        return seeds_for(self.policy, self.workload, seeds)

    def enough(self, trial: Trial) -> bool:
        of_goals = zip(trial.met, self.goals, strict=True)
        return trial.stable and all(met or goal.measure == "utilisation" for met, goal in of_goals)

    def _least(self, bound: int, at: Callable[[int], Trial]) -> tuple[Trial, ...]:
        """All trials, by number of servers: the least number that is enough, and one less unless that is below the bound."""
        used = most_used(self.workload, self.goals)
        if bound > used:
            raise NoneMeets(f"{self.name}: no number of servers will do: at least {bound:,} are needed, {said_of_used(used)}")
        tried = _Tried(self, at, used)
        least_up(bound, tried.most, tried.enough, tried.check)
        return tuple(tried.trials[servers] for servers in sorted(tried.trials))

    def _confirmed(self, servers: int, bound: int, at: Callable[[int], Trial]) -> tuple[Trial | None, Trial]:
        """The nearest number from `servers` that is enough while one less is not, after the trial of that."""
        tried = _Tried(self, at, most_used(self.workload, self.goals))
        found = least_from(servers, bound, tried.most, tried.enough, tried.check)
        if not tried.trials[found].meets:
            raise NoneMeets(self.never(tried.trials[found], ", the fewest for the others with other seeds,"))
        return tried.trials.get(found - 1), tried.trials[found]

    def least_near(self, servers: int, bound: int, seeds: Sequence[int], ask: AskRuns) -> int:
        """The least number that is enough with these seeds, looked for from `servers` on; at least `bound`. Raises NoneMeets."""
        tried = _Tried(self, lambda count: self.trial(count, seeds, ask), None)
        return least_from(servers, bound, tried.most, tried.enough, tried.check)

    def why_hopeless(self, trial: Trial, halves: Iterable[Trial]) -> str | None:
        """Why no larger number is enough if this one is not, for `never`; None where one may be.

        halves  trials of at most half as many servers: what waits with twice as many as with them does not wait for servers
        """
        if trial.stable and not trial.queued:
            return ", where no task waits,"
        same = next((half for half in halves if trial.stable and half.stable and trial.same_queue(half)), None)
        if same is not None:
            return f", whose queue is that of {same.servers:,},"
        return None

    def unused(self, trial: Trial) -> bool:
        """Whether a goal on the utilisation is broken."""
        return any(goal.measure == "utilisation" and not met for goal, met in zip(self.goals, trial.met, strict=True))

    def trial(self, servers: int, seeds: Sequence[int], ask: AskRuns) -> Trial:
        """Run all seeds on so many servers."""
        return self.trial_on(with_servers(self.workload, servers), seeds, ask)

    def trial_on(self, workload: Workload, seeds: Sequence[int], ask: AskRuns) -> Trial:
        """Run all seeds on the workload's own servers."""
        runs = [Run(workload, self.policy, seed, self.slots, self.options) for seed in seeds]
        results: list[Seen] = ask(runs, partial(seen, goals=self.goals))
        values = [[result.values[n] for result in results] for n in range(len(self.goals))]
        stopped = any(result.stopped for result in results)
        unstable = self.workload.jobs is None and combine(result.verdict for result in results).kind == UNSTABLE
        met = [goal.met(mean_of(own)) for goal, own in zip(self.goals, values, strict=True)]
        queued = any(result.max_queue > 0 for result in results)
        queues = tuple(result.mean_queue for result in results)
        return Trial(len(workload.servers), values, not (stopped or unstable), queued, met, queues)

    def never(self, trial: Trial, why: str) -> str:
        shown = ((goal, mean_of(own)) for goal, own, met in zip(self.goals, trial.values, trial.met, strict=True) if not met)
        goal, value = next(iter(itertools.chain(shown, [(None, None)])))
        if goal is None:
            return f"{self.name}: no number of servers will do: with {trial.servers:,} servers{why} it is unstable"
        found = "not known" if value is None else f"{value:,.4g}{' slots' if goal.is_time else ''}"
        with_these = f"with {trial.servers:,} servers{why} the {goal.title} is {found}"
        return f"{self.name}: no number of servers meets {goal.text!r}: {with_these}"


class _Tried:
    """What was tried with the same seeds, by number of servers.

    used  with how many servers at most the tasks can use them as a goal asks for; None: the utilisation does not matter
    """

    def __init__(self, search: Search, at: Callable[[int], Trial], used: int | None) -> None:
        self.search, self.at, self.used = search, at, used
        self.most = search.most if used is None else min(search.most, used)
        self.trials: dict[int, Trial] = {}

    def enough(self, servers: int) -> bool:
        if servers not in self.trials:
            self.trials[servers] = self.at(servers)
        return self.search.enough(self.trials[servers])

    def check(self, servers: int) -> None:
        """Raise NoneMeets if these servers are not enough and more of them cannot be."""
        trial, search = self.trials[servers], self.search
        why = search.why_hopeless(trial, (half for half in self.trials.values() if 2 * half.servers <= servers))
        if why is not None:
            raise NoneMeets(search.never(trial, why))
        if self.used is not None and servers >= self.used < search.most:
            raise NoneMeets(f"{search.never(trial, '')}, {said_of_used(self.used)}")
        if self.used is not None and search.workload.jobs is None and trial.stable and search.unused(trial):
            raise NoneMeets(search.never(trial, ", of which more would be used too little,"))
        if servers >= search.most:
            raise NoneMeets(search.never(trial, search.said_of_most))


def said_of_used(used: int) -> str:
    return f"and more than {used:,} are used too little under every policy"


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean over the seeds; None unless each has a value."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None
