"""Delays of runs by classes of tasks: their sizes, labels such as users, or a stream's types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.content.text import listed
from packenv.errors import ArgumentError, InputError
from packenv.jobs import Jobs
from packenv.results.job_times import eligible_slots
from packenv.results.result import Result
from packenv.results.schedule_table import Schedule
from packenv.runs.statistics import mean_and_half
from packenv.units import UNIT
from packenv.workloads.demand import scalar_size
from packenv.workloads.in_service import counted_tasks
from packenv.workloads.laws import HyperExponential, Joint, Mixture
from packenv.workloads.laws.law import AtomicLaw
from packenv.workloads.sampling import rows_drawn
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]
MOST_DISCRETE = 4  # sizes of a table with a class for each
MOST_LABELS = 12
"""Labels with a class each: those with most tasks. OTHERS has the tasks of all others."""
OTHERS = "all others"
TENANTS = ("tenant", "user")
"""Labels of tables without texts: the numbers of the tasks' owners."""
TYPES = "class"
"""The label of a stream: the type of a task."""
TIMES = {"recorded": "recorded", "mean_delay": "mean delay", "delay_p95": "p95", "delay_p999": "p99.9", "max_delay": "largest"}
"""Measures of a class, in slots, and the headings of their columns; `recorded` is the mean wait in the log."""

Classes = dict[str, dict[str, Any]]
"""For each class: `tasks` that started, and TIMES, None if none started."""


class DelayClass(NamedTuple):
    """Delays of the started tasks of one class, in slots, None without any."""

    label: int | str  # units: the largest size in the class; or the label of its tasks
    tasks: int
    recorded: float | None  # mean wait of these tasks in the log
    mean_delay: float | None
    delay_p95: float | None  # the smallest delay that at least 95 % of the tasks do not exceed
    delay_p999: float | None
    max_delay: int | None


def by_size(workload: Workload, by_policy: Sequence[Sequence[Result]]) -> list[list[Classes]]:
    """Return delays of tasks by size, in the classes of the first run.

    Runs have schedules. Sizes are in units of capacity. Of several resources, the size is the largest share of the largest
    server.
    """
    bounds: Ints | None = None
    measured: list[list[Classes]] = []
    for runs in by_policy:
        measured.append([])
        for run in runs:
            assert run.schedule is not None
            jobs = workload.played_jobs(run.seed, len(run.schedule.start))
            jobs, schedule = counted_tasks(workload.draw, run.seed, jobs, run.schedule, run.slots)
            size = scalar_size(jobs.demand, workload.servers)
            bounds = class_bounds(size) if bounds is None else bounds
            classes = delay_by_size(jobs, schedule, size, run.warmup, bounds, workload.provenance.recorded_waits)
            names = [f"{bound / UNIT * workload.servers.size_unit:.4g}" for bound in bounds.tolist()]
            measured[-1].append(_plain(names, classes))
    return measured


def by_label(workload: Workload, by_policy: Sequence[Sequence[Result]], by: str) -> list[list[Classes]]:
    """Return delays by the label `by` of the tasks, in the classes of the first run.

    Runs have schedules. A gang counts once. Raises InputError if the tasks have no such labels.
    """
    names: list[str] = []
    measured: list[list[Classes]] = []
    for runs in by_policy:
        measured.append([])
        for run in runs:
            assert run.schedule is not None
            jobs = workload.played_jobs(run.seed, len(run.schedule.start))
            code, labels = labels_of(workload, jobs, by, run.seed)
            if not names:
                tasks = np.bincount(code, jobs.leads, len(labels))
                often = np.argsort(-tasks, kind="stable")
                names = [labels[n] for n in often[:MOST_LABELS]] + [OTHERS] * (len(labels) > MOST_LABELS)
            place = {name: n for n, name in enumerate(names)}
            of = np.array([place.get(label, len(names) - 1) for label in labels], np.int64)[code]
            classes = _delays(jobs, run.schedule, of, names, run.warmup, workload.provenance.recorded_waits, jobs.leads)
            measured[-1].append(_plain(names, classes))
    return measured


def labels_of(workload: Workload, jobs: Jobs, by: str, seed: int) -> tuple[Ints, list[str]]:
    """Return the number of each task's label (n,), and all labels.

    Raises InputError if the tasks have no labels `by`.
    """
    if workload.jobs is None:
        types = types_of(workload, jobs, seed)
        if types is None:
            raise ArgumentError(f"`by` {by}: {workload.name} is random without types of tasks: `by_size` has classes of sizes")
        if by != TYPES:
            raise ArgumentError(f"`by` {by}: {workload.name} is random: `by` {TYPES} has the types of its tasks")
        return types
    records = workload.provenance.file_records
    labelled = None if records is None else records.labelled(by)
    if labelled is not None:
        return labelled[0][: len(jobs)], labelled[1]
    if jobs.tenant is not None and by in TENANTS:
        owners, code = np.unique(jobs.tenant, return_inverse=True)
        return code, [str(owner) for owner in owners.tolist()]
    has = [*({} if records is None or records.rows is None else records.labels)] + [TENANTS[0]] * (jobs.tenant is not None)
    printable = {} if records is None else records.printable
    if by in printable:
        raise ArgumentError(f"`by` {by}: {workload.name} has no field {by}", printable[by])
    if has:
        raise ArgumentError(f"`by` {by}: {workload.name} has no such labels; it has {listed(has)}")
    raise ArgumentError(f"`by` {by}: {workload.name} has no labels: name a column of your table, as in `columns` class=Queue")


def types_of(workload: Workload, jobs: Jobs, seed: int) -> tuple[Ints, list[str]] | None:
    """Return the number of each task's type in a stream (n,), and all types, or None without types.

    They are the demand vectors, values or components of the law of sizes. If it has one, they are those of services. `jobs`:
    the first rows with this seed.
    """
    source, rows = workload.source([seed], chunk=1), np.arange(len(jobs))
    laws, stream, plan = source.laws, source.stream[0], source.laws.plan[0]
    like = jobs.job if plan["alike"] and jobs.job is not None else rows
    sizes = plan["vectors"] if isinstance(workload.sizes, Joint) else laws.size[0]
    for law, *draw in (
        (workload.sizes, sizes, stream["size_key"], like),
        (workload.service, plan["service"], stream["service_key"], rows),
    ):
        types = _types_of(law)
        if len(types) > 1:
            return rows_drawn(laws, *draw), [f"{name} ({n})" if types.count(name) > 1 else name for n, name in enumerate(types)]
    return None


def _types_of(law: Any) -> list[str]:
    """Return a name for each row of the law's table; none of other laws."""
    match law:
        case Joint(vectors=vectors):
            return [":".join(f"{demand:.4g}" for demand in vector) for vector in vectors]
        case Mixture(laws=laws, weights=weights):
            return [repr(part) for part, weight in zip(laws, weights or (), strict=True) if weight > 0]
        case HyperExponential(means=means, weights=weights):
            return [f"mean {mean:.4g}" for mean, weight in zip(means, weights or (), strict=True) if weight > 0]
        case AtomicLaw():
            return [f"{value:.4g}" for value in law.atoms()[0]]
    return []


def _plain(names: Sequence[str], classes: Sequence[DelayClass]) -> Classes:
    return {name: dict(zip(of._fields[1:], of[1:], strict=True)) for name, of in zip(names, classes, strict=True)}


def mean_by_class(seeds: Sequence[Classes]) -> Classes:
    """Return one policy's means over its seeds, with `interval` (95 %).

    None unless every seed has a value.
    """
    summary: Classes = {}
    for name in seeds[0]:
        summary[name] = {"tasks": float(np.mean([of_seed[name]["tasks"] for of_seed in seeds])), "interval": {}}
        for key in TIMES:
            values = [of_seed[name][key] for of_seed in seeds]
            summary[name][key], summary[name]["interval"][key] = (None, None) if None in values else mean_and_half(values)
    return summary


def class_bounds(size: Ints) -> Ints:
    """Return class bounds (classes,), units, ascending.

    They are up to four sizes, or the quartiles of more.
    """
    bounds = np.unique(size)
    if len(bounds) > MOST_DISCRETE:
        bounds = np.unique(np.quantile(size, (0.25, 0.5, 0.75, 1), method="inverted_cdf"))
    return np.asarray(bounds, np.int64)


def delay_by_size(
    jobs: Jobs, schedule: Schedule, size: Ints, warmup: int = 0, bounds: Ints | None = None, recorded: Ints | None = None
) -> tuple[DelayClass, ...]:
    """Return a class for each bound, smallest sizes first.

    The last class includes larger sizes. `size` (n,) units, of each row. `bounds`: of `class_bounds`, by default of these
    sizes. `recorded`: slots that each row waited in its log. Only tasks eligible in slot `warmup` or later count. Raises
    InputError if the schedule and the table differ in length.
    """
    if not len(jobs) == len(size) == len(schedule.start):
        raise InputError(f"a schedule of {len(schedule.start)} rows and {len(size)} sizes do not go with {len(jobs)} tasks")
    bounds = class_bounds(size) if bounds is None else bounds
    return _delays(jobs, schedule, np.searchsorted(bounds[:-1], size), bounds.tolist(), warmup, recorded)


def _delays(
    jobs: Jobs,
    schedule: Schedule,
    of: Ints,
    labels: Sequence[int | str],
    warmup: int,
    recorded: Ints | None,
    counted: NDArray[np.bool_] | bool = True,
) -> tuple[DelayClass, ...]:
    """Return a class for each label. `of` (n,): the place of each row's label."""
    eligible = eligible_slots(jobs, schedule)
    measured = (schedule.start >= 0) & (eligible >= warmup) & counted
    classes = []
    for k, label in enumerate(labels):
        rows = np.flatnonzero(measured & (of == k))
        delays = (schedule.start - eligible)[rows]
        if len(rows) == 0:
            classes.append(DelayClass(label, 0, None, None, None, None, None))
            continue
        p95, p999 = np.quantile(delays, (0.95, 0.999), method="inverted_cdf").tolist()
        waited = None if recorded is None else float(recorded[rows].mean())
        classes.append(DelayClass(label, len(rows), waited, float(delays.mean()), float(p95), float(p999), int(delays.max())))
    return tuple(classes)
