"""The least number of equal servers with which a policy meets goals.

The search brackets the number, and pairs runs on the same jobs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from packenv.content.text import counted, number, sentences
from packenv.errors import InputError
from packenv.planning.goals import Goal
from packenv.planning.kinds import on_servers
from packenv.planning.trials import AskRuns, RunValues, Trial, is_met, mean_of, run_values
from packenv.policy import name_of
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE, combine
from packenv.runs.run import Run, seeds_for
from packenv.runs.statistics import DOUBT, delay_quantile, doubt_at
from packenv.workloads.demand import fitting
from packenv.workloads.servers import MOST_SERVERS
from packenv.workloads.workload import Workload

MOST_TASKS, MOST_TIMES = 20_000_000, 12
"""Limit on additional runs while noise leaves an answer open: tasks, or multiples of the seeds, whichever is more."""

CLOSE = 1e-9  # for floats
MOST_TRIED = f"More than {MOST_SERVERS:,} servers are not tried."

NEVER = (
    {
        "added": "{policy}: no number of added servers of capacity {added} meets {goal!r}.",
        "goal": "{policy}: no number of servers meets {goal!r}.",
        "": "{policy}: no number of servers keeps the queue stable.",
    },
    {
        "stopped": "With {servers} {stopped}.",
        "goal": "With {servers} the {title} is {value}.",
        "": "With {servers} the queue grows without end.",
    },
    {"reason": "{reason}"},
    {"used": "More than {used:,} are used too little under every policy."},
    {"large": "{large} only existing servers, and others may wait behind them: try a larger kind."},
)
CONTRADICTION = (
    {"": "{policy}: no number of servers meets all goals."},
    {"exist": "{exist:,} exist.", "more": "At least {more:,} more are needed.", "": "At least {bound:,} are needed."},
    {"": "More than {used:,} are used too little under every policy."},
)

Enough = Callable[[int], bool]
Check = Callable[[int], None]
"""Called with a number that is not enough. Raises if no larger one is."""


class NoneMeets(InputError):
    """No number of servers meets the goals with a policy."""


class Plan(NamedTuple):
    """The answer for one policy."""

    policy: str
    servers: int
    at: Trial  # with `servers`
    below: Trial | None  # with one server less, on the same seeds; None where no policy meets the goals with it
    trials: tuple[Trial, ...]  # all that the search looked at, by number of servers
    fresh: bool  # whether `at` and `below` are of seeds that the search did not use
    between: tuple[int, int] | None = None  # range of the least number if noise leaves it open


def with_servers(workload: Workload, count: int, there: int = 0) -> Workload:
    """Return the work on the first `there` servers and others like the next."""
    return on_servers(workload, workload.servers.only(np.minimum(np.arange(count), there)))


@dataclass(frozen=True)
class Search:
    """The search with one policy.

    slots, options  of packenv.simulate
    there           number of the workload's first servers that exist anyway, and count. All others are like the next one
    """

    workload: Workload
    policy: str | Any
    goals: Sequence[Goal]
    seeds: int
    slots: int | None
    options: dict[str, Any]
    there: int = 0

    def run(self, bound: int, ask: AskRuns, progress: Callable[[int], None] = lambda servers: None) -> Plan:
        """Search from `bound` on, below which no policy meets the goals.

        More servers are assumed to help every goal except the utilisation. The search doubles its steps until all others are
        met, halves the interval, then checks the utilisation. Seeds that the search did not use confirm the answer, or move it
        by some servers. They double while noise leaves a goal open (`decided`). `progress` is called with each number of
        servers. Raises NoneMeets if no number of servers meets the goals.
        """

        def first(servers: int) -> Trial:
            progress(servers)
            return self.trial(servers, self.seeds_of(range(self.seeds)), ask)

        trials = self._least(bound, first)
        servers = min(trial.servers for trial in trials if self.enough(trial))
        by_number = {trial.servers: trial for trial in trials}
        if self.underused(by_number[servers]):
            raise NoneMeets(self.never(by_number[servers], "Fewer servers miss other goals."))
        if not self.by_chance:
            return Plan(self.name, servers, by_number[servers], by_number.get(servers - 1), trials, fresh=False)
        budget = self.budget()

        def again(servers: int) -> Trial:
            progress(servers)
            return self.decided(with_servers(self.workload, servers, self.there), ask, budget)

        return self._confirmed(servers, bound, again, trials)

    def of(self, workload: Workload) -> Search:
        """Return the same search for another workload."""
        return replace(self, workload=workload)

    @property
    def name(self) -> str:
        return self.policy if isinstance(self.policy, str) else name_of(self.policy)

    @property
    def most(self) -> int:
        """Largest number of servers tried: one more for each task of a table."""
        return MOST_SERVERS if self.workload.jobs is None else min(MOST_SERVERS, self.there + len(self.workload.jobs))

    def seeds_of(self, seeds: range) -> list[int]:
        return seeds_for(self.policy, self.workload, seeds)

    @cached_property
    def by_chance(self) -> bool:
        """Whether the jobs or the policy depend on the seed."""
        return len(self.seeds_of(range(2))) > 1

    def budget(self) -> Budget:
        """Return the budget of runs for goals that noise leaves open."""
        jobs = self.workload.jobs
        tasks = self.workload.rate * (self.slots or 1) if jobs is None else len(jobs)
        return Budget(max(MOST_TIMES * self.seeds, int(MOST_TASKS / max(tasks, 1))))

    def enough(self, trial: Trial) -> bool:
        of_goals = zip(trial.met, self.goals, strict=True)
        return trial.stable and all(met or goal.measure == "utilisation" for met, goal in of_goals)

    def open(self, trial: Trial, of_all: bool = False) -> bool:
        """Return whether noise leaves the goals open (`of_all`: the utilisation too)."""
        decided = [met for met, goal in zip(trial.decided, self.goals, strict=True) if goal.measure != "utilisation"]
        return trial.stable and False not in decided and None in (trial.decided if of_all else decided)

    def _least(self, bound: int, at: Callable[[int], Trial]) -> tuple[Trial, ...]:
        """Return all trials, by number of servers.

        They include the least number that is enough, and one less unless that is below the bound.
        """
        used = most_used(self.workload, self.goals, self.there)
        if bound > used:
            facts = {"exist": self.there == bound and bound, "more": self.there and bound - self.there, "bound": bound}
            raise NoneMeets(sentences(CONTRADICTION, {"policy": self.name, "used": used} | facts))
        cache = _TrialCache(self, at, used)
        least_up(bound, cache.most, cache.enough, cache.check)
        return tuple(cache.trials[servers] for servers in sorted(cache.trials))

    def _confirmed(self, servers: int, bound: int, at: Callable[[int], Trial], searched: tuple[Trial, ...]) -> Plan:
        """Return the plan on new seeds, near `servers`.

        The number is the nearest that is enough while one less is not. If noise leaves that open, `between` ranges from one
        above the next lower decided number to the next higher decided one. Both are found in doubling steps.
        """
        cache = _TrialCache(self, at, most_used(self.workload, self.goals, self.there))
        least = least_from(servers, bound, cache.most, cache.enough, cache.check)
        trials = cache.trials
        if not trials[least].meets:
            raise NoneMeets(self.never(trials[least], "Fewer servers miss other goals, with other seeds."))
        # Move both ends outwards until noise leaves neither open.
        low, high, step = least - 1, least, 1
        while low >= bound and (cache.enough(low) or self.open(trials[low])):
            low, step = low - step, 2 * step
        step = 1
        while high < cache.most and (not cache.enough(high) or self.open(trials[high])):
            high, step = min(high + step, cache.most), 2 * step
        between = None if high == max(low + 1, bound) else (max(low + 1, bound), high)
        return Plan(self.name, least, trials[least], trials.get(least - 1), searched, True, between)

    def least_near(self, servers: int, bound: int, seeds: Sequence[int], ask: AskRuns) -> int:
        """Return the least number with these seeds, near `servers`. Raises NoneMeets."""
        cache = _TrialCache(self, lambda count: self.trial(count, seeds, ask), None)
        return least_from(servers, bound, cache.most, cache.enough, cache.check)

    def why_hopeless(self, trial: Trial, halves: Iterable[Trial]) -> str | None:
        """Return why no larger number is enough, None if one may be.

        `halves`: trials of at most half the servers. If the queue is the same, tasks wait for something other than servers.
        """
        if trial.stable and not trial.queued:
            return "No task waits."
        same = next((half for half in halves if trial.stable and half.stable and trial.same_queue(half)), None)
        return None if same is None else f"The queue is the same with {counted(same.servers, 'server')}."

    def underused(self, trial: Trial) -> bool:
        """Return whether a goal on the utilisation is certainly missed."""
        return any(goal.measure == "utilisation" and met is False for goal, met in zip(self.goals, trial.decided, strict=True))

    def trial(self, servers: int, seeds: Sequence[int], ask: AskRuns) -> Trial:
        """Run all seeds on `servers` servers in total."""
        return self.trial_on(with_servers(self.workload, servers, self.there), seeds, ask)

    def trial_on(self, workload: Workload, seeds: Sequence[int], ask: AskRuns) -> Trial:
        """Run all seeds on the workload's servers."""
        return self._trial_of(workload, self._runs(workload, seeds, ask), DOUBT)

    def decided(self, workload: Workload, ask: AskRuns, budget: Budget) -> Trial:
        """Run new seeds, and double them until no goal is open.

        Starts with the search's number of seeds, none of them its own, and stops when the budget is used up.
        """
        seeds = self.seeds_of(range(self.seeds, 2 * self.seeds))
        runs = self._runs(workload, seeds, ask)
        for look in itertools.count(1):
            trial = self._trial_of(workload, runs, doubt_at(look))
            if not (self.open(trial, of_all=True) and budget.spend(len(runs))):
                break
            more = range(self.seeds + len(runs), self.seeds + 2 * len(runs))
            runs = [*runs, *self._runs(workload, more, ask)]
        return trial

    def _runs(self, workload: Workload, seeds: Sequence[int], ask: AskRuns) -> list[RunValues]:
        runs = [Run(workload, self.policy, seed, self.slots, self.options) for seed in seeds]
        of_runs: list[RunValues] = ask(runs, partial(run_values, goals=self.goals))
        return of_runs

    def _trial_of(self, workload: Workload, runs: Sequence[RunValues], doubt: float) -> Trial:
        # Measures: quantiles over the waits of all runs pooled, other goals as means over the seeds.
        values = [[run.values[n] for run in runs] for n in range(len(self.goals))]
        delays = [run.delays for run in runs if run.delays is not None]
        shares = [goal.pooled if len(delays) == len(runs) else None for goal in self.goals]
        pooled = tuple(None if share is None else delay_quantile(delays, float(share)) for share in shares)
        stopped = next((run.stopped for run in runs if run.stopped), None)
        verdict = STABLE if self.workload.jobs is not None else combine(run.verdict for run in runs).kind
        means = [mean_of(of_goal) if of is None else of.mean for of_goal, of in zip(values, pooled, strict=True)]
        # Goals met by the mean, and goals decided beyond noise.
        met = [goal.met(mean) for goal, mean in zip(self.goals, means, strict=True)]
        decided: tuple[bool | None, ...] = tuple(met)
        if self.by_chance:
            pairs = zip(self.goals, values, strict=True)
            decided = tuple(is_met(goal, of_goal, delays, doubt) for goal, of_goal in pairs)
        queued = any(run.max_queue > 0 for run in runs)
        queues = tuple(run.mean_queue for run in runs)
        stable, settled = stopped is None and verdict != UNSTABLE, verdict != UNDECIDED
        return Trial(len(workload.servers), values, stable, queued, met, queues, pooled, decided, settled, stopped)

    def never(self, trial: Trial, reason: str, used: int | None = None) -> str:
        """Return that no number of servers meets the goals, by a trial and a reason."""
        missed = ((goal, trial.value(n)) for n, goal in enumerate(self.goals) if not trial.met[n])
        goal, value = next(missed, (None, None))
        facts = {"policy": self.name, "servers": counted(trial.servers, "server"), "stopped": trial.stopped}
        if goal is not None:
            slot = self.workload.slot_seconds
            measured = "not known" if value is None else f"{number(value * goal.scale(slot), 4)}{goal.unit(slot)}"
            facts |= {"goal": goal.text, "title": goal.title, "value": measured, **self._added}
        return sentences(NEVER, facts | {"reason": reason, "used": used})

    @property
    def _added(self) -> dict[str, str]:
        """Capacity of added servers, and the tasks that are too large for them."""
        if not self.there:
            return {}
        jobs, servers = self.workload.jobs, self.workload.servers.only([self.there])
        count = 0 if jobs is None else int(np.count_nonzero(~fitting(jobs.scaled(servers.scale), servers)))
        tasks = counted(0 if jobs is None else len(jobs), "task")
        large = f"{count:,} of {tasks} {'fits' if count == 1 else 'fit'}" if count else ""
        return {"added": str(servers).replace("1x", "", 1), "large": large}


class _TrialCache:
    """The trials with the same seeds, by number of servers.

    used  largest number of servers that the goal on the utilisation allows. None: it does not matter
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
        """Raise NoneMeets if these are not enough and more cannot be."""
        trial, search = self.trials[servers], self.search
        why = search.why_hopeless(trial, (half for half in self.trials.values() if 2 * half.servers <= servers))
        if why is not None:
            raise NoneMeets(search.never(trial, why))
        if self.used is not None and servers >= self.used < search.most:
            raise NoneMeets(search.never(trial, "", self.used))
        if self.used is not None and search.workload.jobs is None and trial.stable and search.underused(trial):
            raise NoneMeets(search.never(trial, "More servers would be used too little."))
        if servers >= search.most:
            one_each = search.most < MOST_SERVERS
            more = "more server" if search.there else "server"
            raise NoneMeets(search.never(trial, f"That is one {more} for each task." if one_each else MOST_TRIED))


class Budget:
    """Number of additional runs allowed."""

    def __init__(self, runs: int) -> None:
        self.runs = runs

    def spend(self, runs: int) -> bool:
        """Take `runs` runs from the budget, return whether there were enough."""
        enough = runs <= self.runs
        self.runs -= runs if enough else 0
        return enough


def most_used(workload: Workload, goals: Sequence[Goal], there: int = 0) -> int:
    """Return the most servers that meet a goal on the utilisation.

    `there`: see `with_servers`. MOST_SERVERS without such a goal. The work of a table, Σ demand · service, takes at least
    until its last task would end if none waited.
    """
    limit = max((goal.limit for goal in goals if goal.measure == "utilisation"), default=0.0)
    jobs = workload.jobs
    if jobs is None or limit == 0:
        return MOST_SERVERS
    work = (jobs.demand * jobs.service[:, None].astype(np.float64)).sum(axis=0)  # (D,)
    span, units = float((jobs.arrival + jobs.service).max()), workload.servers.units
    # Room of the existing servers, and of each additional one, over that time.
    held, more = units[:there].sum(axis=0) * span, units[there] * span
    most = work / limit * (1 + CLOSE)  # the room of which these are used well enough
    if ((more == 0) & (held > 0) & (most >= held)).any():
        return MOST_SERVERS
    used = ((most - held)[more > 0] / more[more > 0]).max()
    return min(MOST_SERVERS, there + max(-1, math.floor(used)))


def least_up(bound: int, most: int, enough: Enough, check: Check) -> int:
    """Return a number of `bound` to `most` that is enough while one less is not.

    Or `bound`. Both numbers have been tried. `check` must raise for `most`.
    """
    low, high, step = bound - 1, bound, max(1, bound // 16)
    while not enough(high):
        check(high)
        low, high, step = high, min(high + step, most), 2 * step
    return _halved(low, high, enough)


def least_from(start: int, bound: int, most: int, enough: Enough, check: Check) -> int:
    """Return the nearest such number (`least_up`) from `start` on, up or down."""
    step = 1
    if enough(start):
        high, low = start, start - 1
        while low >= bound and enough(low):
            step *= 2
            high, low = low, low - step
        return _halved(max(low, bound - 1), high, enough)
    check(start)
    low, high = start, min(start + 1, most)
    while not enough(high):
        check(high)
        step *= 2
        low, high = high, min(high + step, most)
    return _halved(low, high, enough)


def _halved(low: int, high: int, enough: Enough) -> int:
    """Return the least number that is enough, in (low, high]."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
