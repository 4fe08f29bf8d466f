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
from packenv.policy import find_policy, policies_in
from packenv.runs import leaderboard_charts, leaderboard_tables
from packenv.runs.contest import Contest, contests_of
from packenv.runs.keys import keys_of
from packenv.runs.log import RunLog
from packenv.runs.many import judge_all
from packenv.runs.progress import announce_if_slow
from packenv.runs.ranking import BEST, Group, Ranking, Standing, groups_of
from packenv.runs.run import Run, runs_of, seeds_for
from packenv.runs.runner import RunOptions, RunsFailed

JUDGING = JudgeOptions()
DEFAULT_WORKLOADS = (
    *(f"paper/fig4b@{intensity}" for intensity in (0.85, 0.9, 0.95, 0.99)),
    *(f"paper/fig4a@{intensity}" for intensity in (0.85, 0.9, 0.95, 0.99)),
    *("paper/fig3a@rate=0.014", "paper/fig3a@rate=0.018", "paper/fig3b@rate=0.0306"),
)
KINDS = ("ratios", "matrix")
JOB_POLICIES = ("tetris", "tetris:m=0,f=0", "srpt", "drf", "bf-js")
"""Default policies on tables of whole jobs."""


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
    if not sources:
        raise ArgumentError("no workload: name one in `workloads`")
    entries = entries_of(sources, policies_in(policies) if policies else [], options)
    run_log = RunLog(log)
    with RunOptions(fail_fast=True, executor=executor or ThisProcess()) as place:
        board = play(entries, options, place, run_log)
        return board.judged(place, run_log) if options.judge else board


def entries_of(workloads: Iterable[Any], named: Sequence[str], options: LeaderboardOptions) -> list[Entrant]:
    """Return the entries: in each contest the reference, then the policies.

    Named policies compete everywhere. Unnamed agents compete at home, or everywhere in a matrix. Without a reference mean
    queues have REFERENCE. Raises InputError.
    """
    contests, reference = contests_of(workloads, options.slots, options.warmup), options.reference
    if reference == BEST and not all(contest.of_jobs for contest in contests):
        why = "by mean queue an unstable policy may be best in a short run"
        raise ArgumentError(f"`reference` best goes with tables of jobs; {why}")
    for name in (*([] if reference in (None, BEST) else [str(reference)]), *named):
        find_policy(name)
    entries = []
    for contest in contests:
        usual = [] if named else [*(JOB_POLICIES if contest.of_jobs else DEFAULT_POLICIES), *shipped_agents()]
        first = Ranking(contest, (), reference).divisor
        policies = dict.fromkeys([*([] if first == BEST else [first]), *named, *usual])
        entries += [Entrant(contest, name) for name in policies if options.matrix or name not in usual or at_home(name, contest)]
    return entries


def play(entries: Sequence[Entrant], options: LeaderboardOptions, place: RunOptions, log: RunLog) -> Leaderboard:
    """Make the runs missing in the log, return the rankings in order.

    A deterministic policy runs once on a given table. An entry whose workload its policy refuses has the reason, and others
    continue.
    """
    runs = [runs_of_entry(entry, options) for entry in entries]
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
    with place.runner(most=max(missing, 1)) as runner, suppress(RunsFailed):  # each has been reported
        log.complete([run for of_entry in playable for run in of_entry], runner, "leaderboard")
    # Collect the standings, whether finished, refused or failed, and rank those of each contest.
    rankings: dict[int, Ranking] = {}
    for (contest, policy), of_entry, problem in zip(entries, keys, refusals, strict=True):
        finished = tuple(log.values[key] for key in of_entry if key in log.values)
        failed = problem is None and len(finished) < len(of_entry)
        refused = "runs failed (above)" if failed else problem
        standing = Standing(policy, () if refused else finished, refused, failed)
        ranking = rankings.get(id(contest)) or Ranking(contest, (), options.reference, options.warmup or 0)
        rankings[id(contest)] = replace(ranking, standings=(*ranking.standings, standing))
    return Leaderboard(tuple(ranking.with_bounds() for ranking in rankings.values()), options.reference)


def runs_of_entry(entry: Entrant, options: LeaderboardOptions) -> list[Run]:
    """Return a run for each seed, or one if nothing depends on it."""
    contest, policy = entry
    try:
        seeds = seeds_for(policy, contest.workload, range(options.seeds))
    except InputError:  # `problem_of` says it
        seeds = [0]
    queue = {"drain": contest.to_the_end or None, "warmup": options.warmup}
    return runs_of(
        contest.workload, [policy], seeds, contest.slots, {"drain": True, "schedule": True} if contest.of_jobs else queue
    )


def shipped_agents() -> list[str]:
    """Return the agents of packenv, named like policies."""
    from packenv.learning.agents.saved import pretrained_agents  # brings the compiled environments with it

    return [f"agent:{name}" for name in pretrained_agents()]


def at_home(policy: str, contest: Contest) -> bool:
    """Return whether an agent was made for this workload, or is none.

    The load and the number of servers do not matter.
    """
    about: Any = getattr(find_policy(policy), "about", None)
    made_for = about.get("workload") if isinstance(about, Mapping) else None
    name = made_for.get("name") if isinstance(made_for, Mapping) else made_for
    return name is None or name == contest.workload.name


def problem_of(run: Run) -> str | None:
    """Return why the policy refuses the workload, from a run of one slot."""
    try:
        with announce_if_slow(f"preparing {run.policy}"):
            simulate(run.loaded(), run.policy, slots=1, warmup=0)
    except InputError as error:
        return str(error)
    return None


class Entrant(NamedTuple):
    """A policy on a workload of the leaderboard."""

    contest: Contest
    policy: str


@dataclass(frozen=True, repr=False)
class Leaderboard(Showable):
    """Rankings of policies on workloads.

    reference  policy whose measures divide all others, or BEST. None: the usual one (`Ranking.divisor`)
    """

    rankings: tuple[Ranking, ...]
    reference: str | None

    @property
    def standings(self) -> list[tuple[Contest, Standing]]:
        """All standings, with their contests."""
        return [(ranking.contest, standing) for ranking in self.rankings for standing in ranking.standings]

    @property
    def groups(self) -> list[Group]:
        """The rankings by workload."""
        return groups_of(self.rankings)

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each standing. Intervals are [low, high], times in slots."""
        return [record for ranking in self.rankings for record in ranking.records]

    @property
    def refusals(self) -> list[str]:
        """A line for each reason that a policy does not compete."""
        names: dict[tuple[str, str], list[str]] = {}
        for contest, standing in self.standings:
            if standing.refused:
                names.setdefault((standing.policy, standing.refused), []).append(contest.name)
        return [f"{policy} does not compete on {', '.join(where)}: {why}" for (policy, why), where in names.items()]

    def judged(self, options: RunOptions, log: RunLog) -> Leaderboard:
        """Return the leaderboard with a judgment of each policy on each workload."""
        random = [(contest, standing.policy) for contest, standing in self.standings if standing.runs and not contest.of_jobs]
        firsts = {(contest.group, policy): (contest.workload, policy) for contest, policy in reversed(random)}
        judgments = dict(zip(firsts, judge_all([*firsts.values()], options, log, JUDGING) if firsts else [], strict=True))
        rankings = []
        for ranking in self.rankings:
            group = ranking.contest.group
            standings = [replace(scored, judgment=judgments.get((group, scored.policy))) for scored in ranking.standings]
            rankings.append(replace(ranking, standings=tuple(standings)))
        return replace(self, rankings=tuple(rankings))

    @property
    def title(self) -> str:
        policies = dict.fromkeys(standing.policy for _, standing in self.standings)
        return f"Leaderboard of {listed([*policies])} on {counted(len(self.rankings), 'workload')}"

    def facts(self) -> list[tuple[str, str]]:
        """Return the best stable policy by workload, load and measure."""
        return leaderboard_tables.best_scores(self.groups)

    def tables(self) -> list[Table]:
        """Return a table for each workload, means above ratios to the reference."""
        tables = [(leaderboard_tables.standings_table(group), leaderboard_tables.title_of(group)) for group in self.groups]
        return [replace(table, title=title) for table, title in tables]

    def footnotes(self) -> list[str]:
        """Return the meaning of marks, and refusals."""
        return [leaderboard_tables.legend(self.groups, self.reference), *self.refusals]

    def markdown(self) -> str:
        """Return the tables for a page, headed by the workload's name."""
        return leaderboard_tables.markdown(self.groups, self.reference)

    def matrix(self) -> Tables:
        """Return the table of `packenv leaderboard --matrix`.

        It has a row for each policy, and its ratio to the reference on each workload.
        """
        return leaderboard_tables.matrix(self.groups, self.reference)

    def charts(self, kind: str = "ratios") -> Charts:
        """Return the charts that `plot` draws.

        "ratios": ratios to the reference with 95 % intervals, by workload. "matrix": all ratios as a coloured grid. Raises
        InputError for another kind.
        """
        draw = {"ratios": leaderboard_charts.ratios_charts, "matrix": leaderboard_charts.matrix_charts}
        return draw[check_kind(kind, KINDS, "kind of picture")](self.groups, self.reference)

    def page(self) -> Page:
        """Return the report, with measures as multiples of the reference's."""
        return leaderboard_charts.page_of(self.groups, self.reference, self.refusals)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, as in `packenv leaderboard --json`."""
        return {"reference": self.reference, "standings": self.records, "refusals": self.refusals}


class Matrix(Leaderboard):
    """A leaderboard as one table: ratios by policy and workload."""

    def tables(self) -> list[Table]:
        return self.matrix().tables

    def footnotes(self) -> list[str]:
        return self.matrix().notes

    def markdown(self) -> str:
        return Showable.markdown(self)

    def charts(self, kind: str = "matrix") -> Charts:
        """Return the ratios as a coloured grid."""
        return super().charts(kind)
