"""Nodes to add or remove for goals, and failing nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from packenv import Workload
from packenv.extend import NoneMeets, Trial, counted, least_from, mean_of
from packenv_kubernetes.changed import NodeKind, changed, with_unfit, without_nodes
from packenv_kubernetes.cluster import Cluster
from packenv_kubernetes.planning.queue import NEVER, QueueGoal, QueueRuns, Times
from packenv_kubernetes.planning.wait_bound import WaitBound
from packenv_kubernetes.started import Started
from packenv_kubernetes.texts import some


class Added(NamedTuple):
    """The answer for one policy, with trials on new seeds."""

    policy: str
    number: int  # nodes to add; below 0: nodes that can be taken away
    at: Trial  # with that number
    below: Trial | None  # with one less, on the same seeds; None if that leaves no node, or no node like these
    trials: tuple[tuple[int, Trial], ...]  # numbers that the search looked at


@dataclass(frozen=True)
class AddedNodes:
    """More or fewer nodes of one kind. `seeds` search, others confirm."""

    cluster: Cluster
    kind: NodeKind
    seeds: int

    @property
    def fewest(self) -> int:
        """Least number to leave a node, below 0."""
        like = int(self.kind.is_on(self.cluster).sum())
        return -min(like, len(self.cluster.nodes) - 1)

    @property
    def most(self) -> int:
        """Largest number tried: one for each waiting pod."""
        return max(len(with_unfit(self.cluster, self.kind).waiting), 1)

    def bound(self, goals: Sequence[QueueGoal], workload: Callable[[Cluster], Workload]) -> int:
        """Return a lower bound on sufficient nodes, for the confirming seeds."""

        def may_be(count: int) -> bool:
            candidate = changed(self.cluster, self.kind, count)
            if candidate.stranded:
                return candidate.undecided
            if not candidate.waiting and not candidate.again:
                return True
            its_workload = workload(candidate)
            sums = [0.0] * len(goals)
            for seed in self.fresh:  # waits are not below 0: most numbers are ruled out by the first seeds
                bound = WaitBound(its_workload, seed)
                for n, goal in enumerate(goals):
                    least = bound.least(goal)
                    if least is None:
                        return False
                    sums[n] += least
                    if not goal.met(sums[n] / self.seeds):
                        return False
            return True

        # Double the step from today's number, then halve the interval.
        low, high = self.fewest - 1, self.most
        if may_be(0):
            high = 0
        else:
            low, step = 0, 1
            while low + step < high and not may_be(low + step):
                low, step = low + step, 2 * step
            high = min(low + step, high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if may_be(middle) else (middle, high)
        return high

    @property
    def fresh(self) -> range:
        """Confirming seeds."""
        return range(self.seeds, 2 * self.seeds)

    def least(self, runs: QueueRuns, bound: int, say: Callable[[str], None]) -> Added:
        """Return the least number, at least `bound`, to meet the goals.

        Searches from the current cluster in doubling steps, then halves. New seeds confirm or change the number. Raises NoneMeets
        if none does.
        """

        def search(seeds: range) -> dict[int, Trial]:
            trials: dict[int, Trial] = {}

            def enough(number: int) -> bool:
                if number not in trials:
                    say(f"{number:+,} nodes")
                    trials[number] = self._trial(runs, number, seeds, whole=number >= self.most or seeds == self.fresh)
                return trials[number].meets

            def check(number: int) -> None:
                if number >= self.most:
                    raise NoneMeets(self._never(runs, trials))

            starts.append(least_from(starts[-1], bound, self.most, enough, check))
            return trials

        starts = [max(0, bound)]
        searched = search(range(self.seeds))
        fresh = search(self.fresh)
        number = starts[-1]
        if number - 1 not in fresh and number > self.fewest:  # not tried, as the bound rules it out
            fresh[number - 1] = self._trial(runs, number - 1, self.fresh)
        return Added(runs.policy, number, fresh[number], fresh.get(number - 1), tuple(sorted(searched.items())))

    def _trial(self, runs: QueueRuns, number: int, seeds: range, whole: bool = True) -> Trial:
        """Return a trial (`whole`: of all seeds), unmeasured if pods cannot start."""
        cluster = changed(self.cluster, self.kind, number)
        if cluster.stranded:
            return Trial(len(cluster.nodes), [[None]] * len(runs.goals), stable=True, queued=True, met=[False] * len(runs.goals))

        def hopeless(times: list[Times]) -> bool:
            """Return whether these runs alone make the mean too large."""
            pairs = zip(runs.goals, runs.values(times), strict=True)
            return any(
                None in values or not goal.met(sum(value or 0.0 for value in values) / len(seeds)) for goal, values in pairs
            )

        return runs.trial(cluster, runs.times(cluster, seeds, None if whole else hopeless))

    def _never(self, runs: QueueRuns, trials: dict[int, Trial]) -> str:
        """Return the first goal missed with the most nodes tried."""
        most = max(trials)
        trial = trials[most]
        goal, values = next(
            (goal, values) for goal, values, met in zip(runs.goals, trial.values, trial.met, strict=True) if not met
        )
        value = mean_of(values)
        measured = "never: not all pods start" if value is None else f"{value * runs.slot_seconds:,.4g} s"
        with_these = f"with {counted(most, 'more node')}, one for each pod, the {goal.title} is {measured}"
        line = f"{runs.policy}: no number of nodes like {self.kind.name} meets {goal.text!r}: {with_these}"
        if len(names := self._not_on_such_nodes(runs, goal, most)) == 0:
            return line
        verb = "do" if len(names) > 1 else "does"
        return f"{line}; {some(names)} {verb} not go on such a node: --add with one of another kind"

    def _not_on_such_nodes(self, runs: QueueRuns, goal: QueueGoal, most: int) -> list[str]:
        """Return pods that miss the goal with the `most` nodes, as they do not fit new ones."""
        new = without_nodes(changed(self.cluster, self.kind, 1), self.cluster.nodes)
        cluster = changed(self.cluster, self.kind, most)
        (times,) = runs.times(cluster, self.fresh[:1])
        late = np.flatnonzero((times.wait if goal.measure == "wait" else times.end)[: len(cluster.waiting)] > goal.limit).tolist()
        pods = [cluster.waiting[n] for n in late]
        fits = new.fitting_alone(pods, cluster.demand[late])
        return [pod.name for pod, fit in zip(pods, fits, strict=True) if not fit]


class FailedNodes(NamedTuple):
    """A policy with and without nodes. Measures are of waiting and restarted pods."""

    policy: str
    whole: Trial  # with all nodes: pods that run wait for nothing
    left: Trial  # without those that fail
    never: tuple[str, ...]  # pods that wait for ever with all nodes, in some draw
    later: tuple[list[float | None], list[float | None]]
    """Mean delay in slots of waiting pods, and of pods that start again, seed by seed. None: some never start."""

    def change(self, n: int) -> list[float | None]:
        """Return the growth of goal n's measure by seed, or None."""
        pairs = zip(self.whole.values[n], self.left.values[n], strict=True)
        return [None if whole is None or left is None else left - whole for whole, left in pairs]


def compare_nodes(runs: QueueRuns, cluster: Cluster, names: Sequence[str], seeds: Sequence[int]) -> FailedNodes:
    """Run a policy on the cluster, and without these nodes.

    Pods without a remaining node are in neither's measures. Goals also count waiting pods without a node, and so wait for ever.
    """
    left = without_nodes(cluster, names)
    queue = runs.times(cluster, seeds)
    before, after = _as_it_is(runs, queue, left, seeds), runs.times(left, seeds)
    slots = np.full(len(cluster.unfit), NEVER)
    unfit = Times(slots, slots, np.array([bool(runs.service) and not pod.endless for pod in cluster.unfit], np.bool_))
    again = slice(len(left.waiting), None)

    def met(times: Sequence[Times]) -> list[bool]:
        values = runs.values([of_run.joined(unfit) for of_run in times])
        return [goal.met(mean_of(of_goal)) for goal, of_goal in zip(runs.goals, values, strict=True)]

    every = [times.joined(both.only(again)) for times, both in zip(queue, before, strict=True)]
    whole = Trial(len(cluster.nodes), runs.values(before), stable=True, queued=False, met=met(every))
    trial = runs.trial(left, after)
    trial = trial._replace(met=[a and b for a, b in zip(trial.met, met(after), strict=True)])
    never = [pod.name for n, pod in enumerate(cluster.waiting) if any(times.wait[n] == NEVER for times in queue)]
    never += [pod.name for pod in cluster.unfit]
    later = [[_later(a, b, rows) for a, b in zip(before, after, strict=True)] for rows in (slice(len(left.waiting)), again)]
    return FailedNodes(runs.policy, whole, trial, tuple(never), (later[0], later[1]))


def _as_it_is(runs: QueueRuns, queue: Sequence[Times], left: Cluster, seeds: Sequence[int]) -> list[Times]:
    """Return the same pods' times with all nodes. `queue`: of waiting pods."""
    whole = [times.only(left.row) for times in queue]
    if not left.again:
        return whole
    started, again = runs.workload(left).draw, [*left.again]
    assert isinstance(started, Started)
    now, ends = np.zeros(len(again), np.int64), ~started.running_endless[again] & bool(started.services)
    begun = [Times(now, started.remaining(seed)[again], ends) for seed in seeds]
    return [a.joined(b) for a, b in zip(whole, begun, strict=True)]


def _later(before: Times, after: Times, rows: slice) -> float | None:
    first, second = before.wait[rows], after.wait[rows]
    if len(first) == 0 or NEVER in first or NEVER in second:
        return None
    return float((second - first).mean())
