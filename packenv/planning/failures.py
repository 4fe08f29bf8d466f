"""Plans for failing servers: goals with and without them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from packenv.content.page import Page, Section
from packenv.content.showable import Showable
from packenv.content.tables import Column, Table, numbers
from packenv.content.text import NONE, counted, counted_by_reason, estimate, listed, sentences
from packenv.errors import InputError, nearest
from packenv.inputs.numbers import read_whole
from packenv.planning.kinds import on_servers
from packenv.planning.plan import Say, plan_all
from packenv.planning.request import PlanLog, PlanRequest
from packenv.planning.server_plans import SURER
from packenv.planning.trials import AskRuns, Trial
from packenv.runs.runner import RunOptions
from packenv.runs.statistics import interval, mean_and_half
from packenv.workloads.gangs import which_fit
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload
from packenv.workloads.workload_of_trace import without_room

MOST_NAMED = 5  # servers in a title or a sentence
MOST_CHOICES = 1_000  # names among which similar ones are looked for
PARTS = re.compile(r"(?:[^,\[]|\[[^\]]*\]?)+")  # between commas outside of brackets
HOSTS = re.compile(r"([^\[\]]*)\[([0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*)\]([^\[\]]*)", re.ASCII)
RANGE = re.compile(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")

UNFIT = (
    {"": "Without {these}, there is no room for {unfit}: {reasons}. So no goal is met."},
    {"": "Measures without them are of the other tasks, and no difference is shown."},
)
OF_POLICY = (
    {
        "unfit": "{policy}: no goal is met without {these}.",
        "left_out": "{policy}: no goal is met for the tasks that are left out.",
        "lost": "{policy}: met with {these}, missed without: {lost}.",
        "missed": "{policy}: missed with {these} and without: {missed}.",
        "": "{policy}: without {these} all goals are met.",
    },
    {
        "partly missed": "The other tasks miss without {these}: {missed}.",
        "partly": "The other tasks would meet all goals without {these}.",
        "lost before": "Missed also with {these}: {before}.",
    },
    {"open": "Not decided: {open}. " + SURER},
    {"stopped": "{stopped}"},
)


class Failure(NamedTuple):
    """One policy on all servers and on those left, on the same seeds."""

    policy: str
    intact: Trial  # with all servers
    remaining: Trial  # without those that fail

    def change(self, n: int) -> list[float | None]:
        """Return goal n's growth, seed by seed, None without values."""
        pairs = zip(self.intact.values[n], self.remaining.values[n], strict=False)  # seeds of both
        return [None if before is None or left is None else left - before for before, left in pairs]


@dataclass(frozen=True, repr=False)
class FailurePlans(Showable):
    """Each policy with and without the failing servers.

    left_out  tasks without room on the remaining servers, by reason
    """

    request: PlanRequest
    failing: tuple[int, ...]
    comparisons: list[Failure]
    left_out: dict[str, int]

    @property
    def unfit(self) -> int:
        return sum(self.left_out.values())

    @property
    def title(self) -> str:
        servers = len(self.request.workload.servers)
        without = f"and {servers - len(self.failing):,} without {self._which}"
        return f"{self.request.workload.label}: {counted(servers, 'server')}, {without}{self.request.unit}"

    @property
    def _which(self) -> str:
        """The failing servers, by name or number, at most a few names."""
        names = self.request.workload.servers.names
        if not names:
            return _ranges(self.failing)
        failing = [names[server] for server in self.failing]
        return listed(failing if len(failing) <= MOST_NAMED else [*failing[:MOST_NAMED], f"{len(failing) - MOST_NAMED:,} more"])

    def tables(self) -> list[Table]:
        """Return each goal's measure with and without the servers."""
        request, stream = self.request, self.request.workload.jobs is None
        heads = [heading for goal in request.goals for heading in (goal.title, "without", "difference")]
        stable_heads = [Column("stable"), Column("without")] if stream else []
        table = Table(self.title, [Column("policy"), *numbers(*heads), *stable_heads])
        for comparison in self.comparisons:
            trials, cells = (comparison.intact, comparison.remaining), []
            for n, goal in enumerate(request.goals):
                scale = goal.scale(request.workload.slot_seconds)
                change = [None if by is None else by * scale for by in comparison.change(n)]
                cells += [*(request.cell(trial, n) for trial in trials), NONE if self.unfit else estimate(*mean_and_half(change))]
            table.add(comparison.policy, *cells, *(["yes" if trial.stable else "no" for trial in trials] if stream else []))
        return [table]

    def footnotes(self) -> list[str]:
        """Return the goals that hold, are open, or have tasks that never start."""
        lines = [self._sentences(comparison) for comparison in self.comparisons]
        jobs = self.request.workload.jobs
        if jobs is None or not self.unfit:
            return lines
        unfit = f"{self.unfit:,} of {counted(len(jobs), 'task')}"
        facts = {"unfit": unfit, "reasons": counted_by_reason(self.left_out), "these": self._these}
        return [sentences(UNFIT, facts), *lines]

    @property
    def _these(self) -> str:
        return self._which if self.request.workload.servers.names else "these servers"

    def _sentences(self, comparison: Failure) -> str:
        trials = [(counted(trial.servers, "server"), trial) for trial in (comparison.intact, comparison.remaining)]
        before, missed = (self._missed(trial) for _, trial in trials)
        lost = [text for text in missed if text not in before]
        facts = {
            "policy": comparison.policy,
            "these": self._these,
            "unfit": self.unfit,
            "left_out": self.request.workload.much_left_out,
            "partly": self.unfit or self.request.workload.much_left_out,
            "lost": lost and listed(lost),
            "missed": missed and listed(missed),
            "before": before and listed(before),
            "open": self.request.left_open(trials),
            "stopped": " ".join(f"With {servers} {trial.stopped}." for servers, trial in trials if trial.stopped),
        }
        return sentences(OF_POLICY, facts)

    def _missed(self, trial: Trial) -> list[str]:
        missed = [goal.text for goal, met in zip(self.request.goals, trial.met, strict=True) if not met]
        return missed if trial.stable or self.request.workload.jobs is not None else ["a stable queue", *missed]

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each policy. Times are in slots."""
        return [self._record(comparison) for comparison in self.comparisons]

    def _record(self, comparison: Failure) -> dict[str, Any]:
        workload, names = self.request.workload, self.request.workload.servers.names
        before, left, valid = comparison.intact, comparison.remaining, not workload.much_left_out
        return {
            **workload.record,
            "policy": comparison.policy,
            "servers": len(workload.servers),
            "without": [names[server] for server in self.failing] if names else [*self.failing],
            "slot_seconds": workload.slot_seconds,
            "goals": [
                {
                    "goal": goal.text,
                    "limit": goal.limit,
                    "value": [*before.estimate(n)],
                    "value_without": [*left.estimate(n)],
                    "difference": [*interval([] if self.unfit else comparison.change(n))],
                    "met": before.met[n] and valid,
                    "met_without": left.met[n] and not self.unfit and valid,
                }
                for n, goal in enumerate(self.request.goals)
            ],
            "stable": before.stable,
            "stable_without": left.stable,
            "fits_nowhere": self.unfit,
        }

    def page(self) -> Page:
        """Return the report: the table, the goals, the servers."""
        workload, servers = self.request.workload, len(self.request.workload.servers)
        facts = [
            ("Goals", "; ".join(goal.text for goal in self.request.goals) or "a stable queue"),
            ("Servers", f"{servers:,}, and {servers - len(self.failing):,} without {self._which}"),
            ("Policies", ", ".join(self.request.policies)),
        ]
        notes = [] if self.unfit else ["All runs saw the same tasks."]
        section = Section("With and without these servers", notes=notes, tables=self.tables())
        first, *others = self.footnotes()
        return Page(f"What if servers of {workload.label} fail", first, facts, [section], others, [workload])


def failure_plans(request: PlanRequest, failing: tuple[int, ...], options: RunOptions, log: PlanLog | None) -> FailurePlans:
    """Return each policy with and without the servers. Raises InputError."""
    left, left_out = without_servers(request.workload, failing)

    def compare(policy: str, ask: AskRuns, say: Say) -> Failure:
        say(f"with and without {counted(len(failing), 'server')}")
        search = request.search(policy)
        budget = search.budget()
        before = search.decided(search.workload, ask, budget)
        return Failure(search.name, before, search.decided(left, ask, budget))

    return FailurePlans(request, failing, plan_all(request.policies, compare, options, log)[0], left_out)


def _ranges(failing: Sequence[int]) -> str:
    """Return numbers as `3,7,10-12`, the form of `--without`."""
    parts: list[list[int]] = []
    for server in failing:
        if parts and parts[-1][1] == server - 1:
            parts[-1][1] = server
        else:
            parts.append([server, server])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)


def parse_failing(text: str, servers: Servers) -> tuple[int, ...]:
    """Read the failing servers: names such as `n03,n07` or `n[03-05,07]`, or numbers.

    Numbers from 0, such as `3,7,10-12`, are for servers without names. A list with names may have left out rows, so numbers
    would shift. Raises InputError for unknown servers, or if none is left.
    """
    failing: set[int] = set()
    if not servers.names:
        failing.update(*(_numbered(part, len(servers)) for part in map(str.strip, text.split(","))))
    else:
        failing.update(_named(name, servers) for part in PARTS.findall(text) for name in _hosts(part.strip(), len(servers)))
    if len(failing) == len(servers):
        raise InputError(f"--without {text}: no server is left")
    return tuple(sorted(failing))


def _hosts(part: str, most: int) -> list[str]:
    """Return the names of a Slurm host list: n03, n04 and n07 of `n[03-04,07]`."""
    if (match := HOSTS.fullmatch(part)) is None:
        return [part]
    names = []
    for span in match[2].split(","):
        first, _, last = span.partition("-")
        numbers = range(read_whole(first), read_whole(last or first) + 1)
        if not 0 < len(numbers) <= most:
            raise InputError(f"--without {part}: {span} must go up, over at most {counted(most, 'server')}")
        names += [f"{match[1]}{number:0{len(first)}d}{match[3]}" for number in numbers]
    return names


def _named(name: str, servers: Servers) -> int:
    """Return the index of a named server. Raises InputError."""
    if name in servers.names:
        return servers.names.index(name)
    if RANGE.fullmatch(name):
        few = ",".join(servers.names[:2])
        raise InputError(f"--without {name}: these servers have names; give names, such as --without {few}")
    left_out = counted_by_reason(dict(servers.left_out))
    if re.search(rf"(?<!\S){re.escape(name)}(?!\S)", left_out):
        raise InputError(f"--without {name}: it is not a server; left out: {left_out}")
    out = f"; left out: {left_out}" if left_out else ""
    raise InputError(f"--without {name}: no server has this name{nearest(name, servers.names[:MOST_CHOICES])}{out}")


def _numbered(part: str, servers: int) -> range:
    """Return the numbers of `10-12`. Raises InputError."""
    read = RANGE.fullmatch(part)
    if read is None:
        raise InputError(f"--without {part!r}: not of the form 3,7,10-12; servers are numbered from 0")
    first = read_whole(read[1])
    last = read_whole(read[2] or read[1])
    if last < first:
        raise InputError(f"--without {part}: the range must go up")
    if last >= servers:
        raise InputError(f"--without {part}: no server {last:,}; they are numbered from 0 to {servers - 1:,}")
    return range(first, last + 1)


def without_servers(workload: Workload, failing: Sequence[int]) -> tuple[Workload, dict[str, int]]:
    """Return the work on the servers left, and the tasks left out by reason.

    These tasks of a table fit none of the servers. Raises InputError if they are more than half, or can occur in a stream.
    """
    left = workload.servers.only(np.delete(np.arange(len(workload.servers)), failing))
    jobs = workload.jobs
    try:
        return on_servers(workload, left), {}
    except InputError as problem:
        if jobs is None:
            raise InputError(f"without these servers, {problem}") from None
        scaled = jobs.scaled(left.scale)
        fits = which_fit(scaled, left)
        unfit = int((~fits).sum())
        if 2 * unfit > len(jobs):
            raise InputError(f"without these servers {unfit:,} of {counted(len(jobs), 'task')} fit nowhere: {problem}") from None
    return workload.with_(jobs=jobs.only(fits)).with_(servers=left), without_room(scaled, left, fits)
