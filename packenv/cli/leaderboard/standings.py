"""Which policies run on which workloads, their runs, and their mean queues over those of a reference on the same jobs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from packenv.api import simulate
from packenv.cli.leaderboard.contests import Contest
from packenv.cli.options.workload import DEFAULT_POLICIES
from packenv.errors import InputError
from packenv.policy import find_policy
from packenv.results.stability import Verdict, combine
from packenv.runs.chance import seeds_for
from packenv.runs.keys import keys_of
from packenv.runs.log import RunLog
from packenv.runs.measured import Measured
from packenv.runs.progress import announce_if_slow
from packenv.runs.run import Run, runs_of
from packenv.runs.runner import RunOptions, RunsFailed
from packenv.runs.statistics import UNKNOWN, Interval, interval, ratio_of_means
from packenv.theory.stability.judge import Judgment


class Entry(NamedTuple):
    """A policy on a workload of the leaderboard."""

    contest: Contest
    policy: str


@dataclass(frozen=True)
class Standing:
    """How an entry did: a run for each seed, or why there is none; its mean queue over that of the reference."""

    contest: Contest
    policy: str
    runs: tuple[Measured, ...] = ()
    refused: str | None = None
    failed: bool = False  # as runs did
    ratio: Interval = UNKNOWN
    judgment: Judgment | None = None

    @property
    def mean_queue(self) -> Interval:
        return interval(run.mean_queue for run in self.runs)

    @property
    def verdict(self) -> Verdict:
        return combine(run.verdict for run in self.runs)


def shipped_agents() -> list[str]:
    """The agents that come with packenv, as policies are named."""
    from packenv.learning.agents.saved import pretrained_agents  # brings the compiled environments with it

    return [f"agent:{name}" for name in pretrained_agents()]


def entries_of(contests: Sequence[Contest], named: Sequence[str], reference: str) -> list[Entry]:
    """The reference in every contest, then the policies: those named everywhere, agents that nobody named only at home."""
    find_policy(reference)
    for name in named:
        find_policy(name)
    usual = [] if named else [*DEFAULT_POLICIES, *shipped_agents()]
    policies = dict.fromkeys([reference, *named, *usual])
    return [Entry(each, name) for each in contests for name in policies if name not in usual or at_home(name, each)]


def at_home(policy: str, contest: Contest) -> bool:
    """Whether an agent was made for this workload, at whatever load and on however many servers; other policies always."""
    about: Any = getattr(find_policy(policy), "about", None)
    made_for = about.get("workload") if isinstance(about, Mapping) else None
    name = made_for.get("name") if isinstance(made_for, Mapping) else made_for
    return name is None or name == contest.workload.name


def play(
    entries: Sequence[Entry], reference: str, seeds: int, warmup: int | None, options: RunOptions, log: str | None
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
    return with_ratios(standings, reference)


def runs_of_entry(entry: Entry, seeds: int, warmup: int | None) -> list[Run]:
    """A run for each seed; one where nothing depends on it."""
    contest, policy = entry
    try:
        wanted = seeds_for(policy, contest.workload, range(seeds))
    except InputError:  # `problem_of` says it
        wanted = [0]
    return runs_of(contest.workload, [policy], wanted, contest.slots, {"warmup": warmup})


def problem_of(run: Run) -> str | None:
    """Why the workload is bad input for the policy, if it is, from a run of one slot."""
    try:
        with announce_if_slow(f"preparing {run.policy}"):
            simulate(run.made(), run.policy, slots=1, warmup=0)
    except InputError as error:
        return str(error)
    return None


def with_ratios(standings: Sequence[Standing], reference: str) -> list[Standing]:
    """Add to each the ratio of its mean queue to the reference's in the same contest; the reference itself gets none."""
    references = {id(one.contest): one for one in standings if one.policy == reference}
    found = []
    for one in standings:
        against = references[id(one.contest)]
        if one.policy != reference and one.runs and against.runs:
            seeds = max(len(one.runs), len(against.runs))  # a single run stands beside those of every seed
            above, below = ([run.mean_queue for run in each.runs * (seeds // len(each.runs))] for each in (one, against))
            one = replace(one, ratio=ratio_of_means(above, below))
        found.append(one)
    return found
