"""A workload at a load for a number of slots, on which policies compete; written `paper/fig4b@0.95,servers=50`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packenv.cli.options.workload import WorkloadOptions, workload_told
from packenv.errors import InputError, nearest
from packenv.inputs.numbers import read_number, read_whole
from packenv.runs.measures import JOBS, QUEUE, Measure, ranked_measures
from packenv.runs.text import counted
from packenv.workloads.named.registry import WORKLOADS
from packenv.workloads.workload import Workload

OPTIONS = ("intensity", "load", "rate", "servers", "service", "resources", "speedup", "slot_seconds")


@dataclass(frozen=True)
class Contest:
    """`group`: the workload and its servers; `at`: how much arrives (nothing for a trace at its own pace).

    `slot_seconds`: the length of a slot where people are shown seconds; None for slots.
    """

    workload: Workload
    group: str
    at: str
    slots: int | None
    slot_seconds: float | None = None

    @property
    def of_jobs(self) -> bool:
        """Whether it is a table that says which tasks make a job: measured are whole jobs, all of which run to their end."""
        return self.workload.jobs is not None and self.workload.jobs.job is not None

    @property
    def measures(self) -> list[Measure]:
        """What policies are compared by."""
        return ranked_measures(JOBS if self.of_jobs else QUEUE)

    @property
    def name(self) -> str:
        return named(self.group, self.at)


def contest(text: str, slots: int) -> Contest:
    """From `WORKLOAD[@SETTING,…]`, a setting being KEY=VALUE or, alone and first, an intensity. Raises InputError.

    Random workloads last `slots` slots, traces as long as they are, unless `slots=N` says otherwise.
    """
    if Path(text).exists() or "@" not in text:
        source, given = text, {}
    else:
        source, _, settings = text.rpartition("@")
        given = _settings(settings, text)
    length = _slots(given.pop("slots"), text) if "slots" in given else None
    values: dict[str, Any] = {key: _number(given[key], key, text) for key in ("load", "intensity", "rate") if key in given}
    said = WorkloadOptions(source, **given | values)
    try:
        workload = workload_told(said)
        seconds = workload.shown_slot
    except InputError as error:
        raise InputError(f"{text}: {error}") from None
    group, at = title_of(workload, given.get("speedup", "1"))
    found = Contest(workload, group, at, length if length is not None or workload.jobs is not None else slots, seconds)
    if found.of_jobs and length is not None:
        raise InputError(f"{text}: slots do not go with a table of whole jobs, all of which run to their end")
    return found


def title_of(workload: Workload, speedup: str = "1") -> tuple[str, str]:
    """Name and servers, these only where the name does not say them, and how much arrives."""
    own = WORKLOADS[workload.name]().servers if workload.name in WORKLOADS else None
    group = workload.name if workload.servers == own else f"{workload.name}, {counted(len(workload.servers), 'server')}"
    if workload.given is None:
        return group, "" if speedup == "1" else f"β = {speedup}"
    how, value = workload.given
    return group, f"{value:g}" if how == "intensity" else f"{how} {value:g}"


def named(group: str, at: str) -> str:
    """`paper/fig4b at 0.95`."""
    return f"{group} at {at}" if at else group


def contest_name(workload: Workload, speedup: str) -> str:
    """The name of the contest that a run on this workload is."""
    return named(*title_of(workload, speedup))


def _settings(text: str, whole: str) -> dict[str, str]:
    """By key; a part without a key belongs to the value before it (servers=3x1,2x0.5), the first is the intensity."""
    found: dict[str, str] = {}
    last = ""
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if equals:
            last = key.strip().replace("-", "_")
            if last not in (*OPTIONS, "slots"):
                raise InputError(f"{whole}: unknown setting {key!r}{nearest(key, [*OPTIONS, 'slots'])}")
            found[last] = value
        elif last:
            found[last] += f",{part}"
        else:
            last = "intensity"
            found[last] = part
    return found


def _number(text: str, key: str, whole: str) -> float:
    try:
        return read_number(text)
    except InputError:
        raise InputError(f"{whole}: {key} must be a number, not {text!r}") from None


def _slots(text: str, contest: str) -> int:
    try:
        return read_whole(text, 1)
    except InputError as problem:
        raise InputError(f"{contest}: slots must be a whole number, at least 1: {problem}") from None
