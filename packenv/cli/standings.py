"""Who competes where, the runs that it takes, and how the policies stand to a reference on the same jobs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from packenv.api import simulate
from packenv.cli.contests import Contest
from packenv.errors import InputError
from packenv.policy import find_policy
from packenv.results.result import Result
from packenv.results.stability import Verdict, combine
from packenv.runs.log import digest_of_policy, digest_of_workload, key_of_run
from packenv.runs.measured import POINTS, Measured, MeasuredLog, measured
from packenv.runs.measures import Interval, interval
from packenv.runs.pairs import NOTHING, ratio_of_means
from packenv.runs.processes import Run, patience, run_all
from packenv.runs.setting import DEFAULT_POLICIES
from packenv.theory.stability.judge import Judgment


class Entry(NamedTuple):
    """A policy that competes."""

    contest: Contest
    policy: str


@dataclass(frozen=True)
class Standing:
    """How an entry did: a run for each seed, or why there is none; its mean queue over that of the reference."""

    contest: Contest
    policy: str
    runs: tuple[Measured, ...] = ()
    refused: str | None = None
    ratio: Interval = NOTHING
    judgment: Judgment | None = None

    @property
    def mean_queue(self) -> Interval:
        return interval(run.mean_queue for run in self.runs)

    @property
    def verdict(self) -> Verdict:
        return combine(run.verdict for run in self.runs)


def shipped_agents() -> list[str]:
    """The agents that come with packenv, as policies are named."""
    from packenv.learning.agents.saved import shipped  # brings the compiled environments with it

    return [f"agent:{name}" for name in shipped()]


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
    entries: Sequence[Entry], reference: str, seeds: int, warmup: int | None, processes: int | None, log: str | None
) -> list[Standing]:
    """Make the runs that the log does not have yet; the standings in the order of the entries.

    A table of jobs is run once. An entry that is bad input says so, and the others go on.
    """
    kept = MeasuredLog(log)
    options: dict[str, Any] = {"warmup": warmup}
    workloads = {id(entry.contest): digest_of_workload(entry.contest.workload) for entry in entries}
    policies = {entry.policy: digest_of_policy(entry.policy) for entry in entries}
    missing: dict[str, Run] = {}
    standings, keys = [], []
    for contest, policy in entries:
        count = seeds if contest.workload.jobs is None else 1
        runs = [Run(contest.workload, policy, seed, contest.slots, options) for seed in range(count)]
        about = workloads[id(contest)], policies[policy], contest.slots
        own = [key_of_run(*about, run.seed, points=POINTS, **options) for run in runs]
        unknown = {key: run for key, run in zip(own, runs, strict=True) if key not in kept.known}
        refused = problem_of(runs[0]) if unknown else None
        missing |= {} if refused else unknown
        standings.append(Standing(contest, policy, refused=refused))
        keys.append([] if refused else own)
    wanted = [*missing]

    def keep(n: int, result: Result) -> None:
        kept.keep(wanted[n], measured(result))

    if wanted:
        total = sum(map(len, keys))
        if total > len(wanted):
            print(f"packenv: {total - len(wanted)} of {total} runs are in {log} already", file=sys.stderr)
        run_all([*missing.values()], processes, "leaderboard", keep)
    done = [replace(standing, runs=tuple(kept.known[key] for key in own)) for standing, own in zip(standings, keys, strict=True)]
    return with_ratios(done, reference)


def problem_of(run: Run) -> str | None:
    """Why the workload is bad input for the policy, if it is, from a run of one slot."""
    try:
        with patience(f"preparing {run.policy}"):
            simulate(run.made(), run.policy, slots=1, warmup=0)
    except InputError as error:
        return str(error)
    return None


def with_ratios(standings: Sequence[Standing], reference: str) -> list[Standing]:
    """Each beside the reference in the same contest, run by run; the reference itself beside nothing."""
    references = {id(one.contest): one for one in standings if one.policy == reference}
    found = []
    for one in standings:
        against = references[id(one.contest)]
        if one.policy != reference and one.runs and against.runs:
            queues = ([run.mean_queue for run in each.runs] for each in (one, against))
            one = replace(one, ratio=ratio_of_means(*queues))
        found.append(one)
    return found
