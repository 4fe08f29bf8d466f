"""Which policies run on which workloads, and their runs on the same jobs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from packenv.api import simulate
from packenv.cli.leaderboard.contests import Contest
from packenv.errors import InputError
from packenv.policy import find_policy
from packenv.results.stability import Verdict, combine
from packenv.runs.chance import seeds_for
from packenv.runs.comparison import DEFAULT_POLICIES
from packenv.runs.keys import keys_of
from packenv.runs.log import RunLog
from packenv.runs.measured import Measured
from packenv.runs.measures import COMPLETION, MORE, Measure
from packenv.runs.progress import announce_if_slow
from packenv.runs.run import Run, runs_of
from packenv.runs.runner import RunOptions, RunsFailed
from packenv.runs.statistics import UNKNOWN, Interval, interval, ratio_of_means
from packenv.theory.completion.bound import completion_bound
from packenv.theory.stability.judge import Judgment

REFERENCE = "bf-js"  # for mean queues
BEST = "best"
"""Stands for the policy with the best mean of the measure, as a reference."""

JOB_POLICIES = ("tetris", "tetris:m=0,f=0", "srpt", "drf", "bf-js")
"""Those compared on tables of whole jobs if none are named."""


class Entry(NamedTuple):
    """A policy on a workload of the leaderboard."""

    contest: Contest
    policy: str


@dataclass(frozen=True)
class Standing:
    """How an entry did: a run for each seed, or why there is none; by measure, its ratio to the reference's.

    `bounds`: for a table of whole jobs, by seed, the slots below which no policy's mean completion time is; `bound_ratio`:
    them, over the reference's mean completion times.
    """

    contest: Contest
    policy: str
    runs: tuple[Measured, ...] = ()
    refused: str | None = None
    failed: bool = False  # as runs did
    ratios: Mapping[Measure, Interval] = field(default_factory=dict)
    references: Mapping[Measure, str] = field(default_factory=dict)
    bounds: tuple[float, ...] = ()
    bound_ratio: Interval = UNKNOWN
    judgment: Judgment | None = None

    def values(self, measure: Measure) -> list[float | None]:
        """One for each seed."""
        return [run.values[measure.key] for run in self.runs]

    def mean(self, measure: Measure) -> Interval:
        """Of whole jobs unknown unless all of them ended with every seed."""
        values = self.values(measure)
        return UNKNOWN if measure.every and None in values else interval(values)

    def ratio(self, measure: Measure) -> Interval:
        """To the reference on the same jobs; unknown for the reference itself."""
        return self.ratios.get(measure, UNKNOWN)

    @property
    def verdict(self) -> Verdict:
        return combine(run.verdict for run in self.runs)


def shipped_agents() -> list[str]:
    """The agents that come with packenv, as policies are named."""
    from packenv.learning.agents.saved import pretrained_agents  # brings the compiled environments with it

    return [f"agent:{name}" for name in pretrained_agents()]


def entries_of(contests: Sequence[Contest], named: Sequence[str], reference: str | None) -> list[Entry]:
    """The reference in every contest, then the policies: those named everywhere, agents that nobody named only at home.

    Without a reference, and unless it is the best of them, mean queues have REFERENCE.
    """
    for name in (*([] if reference in (None, BEST) else [str(reference)]), *named):
        find_policy(name)
    entries = []
    for each in contests:
        usual = [] if named else [*(JOB_POLICIES if each.of_jobs else DEFAULT_POLICIES), *shipped_agents()]
        first = [] if reference_of(each, reference) == BEST else [reference_of(each, reference)]
        policies = dict.fromkeys([*first, *named, *usual])
        entries += [Entry(each, name) for name in policies if name not in usual or at_home(name, each)]
    return entries


def reference_of(contest: Contest, reference: str | None) -> str:
    """The policy named, or what is usual: the best policy of each measure for whole jobs, REFERENCE for mean queues."""
    return reference or (BEST if contest.of_jobs else REFERENCE)


def at_home(policy: str, contest: Contest) -> bool:
    """Whether an agent was made for this workload, at whatever load and on however many servers; other policies always."""
    about: Any = getattr(find_policy(policy), "about", None)
    made_for = about.get("workload") if isinstance(about, Mapping) else None
    name = made_for.get("name") if isinstance(made_for, Mapping) else made_for
    return name is None or name == contest.workload.name


def play(
    entries: Sequence[Entry], reference: str | None, seeds: int, warmup: int | None, options: RunOptions, log: str | None
) -> list[Standing]:
    """Make the runs that the log does not have yet; the standings in the order of the entries.

    A given table of jobs is run once by a policy that does not draw by chance. An entry whose workload is bad input for its
    policy says so, and the others go on.
    """
    kept = RunLog(log)
    runs = [runs_of_entry(entry, seeds, warmup) for entry in entries]
    keys = iter(keys_of([run for own in runs for run in own]))
    keys_by_entry = [[next(keys) for _ in own] for own in runs]
    known = [[key in kept.known for key in own] for own in keys_by_entry]
    refused = [None if all(found) else problem_of(own[0]) for own, found in zip(runs, known, strict=True)]
    made = [[] if problem else own for own, problem in zip(runs, refused, strict=True)]
    missing = sum(not each for found, problem in zip(known, refused, strict=True) if not problem for each in found)
    total = sum(map(len, made))
    if missing < total and missing > 0:
        print(f"packenv: {total - missing} of {total} runs are in {log} already", file=sys.stderr)
    wanted = [run for own in made for run in own]
    with options.runner(most=max(missing, 1)) as runner, suppress(RunsFailed):  # each has been reported
        kept.complete(wanted, runner, "leaderboard")
    standings = []
    for entry, own, problem in zip(entries, keys_by_entry, refused, strict=True):
        found = tuple(kept.known[key] for key in own if key in kept.known)
        failed = problem is None and len(found) < len(own)
        refusal = "runs failed (above)" if failed else problem
        standings.append(Standing(*entry, runs=() if refusal else found, refused=refusal, failed=failed))
    return with_ratios(with_bounds(standings), reference)


def runs_of_entry(entry: Entry, seeds: int, warmup: int | None) -> list[Run]:
    """A run for each seed; one where nothing depends on it."""
    contest, policy = entry
    try:
        wanted = seeds_for(policy, contest.workload, range(seeds))
    except InputError:  # `problem_of` says it
        wanted = [0]
    options = {"drain": True, "schedule": True} if contest.of_jobs else {"warmup": warmup}
    return runs_of(contest.workload, [policy], wanted, contest.slots, options)


def problem_of(run: Run) -> str | None:
    """Why the workload is bad input for the policy, if it is, from a run of one slot."""
    try:
        with announce_if_slow(f"preparing {run.policy}"):
            simulate(run.made(), run.policy, slots=1, warmup=0)
    except InputError as error:
        return str(error)
    return None


def with_bounds(standings: Sequence[Standing]) -> list[Standing]:
    """Add to those on tables of whole jobs, seed by seed, the bound on the mean completion time."""
    bounds: dict[int, tuple[float, ...]] = {}
    for contest in {id(one.contest): one.contest for one in standings}.values():
        runs = max((one.runs for one in standings if one.contest is contest), key=len)
        if contest.of_jobs and runs:
            with announce_if_slow(f"bounding the completion times of {contest.name}"):
                bounds[id(contest)] = tuple(completion_bound(contest.workload.at(run.seed)).mean for run in runs)
    return [replace(one, bounds=bounds.get(id(one.contest), ())) for one in standings]


def with_ratios(standings: Sequence[Standing], reference: str | None = None) -> list[Standing]:
    """Add to each, by measure, the ratio to the reference's in the same contest; the reference itself gets none."""
    found = []
    for one in standings:
        ratios, references, bound = {}, {}, UNKNOWN
        for measure in one.contest.measures:
            against = reference_standing([each for each in standings if each.contest is one.contest], measure, reference)
            if against is not None:
                references[measure] = against.policy
            if against is not None and one.policy != against.policy and one.runs and against.runs:
                ratios[measure] = paired(one.values(measure), against.values(measure))
            if measure.key == COMPLETION and one.bounds and against is not None and against.runs:
                bound = paired(one.bounds, against.values(measure))
        found.append(replace(one, ratios=ratios, references=references, bound_ratio=bound))
    return found


def reference_standing(standings: Sequence[Standing], measure: Measure, reference: str | None) -> Standing | None:
    """That of the reference among those of one contest; None if the best is asked for, and none has a mean."""
    name = reference_of(standings[0].contest, reference)
    if name != BEST:
        return next(one for one in standings if one.policy == name)
    known = [(mean, n) for n, one in enumerate(standings) if (mean := one.mean(measure).mean) is not None]
    sign = -1 if measure.better == MORE else 1
    return standings[min((sign * mean, n) for mean, n in known)[1]] if known else None


def paired(above: Sequence[float | None], below: Sequence[float | None]) -> Interval:
    """The ratio of means, seed by seed; a single run stands beside those of every seed."""
    seeds = max(len(above), len(below))
    above, below = ([*values] * (seeds // len(values)) for values in (above, below))
    return ratio_of_means(above, below)
