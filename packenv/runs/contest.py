"""A workload at a load for a number of slots, as in `paper/fig4b@0.95,servers=50`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packenv.api import at_a_rate
from packenv.content.text import counted
from packenv.errors import ArgumentError, InputError, nearest
from packenv.inputs.numbers import read_number, read_whole
from packenv.runs.measures import JOBS, MEASURES, QUEUE, SLOTS, Measure, ranked_measures
from packenv.runs.statistics import Interval
from packenv.workloads.find import is_trace_source
from packenv.workloads.named.registry import WORKLOADS, named_workload
from packenv.workloads.resources import USUAL
from packenv.workloads.workload import INTENSITIES, Workload

DELAY = next(measure for measure in MEASURES if measure.key == "mean_delay")._replace(every=True)
SETTINGS = ("intensity", "load", "rate", "servers", "service", "resources", "speedup", "slot_seconds", "slots")
SETTING = rf"`(?P<name>{'|'.join(SETTINGS)})`(?P<value> (?=['\d]|all\b|max\b))?"
"""A setting in a message, perhaps with a value."""


@dataclass(frozen=True)
class Contest:
    """A workload, its servers (`group`) and its load (`at`).

    `at` is empty for a trace at its own speed. `slot_seconds`: length of a slot if times are shown in seconds, else None.
    """

    workload: Workload
    group: str
    at: str
    slots: int | None
    slot_seconds: float | None = None

    @property
    def of_jobs(self) -> bool:
        """Whether it is a table of whole jobs, run to their end."""
        return self.workload.jobs is not None and self.workload.jobs.job is not None

    @property
    def to_the_end(self) -> bool:
        """Whether it is a table that is run until all work is done.

        When the last task arrives, policies that postponed long tasks have shorter queues.
        """
        return self.workload.jobs is not None and self.slots is None

    @property
    def measures(self) -> list[Measure]:
        """Measures to compare. Tables run to their end have no mean queue."""
        ranked = ranked_measures(JOBS if self.of_jobs else QUEUE)
        return [DELAY if measure.key == "mean_queue" and self.to_the_end else measure for measure in ranked]

    def unit(self, measure: Measure) -> str:
        """Return the unit of a measure of time: slots, or s if known."""
        return "" if measure.unit != SLOTS else "slots" if self.slot_seconds is None else "s"

    def heading(self, measure: Measure) -> str:
        """Return the load, and the measure unless it is the mean queue."""
        unit = self.unit(measure)
        name = f"{measure.heading} ({unit})" if unit else measure.heading
        if self.workload.jobs is not None and self.slots is not None:  # the same table may be run to its end
            name = f"{name} in {self.slots:,} slots"
        elif not self.to_the_end and measure == self.measures[0]:
            return self.at
        return f"{self.at}, {name}" if self.at else name

    def in_unit(self, measure: Measure, mean: Interval) -> Interval:
        """Return slots in the unit of the heading."""
        by = (self.slot_seconds or 1.0) if measure.unit == SLOTS else 1.0
        return Interval(*(None if end is None else by * end for end in mean))

    @property
    def name(self) -> str:
        """Name such as `paper/fig4b at 0.95`."""
        return f"{self.group} at {self.at}" if self.at else self.group


def contests_of(sources: Iterable[Any], slots: int, warmup: int | None) -> list[Contest]:
    """Return the contests of texts or workloads, each once.

    Raises InputError.
    """
    contests: dict[tuple[str, int | None], Contest] = {}
    for source in sources:
        new = contest(source, slots) if isinstance(source, str) else contest_on(at_a_rate(source), slots)
        first = contests.setdefault((new.name, new.slots), new)
        if not isinstance(source, str) and first.workload is not new.workload:
            raise InputError(f"two workloads have the name {new.name}: give each a `name`")
    for new in contests.values():
        if warmup is not None and new.of_jobs:
            raise ArgumentError(f"{new.name}: `warmup` does not go with a table of jobs, which is measured as a whole")
        if warmup is not None and new.slots is not None and warmup >= new.slots:
            raise InputError(f"{new.name}: a warmup of {warmup} leaves none of {new.slots} slots")
    return [*contests.values()]


def contest(text: str, slots: int) -> Contest:
    """Read the contest `WORKLOAD[@SETTING,…]`.

    A setting is KEY=VALUE. An intensity may stand alone and first. Random workloads last `slots` slots, traces to their end,
    unless `slots=N` is set. Raises InputError.
    """
    source, written = source_and_settings(text)
    settings: dict[str, Any] = _settings(written, text) if source != text else {}
    length = _slots(settings.pop("slots"), text) if "slots" in settings else None
    settings |= {key: _number(settings[key], key, text) for key in INTENSITIES if key in settings}
    try:
        if len({*INTENSITIES} & {*settings}) > 1:
            raise ArgumentError("give one of `load`, `intensity` and `rate`")
        workload = at_a_rate(source, **({} if is_trace_source(source) else {"resources": USUAL}) | settings)
    except InputError as error:
        raise _of_settings(text, error) from None
    new = contest_on(workload, slots, length, settings.get("speedup", "1"))
    if new.of_jobs and length is not None:
        raise InputError(f"{text}: slots do not go with a table of whole jobs, which run to their end")
    return new


def source_and_settings(text: str) -> tuple[str, str]:
    """Return the parts before and after the @, unless a file has that name."""
    source, at, written = text.rpartition("@")
    return (source, written) if at and not Path(text).exists() else (text, "")


def _of_settings(text: str, error: InputError) -> ArgumentError:
    """Return the error with settings written as in texts: `servers=2x48:256`."""
    argument = error if isinstance(error, ArgumentError) else ArgumentError(str(error))
    texts = argument.problem, argument.advice
    written = (re.sub(SETTING, lambda m: m["name"] + ("=" if m["value"] else ""), part) for part in texts)
    problem, advice = written
    return ArgumentError(problem if problem.startswith(f"{text}:") else f"{text}: {problem}", advice, argument.remedy)


def contest_on(workload: Workload, slots: int, length: int | None = None, speedup: str = "1") -> Contest:
    """Return the contest on a workload. `length`: slots, also of a table."""
    slots_or_own = slots if length is None and workload.jobs is None else length
    return Contest(workload, *title_of(workload, speedup), slots_or_own, workload.slot_seconds)


def title_of(workload: Workload, speedup: str = "1") -> tuple[str, str]:
    """Return name and servers, and load. Usual servers are left out."""
    usual = named_workload(workload.name).servers if workload.name in WORKLOADS else None
    group = workload.name if workload.servers == usual else f"{workload.name}, {counted(len(workload.servers), 'server')}"
    if workload.given is None:
        return group, "" if speedup == "1" else f"β = {speedup}"
    key, value = workload.given
    return group, f"{value:g}" if key == "intensity" else f"{key} {value:g}"


def _settings(written: str, text: str) -> dict[str, str]:
    """Return the settings by key.

    A part without a key belongs to the value before it (servers=3x1,2x0.5). The first is the intensity.
    """
    settings: dict[str, str] = {}
    last = ""
    for part in written.split(","):
        key, equals, value = part.partition("=")
        if equals:
            last = key.strip().replace("-", "_")
            if last not in SETTINGS:
                raise InputError(f"{text}: unknown setting {key!r}{nearest(key, SETTINGS)}")
            settings[last] = value
        elif last:
            settings[last] += f",{part}"
        else:
            last = "intensity"
            settings[last] = part
    return settings


def _number(value: str, key: str, text: str) -> float:
    try:
        return read_number(value)
    except InputError:
        raise InputError(f"{text}: {key} must be a number, not {value!r}") from None


def _slots(value: str, text: str) -> int:
    try:
        return read_whole(value, 1)
    except InputError as problem:
        raise InputError(f"{text}: slots must be a whole number, at least 1: {problem}") from None
