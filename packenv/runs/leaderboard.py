"""`packenv.leaderboard`: policies and agents compared on many workloads."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from packenv.api import simulate
from packenv.content.page import Charts, Page, check_kind
from packenv.content.showable import Showable
from packenv.content.tables import Table, Tables
from packenv.content.text import counted, listed
from packenv.errors import ArgumentError, InputError
from packenv.executors.local import ThisProcess
from packenv.options.fields import takes
from packenv.options.shared import DEFAULT_POLICIES
from packenv.options.verbs import JudgeOptions, LeaderboardOptions
from packenv.policy import find_policy
from packenv.runs import leaderboard_charts, leaderboard_tables
from packenv.runs.contest import Contest, contests_of
from packenv.runs.keys import keys_of
from packenv.runs.log import RunLog
from packenv.runs.many import judge_all
from packenv.runs.measures import COMPLETION, MORE, Measure
from packenv.runs.progress import announce_if_slow
from packenv.runs.run import Run, runs_of, seeds_for
from packenv.runs.runner import RunOptions, RunsFailed
from packenv.runs.standing import BEST, Standing, reference_of
from packenv.runs.statistics import UNKNOWN, Interval, interval, paired_ratio
from packenv.theory.completion.bound import completion_bound
from packenv.theory.queue_bound.queue_bound import bound_or_zero
from packenv.theory.stability.judgment import Judgment

JUDGING = JudgeOptions()
DEFAULT_WORKLOADS = (
    *(f"paper/fig4b@{intensity}" for intensity in (0.85, 0.9, 0.95, 0.99)),
    *(f"paper/fig4a@{intensity}" for intensity in (0.85, 0.9, 0.95, 0.99)),
    *("paper/fig3a@rate=0.014", "paper/fig3a@rate=0.018", "paper/fig3b@rate=0.0306"),
)
KINDS = ("ratios", "matrix")
JOB_POLICIES = ("tetris", "tetris:m=0,f=0", "srpt", "drf", "bf-js")
"""Default policies on tables of whole jobs."""


class Entry(NamedTuple):
    """A policy on a workload of the leaderboard."""

    contest: Contest
    policy: str


@dataclass(frozen=True, repr=False)
class Leaderboard(Showable):
    """The standings of policies on workloads.

    reference  policy whose measures divide all others, or BEST. None: the usual one (`reference_of`)
    """

    standings: tuple[Standing, ...]
    reference: str | None

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each standing. Intervals are [low, high], times in slots."""
        return [record_of(standing, self.reference) for standing in self.standings]

    @property
    def refusals(self) -> list[str]:
        """A line for each reason that a policy does not compete."""
        lines = []
        for policy, problem in dict.fromkeys((entry.policy, entry.refused) for entry in self.standings if entry.refused):
            standings = [entry for entry in self.standings if (entry.policy, entry.refused) == (policy, problem)]
            lines.append(f"{policy} does not compete on {', '.join(entry.contest.name for entry in standings)}: {problem}")
        return lines

    def judged(self, options: RunOptions, log: RunLog) -> Leaderboard:
        """Return the leaderboard with a judgment of each policy on each workload."""
        random = [entry for entry in self.standings if entry.runs and not entry.contest.of_jobs]
        firsts = {(entry.contest.group, entry.policy): entry for entry in reversed(random)}
        cases = [(first.contest.workload, first.policy) for first in firsts.values()]
        judgments: dict[tuple[str, str], Judgment | None] = {}
        if cases:
            of_cases = judge_all(cases, options, log, JUDGING)
            judgments = dict(zip(firsts, of_cases, strict=True))
        standings = [replace(entry, judgment=judgments.get((entry.contest.group, entry.policy))) for entry in self.standings]
        return replace(self, standings=tuple(standings))

    @property
    def title(self) -> str:
        policies = dict.fromkeys(standing.policy for standing in self.standings)
        contests = {id(standing.contest) for standing in self.standings}
        return f"Leaderboard of {listed([*policies])} on {counted(len(contests), 'workload')}"

    def facts(self) -> list[tuple[str, str]]:
        """Return the best stable policy by workload, load and measure."""
        return leaderboard_tables.best_scores(self.standings)

    def tables(self) -> list[Table]:
        """Return a table for each workload, means above ratios to the reference."""
        groups = leaderboard_tables.groups_of(self.standings)
        return [replace(leaderboard_tables.standings_table(group), title=leaderboard_tables.title_of(group)) for group in groups]

    def footnotes(self) -> list[str]:
        """Return the meaning of marks, and refusals."""
        return [leaderboard_tables.legend(leaderboard_tables.groups_of(self.standings), self.reference), *self.refusals]

    def markdown(self) -> str:
        """Return the tables for a page, headed by the workload's name."""
        return leaderboard_tables.markdown(leaderboard_tables.groups_of(self.standings), self.reference)

    def matrix(self) -> Tables:
        """Return the table of `packenv leaderboard --matrix`.

        It has a row for each policy, and its ratio to the reference on each workload.
        """
        return Matrix(self).table()

    def charts(self, kind: str = "ratios") -> Charts:
        """Return the charts that `plot` draws.

        "ratios": ratios to the reference with 95 % intervals, by workload. "matrix": all ratios as a coloured grid. Raises
        InputError for another kind.
        """
        draw = {"ratios": leaderboard_charts.ratios_charts, "matrix": leaderboard_charts.matrix_charts}
        return draw[check_kind(kind, KINDS, "kind of picture")](leaderboard_tables.groups_of(self.standings), self.reference)

    def page(self) -> Page:
        """Return the report, with measures as multiples of the reference's."""
        return leaderboard_charts.page_of(leaderboard_tables.groups_of(self.standings), self.reference, self.refusals)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, as in `packenv leaderboard --json`."""
        return {"reference": self.reference, "standings": self.records, "refusals": self.refusals}


@dataclass(frozen=True, repr=False)
class Matrix(Showable):
    """A leaderboard as one table: ratios by policy and workload."""

    board: Leaderboard

    @property
    def title(self) -> str:
        return self.board.title

    def tables(self) -> list[Table]:
        return self._matrix().tables

    def footnotes(self) -> list[str]:
        return self._matrix().notes

    def _matrix(self) -> Tables:
        return leaderboard_tables.matrix(leaderboard_tables.groups_of(self.board.standings), self.board.reference)

    @property
    def records(self) -> list[dict[str, Any]]:
        return self.board.records

    def charts(self) -> Charts:
        """Return the ratios as a coloured grid."""
        return self.board.charts("matrix")

    def page(self) -> Page:
        return self.board.page()


@dataclass(frozen=True)
class Competition:
    """The checked contests that `leaderboard` runs."""

    entries: Sequence[Entry]
    reference: str | None
    seeds: int
    warmup: int | None

    def play(self, options: RunOptions, log: RunLog) -> Leaderboard:
        """Make the runs missing in the log, return the standings in order.

        A deterministic policy runs once on a given table. An entry whose workload its policy refuses has the reason, and
        others continue.
        """
        runs = [runs_of_entry(entry, self.seeds, self.warmup) for entry in self.entries]
        keys_left = iter(keys_of([run for of_entry in runs for run in of_entry]))
        keys = [[next(keys_left) for _ in of_entry] for of_entry in runs]
        logged = [[key in log.values for key in of_entry] for of_entry in keys]
        # Entries without all runs in the log may be refused by their policy.
        refusals = [None if all(entry) else problem_of(first) for (first, *_), entry in zip(runs, logged, strict=True)]
        playable = [[] if problem else of_entry for of_entry, problem in zip(runs, refusals, strict=True)]
        missing = sum(entry.count(False) for entry, problem in zip(logged, refusals, strict=True) if not problem)
        total = sum(map(len, playable))
        if 0 < missing < total:
            print(f"packenv: {total - missing} of {total} runs are in {log.path} already", file=sys.stderr)
        with options.runner(most=max(missing, 1)) as runner, suppress(RunsFailed):  # each has been reported
            log.complete([run for of_entry in playable for run in of_entry], runner, "leaderboard")
        standings = []
        # Collect the standings, whether finished, refused or failed.
        for entry, of_entry, problem in zip(self.entries, keys, refusals, strict=True):
            finished = tuple(log.values[key] for key in of_entry if key in log.values)
            failed = problem is None and len(finished) < len(of_entry)
            refused = "runs failed (above)" if failed else problem
            runs_made, warmup = () if refused else finished, self.warmup or 0
            standings.append(Standing(*entry, runs=runs_made, refused=refused, failed=failed, warmup=warmup))
        return Leaderboard(tuple(with_ratios(with_bounds(standings), self.reference)), self.reference)


def competition(workloads: Iterable[Any], policies: Sequence[str], options: LeaderboardOptions) -> Competition:
    """Return the checked contests of `leaderboard`. Raises InputError."""
    contests = contests_of(workloads, options.slots, options.warmup)
    if options.reference == BEST and not all(contest.of_jobs for contest in contests):
        why = "by mean queue an unstable policy may be best in a short run"
        raise ArgumentError(f"`reference` best goes with tables of jobs; {why}")
    entries = entries_of(contests, policies, options.reference, everywhere=options.matrix)
    return Competition(entries, options.reference, options.seeds, options.warmup)


@takes(LeaderboardOptions, without=("matrix",))
def leaderboard(
    workloads: Any = DEFAULT_WORKLOADS,
    policies: Iterable[str] = (),
    *,
    options: LeaderboardOptions,
    log: str | Path | None = None,
    executor: Executor | None = None,
) -> Leaderboard:
    """Rank policies and agents on the same jobs of workloads.

    Measures are the mean queue relative to a reference policy and the supported fraction of ρ*. For tables of whole jobs they
    are mean completion time, makespan and unfairness.
    workloads  one or more: texts such as "paper/fig4b@0.95,servers=50" (a name, a file or a trace, then @ with an intensity,
               or load=, rate=, servers=, service=, resources=, speedup=, slot_seconds=, slots=), or arguments of
               `packenv.workload`
    policies   names, such as "bf-js", "vqs:J=4" or "agent:NAME". Default: the paper's, and each agent of packenv on the
               workload of its training
    options    fields of LeaderboardOptions
    log        file that stores finished runs. A second call makes only the missing runs
    executor   where the runs are made (`packenv.simulate_many`). None is this process
    `Leaderboard.refusals` lists policies that refuse a workload. Raises InputError for incompatible arguments, and errors of
    runs.
    """
    sources = workloads if isinstance(workloads, (list, tuple)) else [workloads]
    prepared = competition(sources, [*policies], options)
    run_log = RunLog(log)
    with RunOptions(fail_fast=True, executor=executor or ThisProcess()) as run_options:
        board = prepared.play(run_options, run_log)
        return board.judged(run_options, run_log) if options.judge else board


def shipped_agents() -> list[str]:
    """Return the agents of packenv, named like policies."""
    from packenv.learning.agents.saved import pretrained_agents  # brings the compiled environments with it

    return [f"agent:{name}" for name in pretrained_agents()]


def entries_of(contests: Sequence[Contest], named: Sequence[str], reference: str | None, everywhere: bool = False) -> list[Entry]:
    """Return the entries: in each contest the reference, then the policies.

    Named policies compete everywhere. Unnamed agents compete at home, or everywhere with `everywhere`. Without a reference
    mean queues have REFERENCE.
    """
    for name in (*([] if reference in (None, BEST) else [str(reference)]), *named):
        find_policy(name)
    entries = []
    for contest in contests:
        usual = [] if named else [*(JOB_POLICIES if contest.of_jobs else DEFAULT_POLICIES), *shipped_agents()]
        first = reference_of(contest, reference)
        policies = dict.fromkeys([*([] if first == BEST else [first]), *named, *usual])
        entries += [Entry(contest, name) for name in policies if everywhere or name not in usual or at_home(name, contest)]
    return entries


def at_home(policy: str, contest: Contest) -> bool:
    """Return whether an agent was made for this workload, or is none.

    The load and the number of servers do not matter.
    """
    about: Any = getattr(find_policy(policy), "about", None)
    made_for = about.get("workload") if isinstance(about, Mapping) else None
    name = made_for.get("name") if isinstance(made_for, Mapping) else made_for
    return name is None or name == contest.workload.name


def runs_of_entry(entry: Entry, seeds: int, warmup: int | None) -> list[Run]:
    """Return a run for each seed, or one if nothing depends on it."""
    contest, policy = entry
    try:
        numbers = seeds_for(policy, contest.workload, range(seeds))
    except InputError:  # `problem_of` says it
        numbers = [0]
    options = {"drain": True, "schedule": True} if contest.of_jobs else {"drain": contest.to_the_end or None, "warmup": warmup}
    return runs_of(contest.workload, [policy], numbers, contest.slots, options)


def problem_of(run: Run) -> str | None:
    """Return why the policy refuses the workload, from a run of one slot."""
    try:
        with announce_if_slow(f"preparing {run.policy}"):
            simulate(run.loaded(), run.policy, slots=1, warmup=0)
    except InputError as error:
        return str(error)
    return None


def with_bounds(standings: Sequence[Standing]) -> list[Standing]:
    """Add the bound on mean completion to standings on whole jobs."""
    bounds: dict[int, tuple[float, ...]] = {}
    for contest in {id(standing.contest): standing.contest for standing in standings}.values():
        runs = max((standing.runs for standing in standings if standing.contest is contest), key=len)
        if contest.of_jobs and runs:
            with announce_if_slow(f"bounding the completion times of {contest.name}"):
                bounds[id(contest)] = tuple(completion_bound(contest.workload.at(run.seed)).mean for run in runs)
    return [replace(standing, bounds=bounds.get(id(standing.contest), ())) for standing in standings]


def with_ratios(standings: Sequence[Standing], reference: str | None = None) -> list[Standing]:
    """Add ratios to the reference of the same contest, by measure.

    The reference has none.
    """
    complete = []
    for standing in standings:
        ratios, references, bound = {}, {}, UNKNOWN
        for measure in standing.contest.measures:
            rivals = [rival for rival in standings if rival.contest is standing.contest]
            against = reference_standing(rivals, measure, reference)
            if against is None:
                continue
            references[measure] = against.policy
            if standing.policy != against.policy and standing.runs and against.runs:
                ratios[measure] = paired_ratio(standing.values(measure), against.values(measure))
            if measure.key == COMPLETION and standing.bounds and against.runs:
                bound = paired_ratio(standing.bounds, against.values(measure))
        complete.append(replace(standing, ratios=ratios, references=references, bound_ratio=bound))
    return complete


def reference_standing(standings: Sequence[Standing], measure: Measure, reference: str | None) -> Standing | None:
    """Return the reference's standing in one contest.

    None if the best is wanted, and none has a mean.
    """
    name = reference_of(standings[0].contest, reference)
    if name != BEST:
        return next(standing for standing in standings if standing.policy == name)
    means = [(mean, n) for n, standing in enumerate(standings) if (mean := standing.mean(measure).mean) is not None]
    sign = -1 if measure.better == MORE else 1
    return standings[min((sign * mean, n) for mean, n in means)[1]] if means else None


def record_of(standing: Standing, reference: str | None) -> dict[str, Any]:
    """Return a standing for JSON. Intervals are [low, high]."""
    contest = standing.contest
    record: dict[str, Any] = {
        **contest.workload.record,
        "servers": len(contest.workload.servers),
        "group": contest.group,
        "at": contest.at,
        "slots": contest.slots,
        "policy": standing.policy,
        "refused": standing.refused,
        "seeds": len(standing.runs),
    }
    return record | (_of_table(standing) if contest.to_the_end else _of_queue(standing, reference))


def _of_queue(standing: Standing, reference: str | None) -> dict[str, Any]:
    runs = standing.runs
    utilisation = [*zip(*(run.values["utilisation"] for run in runs), strict=True)]
    queue, *others = standing.contest.measures
    return {
        "mean_queue": standing.mean(queue).mean,
        "mean_queue_interval": _ends(standing.mean(queue)),
        "reference": standing.references.get(queue, reference_of(standing.contest, reference)),
        "ratio": standing.ratio(queue).mean,
        "ratio_interval": _ends(standing.ratio(queue)),
        "mean_delay": interval(run.values["mean_delay"] for run in runs).mean,
        "utilisation": [interval(column).mean for column in utilisation],
        **(standing.verdict.plain if runs else {"verdict": None, "confidence": None}),
        "stopped": next((run.stopped for run in runs if run.stopped), None),
        "mean_queue_by_seed": standing.values(queue),
        "queue_bound": bound_or_zero(standing.contest.workload),
        **{measure.key: _of_measure(standing, measure) for measure in others},
        "supported": _supported(standing),
    }


def _supported(standing: Standing) -> dict[str, Any] | None:
    judgment = standing.judgment
    if judgment is None:
        return None
    keys = ("low", "high", "claimed", "half", "two_thirds")
    return {key: getattr(judgment, key) for key in keys} | {"rho": list(judgment.rho)}


def _of_table(standing: Standing) -> dict[str, Any]:
    """Return the record of a table run to its end, times in slots."""
    record: dict[str, Any] = {"slot_seconds": standing.contest.slot_seconds}
    record |= {measure.key: _of_measure(standing, measure) for measure in standing.contest.measures}
    stopped = next((run.stopped for run in standing.runs if run.stopped), None)
    if standing.contest.of_jobs:
        return record | {"completion_bound": interval(standing.bounds).mean, "stopped": stopped}
    return record | {"stopped": stopped, "supported": _supported(standing)}


def _of_measure(standing: Standing, measure: Measure) -> dict[str, Any]:
    mean, ratio = standing.mean(measure), standing.ratio(measure)
    return {
        "mean": mean.mean,
        "interval": _ends(mean),
        "reference": standing.references.get(measure),
        "ratio": ratio.mean,
        "ratio_interval": _ends(ratio),
        "by_seed": standing.values(measure),
    }


def _ends(mean: Interval) -> list[float] | None:
    return None if mean.low is None or mean.high is None else [mean.low, mean.high]
