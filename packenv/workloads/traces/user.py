"""Traces of users, in Parquet (perhaps in parts) or CSV.

In slots: `arrival`, `service`, and the demands: `size`, or `size_0, size_1, …`, or a column per resource.
In seconds: `submit_time_s`, `duration_s`, and a column per resource. `start_time_s` and `end_time_s` may replace `duration_s`. A
task without `submit_time_s` was submitted when it started, otherwise it waited between the two. Next to `duration_s` an end is
not read. Demands are in units of capacity.
CSV may be separated by `,` `;` `|` or tabs, compressed by gzip, and have decimal commas. Times are dates or numbers, durations
also 00:15:04, 1-02:03:04 or PT15M, amounts also 500m, 512Mi or 2G as in Kubernetes. Jobs and tenants may have names.

Optional columns of both forms are `job`, `value` and `tenant`, and the requested time and the additional time away from the data:
in slots `estimate` and `remote_overhead`, in seconds `estimate_s` and `remote_overhead_s`. Others are
`phase`         a task is eligible when all tasks of its job's earlier phases have ended; needs `job`
`predecessors`  the tasks that must end first: numbers of rows, from 0, or values of a column `id` if there is one
`home`          the servers that hold the task's data: their numbers, from 0
`gang`          the tasks of a gang, which come together, start in the same slot or not at all: a name or number, empty for none
`workers`       number of equal tasks in this row, which are a gang
`predecessors` and `home` hold lists (packenv.workloads.traces.links). With `gpu_kinds`, the kinds of GPU that a task accepts
(A10|V100, empty for all), the amounts of a resource `gpu` are GPUs: a part of one, in thousandths, or whole ones. Every other
column is a resource. If some are not, name the resources. Columns without a name, and such as `priority` (NO_RESOURCE), must be
left out or not be named.

Rows in seconds may be in any order, rows in slots must be in order of arrival. Tasks that come at the same time keep their
order, but predecessors go before the tasks that wait for them. A predecessor that comes later than a task that waits for it
is an error, and so are phases of a job that decrease in this order. All rows of a job have the same `value` and `tenant`.

If a task is dropped, its successors wait for its predecessors. The same holds for a milestone in slots, of a table with
`predecessors` or `phase`: a row without demand, or of service 0.

Bad input raises one InputError that names file, row and column. Row N is the N-th row of data, from 1, without header and blank
lines. In seconds an empty duration or demand is unknown. Any other empty cell is an error.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from packenv.errors import ArgumentError, InputError, nearest
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import excerpt, quantity_of
from packenv.jobs import GPU, Jobs, first_rows, gather, passed_on
from packenv.options.shared import AS_IT_IS, Reading
from packenv.units import LARGEST_AMOUNT, MOST, scale_for, to_units
from packenv.workloads.traces.columns import FIRST_TEXTS, Columns, decimals
from packenv.workloads.traces.gpus import can_be_devices, gpu_needs, of_gpus
from packenv.workloads.traces.links import falls, order_of, read_home, read_links, reordered
from packenv.workloads.traces.times import LATEST, MISSING, microseconds, origin_of, times
from packenv.workloads.traces.trace import OPTIONAL, TWICE, Bools, Trace, Wanted, waits_of

SLOT_FORM = ("arrival", "service")
SECONDS_FORM = ("submit_time_s", "duration_s", "start_time_s", "end_time_s")
IN_SECONDS = (("submit_time_s", "duration_s"), ("start_time_s", "end_time_s"), ("start_time_s", "duration_s"))
"""The columns of a table in seconds, at least."""
WORKERS = "workers"
GPU_KINDS = "gpu_kinds"
LENGTHS = ("estimate", "remote_overhead")
"""Columns of times: in slots, or with `_s` behind their names in seconds."""
LABELS = ("class", "tenant")
NAMED = (*OPTIONAL, "id", "class", *(f"{name}_s" for name in LENGTHS), GPU_KINDS, WORKERS)
ID = re.compile(r"((?P<job>job)[ _.-]?|task[ _.-]?)?id", re.IGNORECASE)
"""Names of columns that identify a row's task, or its job without another."""
NO_RESOURCE = re.compile(
    r"|index|unnamed: \d+|__index_level_\d+__|row|deadline|weight|status|event|partition|account|"
    r"(start|end|finish|schedule)_.*|sched(uling)?_class|group|server|machine|node|task(_index)?|"
    r"(.*[ _.-])?(prio(rity)?|queue|user|name|id)|(job|task|user|queue|group)(name|id)",
    re.IGNORECASE,
)
"""Names of columns that are no resources."""
MOST_GPUS = 8  # of a server
PER_WORKER = 200  # bytes of memory
WITH_UNIT = r"[kKMGTPE]i?B?$"  # of an amount such as 8Gi
FAR_APART = 1000  # times: tasks of 8Gi and of 128 bytes are implausible
MILESTONE = "milestones without demand or of 0 slots (the order through them is kept)"
OFTEN = {
    "submit_time_s": r"submit|submission|arriv|creat|queued",
    "duration_s": r"duration|run.?time|elapsed|wall.?time|(?<![a-z])run(?![a-z]|_id)",
    "start_time_s": r"start|begin|began",
    "end_time_s": r"\b(end|finish|complet)",
}
"""Words in other people's names of our columns."""
RESOURCES = {"cpu": r"cpu|(?<![a-z])v?cores?(?![a-z])", "memory": r"memory|(?<![a-z])(mem|ram)(?![a-z])", "gpu": r"gpu"}
"""And their names of resources."""
FURTHER = {
    "estimate_s": r"(requested|req)[ _.-]?(wall)?[ _.-]?time|(wall)?[ _.-]?time[ _.-]?limit",
    "tenant": r"user([ _.-]?(name|id))?",
}
"""And their names of optional columns that some policies read."""
UNIT = re.compile(r"[ _(\[](ms|us|ns|min|h)[)\]]?$", re.IGNORECASE)  # at the end of a column's name
FORMS = (
    "needs arrival, size, service (in slots), or submit_time_s, duration_s (or start_time_s, end_time_s) and a column per "
    "resource (in seconds)"
)


def read_user(
    path: Path,
    names: list[str],
    choice: Wanted = None,
    reading: Reading = AS_IT_IS,
    table: pa.Table | None = None,
) -> Trace:
    """Read a file or table in slots or in seconds.

    `choice` has the columns of demands, by default all without another meaning. `reading` has the file's names by ours (if one is
    a resource, only those are, unless `choice` has them), and the unit of numeric times, for a table in seconds. Raises
    InputError.
    """
    called, time_unit = reading.theirs or {}, reading.time_unit or "s"
    in_file, resources = names, choice
    names, choice = _by_our_names(path, names, choice, called)
    # A complete form: read it.
    in_seconds = any(set(form) <= set(names) for form in IN_SECONDS)
    if in_seconds or set(SLOT_FORM) <= set(names):
        form = SLOT_FORM if set(SLOT_FORM) <= set(names) else SECONDS_FORM
        demands = _demand_columns(path, names, form, choice, table, called)
        columns = _columns(path, table, [*form, *NAMED, *(name for name in names if ID.fullmatch(name)), *demands], called)
        if not len(columns):
            raise InputError(f"{path}: the file is empty")
        _check_lengths(columns, form is SLOT_FORM)
        if form is SLOT_FORM and time_unit != "s":
            raise ArgumentError(f"{path}: `time_unit` {time_unit} does not go with a table in slots")
        twice = _repeated(columns, in_file, table)
        return _in_slots(columns, demands, twice) if form is SLOT_FORM else _in_seconds(columns, demands, time_unit, twice)
    # Otherwise suggest names of the missing columns.
    present = [name for name in (*SLOT_FORM, *SECONDS_FORM) if name in names]
    missing = {
        "arrival": "service", "service": "arrival", "submit_time_s": "duration_s", "duration_s": "submit_time_s",
        "start_time_s": "end_time_s", "end_time_s": "start_time_s",
    }  # fmt: skip
    absent = "start_time_s" if {"submit_time_s", "end_time_s"} <= set(names) else missing[present[0]] if present else ""
    what = f"column {absent} is missing" if present else f"columns {', '.join(names) or 'none'}"
    remedy, known = _likely(in_file, called, resources is None)
    if known:
        further = _further(path, table, [name for name in in_file if name not in called.values()], names, remedy)
        remedy["columns"] = ",".join([remedy["columns"], *further])
    if time_unit != "s":
        remedy.pop("time_unit", None)
    suggestion = " ".join(f"`{name}` {shlex.quote(value)}" for name, value in remedy.items())
    raise ArgumentError(f"{path}: {what}; {FORMS}", f", or under other names with {suggestion}", remedy if known else None)


def _repeated(columns: Columns, in_file: list[str], table: pa.Table | None) -> Bools:
    """Mark repeated rows (n,), if a column other than `job` identifies tasks."""
    ids = [name for name in columns.names if ID.fullmatch(name) and name != "job" and name not in columns.in_file.values()]
    twice = columns.repeated(*ids, *columns.names) if ids else np.zeros(len(columns), np.bool_)
    if not twice.any():
        return twice
    complete = Columns.read(columns.path) if table is None else Columns(columns.path, table)
    return complete.repeated(*ids, *in_file)


def _likely(names: list[str], called: Mapping[str, str], with_resources: bool) -> tuple[dict[str, str], bool]:
    """Guess `columns` and `time_unit` for a table with other names.

    Also returns whether all times are there. Names are guessed by common words, NAME without any. `theirs`, which is known,
    stays. Resources are included, unless they are given, or `names` has several of a kind.
    """
    free = [name for name in names if name not in called.values()]
    times = _alike(OFTEN, free) | {name: name for name in free if name in SECONDS_FORM} | dict(called)
    known = next((form for form in IN_SECONDS if {*form} <= {*times}), None)
    form: tuple[str, ...] = known or IN_SECONDS[0]
    if "submit_time_s" in times and "submit_time_s" not in form:
        form = ("submit_time_s", *form)
    columns = {ours: times.get(ours, "NAME") for ours in form if times.get(ours) != ours} | dict(called)
    free = [name for name in free if name not in times.values() and not NO_RESOURCE.fullmatch(name)]
    amounts = _alike(RESOURCES, free)
    more = sum(bool(re.search("|".join(RESOURCES.values()), name, re.IGNORECASE)) for name in free) > len(amounts)
    of_ours = all(ours == name for ours, name in amounts.items())  # as they are without being named
    if with_resources and known and not more and not of_ours and {*called} <= {*SECONDS_FORM, *NAMED}:
        columns |= amounts
    units = {unit_match and unit_match[1].lower() for unit_match in (UNIT.search(times.get(ours, "")) for ours in form)}
    remedy = {"columns": ",".join(f"{ours}={name}" for ours, name in columns.items())}
    unit = units.pop() if len(units) == 1 else None
    return remedy | ({"time_unit": unit} if unit else {}), known is not None


def _further(path: Path, table: pa.Table | None, free: list[str], named: list[str], remedy: Mapping[str, str]) -> Iterator[str]:
    """Yield `estimate_s=time_limit` for readable columns with FURTHER names."""
    for ours, pattern in FURTHER.items():
        name = next((name for name in free if re.fullmatch(pattern, name, re.IGNORECASE)), None)
        if name is None or ours in named or f"={name}," in f"{remedy['columns']},":
            continue
        columns = _columns(path, table, [ours], {ours: name})
        try:
            if ours == "tenant":
                columns.names_numbered(ours)
            else:
                microseconds(columns, ours, MISSING, remedy.get("time_unit", "s"))
        except InputError:
            continue
        yield f"{ours}={name}"


def _alike(patterns: Mapping[str, str], names: list[str]) -> dict[str, str]:
    """Return the names with such words in them, by our names."""
    return {ours: name for ours, pattern in patterns.items() for name in names if re.search(pattern, name, re.IGNORECASE)}


def _check_lengths(columns: Columns, in_slots: bool) -> None:
    for name in LENGTHS:
        wrong, right = (f"{name}_s", name) if in_slots else (name, f"{name}_s")
        if wrong in columns:
            units = ("seconds", "slots") if in_slots else ("slots", "seconds")
            what = f"column {columns.shown(wrong)}: {wrong} counts {units[0]}, and this table has its times in {units[1]}"
            raise ArgumentError(f"{columns.path}: {what}: rename it {right}, or `columns` {right}={columns.shown(wrong)}")


def _by_our_names(path: Path, names: list[str], choice: Wanted, renamed: Mapping[str, str]) -> tuple[list[str], Wanted]:
    """Return our names of the columns, and the resources to read."""
    absent = [name for name in renamed.values() if name not in names]
    if absent:
        raise InputError(f"{path}: there is no column {absent[0]!r}{nearest(absent[0], names)}")
    called = [ours for name in names for ours in ([*_ours(renamed, name)] or ([name] if name not in renamed else []))]
    resources = tuple(name for name in renamed if name not in (*SLOT_FORM, *SECONDS_FORM, *NAMED))
    if isinstance(choice, tuple) and (idle := [name for name in resources if name not in choice]):
        what = f"{idle[0]!r} is neither a known column nor one of `resources` {shlex.quote(','.join(choice))}"
        raise ArgumentError(f"{path}: `columns`: {what}; known: {', '.join((*SLOT_FORM, *SECONDS_FORM, *NAMED))}")
    return called, resources if choice is None and resources else choice


def _ours(called: Mapping[str, str], name: str) -> Iterator[str]:
    """Yield our names of a file's column, which may be several."""
    return (ours for ours, their_name in called.items() if their_name == name)


def _columns(path: Path, table: pa.Table | None, names: list[str], in_file: Mapping[str, str]) -> Columns:
    called = {name: in_file.get(name, name) for name in names if name in in_file or name not in in_file.values()}
    complete = Columns.read(path, [*called.values()]).table if table is None else table
    there = {ours: name for ours, name in called.items() if name in complete.column_names}
    return Columns(path, pa.table([complete[name] for name in there.values()], names=[*there]), in_file)


def _demand_columns(
    path: Path, names: list[str], form: tuple[str, ...], choice: Wanted, table: pa.Table | None, called: Mapping[str, str]
) -> tuple[str, ...]:
    if choice is None or choice == "all":
        others = [name for name in names if name not in (*form, *NAMED)]
        sizes = [name for name in others if name == "size" or name.startswith("size_")]
        unknown = [name for name in others if name not in sizes]
        if sizes and unknown:
            raise InputError(f"{path}: column {unknown[0]} is not known; known: {', '.join((*form, *NAMED))}, size, size_0, …")
        for name in others:
            if NO_RESOURCE.fullmatch(name):
                which = f"column {name!r} is not a resource" if name else f"column {names.index(name) + 1} has no name (an index)"
                rest = [other for other in others if not NO_RESOURCE.fullmatch(other)]
                known = ",".join(other for other in rest if _has_amounts(_columns(path, table, rest, called), other))
                advice = f": leave it out, or name the resources (`resources` {shlex.quote(known or 'cpu,memory')})"
                raise ArgumentError(f"{path}: {which}", advice, {"resources": known} if known else None)
        choice = tuple(sorted(sizes, key=_place) if sizes else others)
    absent = [name for name in choice if name not in names]
    if absent or not choice:
        raise InputError(f"{path}: column {absent[0] if absent else 'size'} is missing; {FORMS}")
    return choice


def _has_amounts(columns: Columns, name: str) -> bool:
    try:
        decimals(Columns(columns.path, columns.table.slice(0, FIRST_TEXTS)), name, quantity_of)
    except InputError:
        return False
    return True


def _place(name: str) -> tuple[int, str]:
    number = name.removeprefix("size_")
    return (int(number) if number.isdecimal() else -1, name)


def _in_slots(columns: Columns, demands: tuple[str, ...], twice: Bools) -> Trace:
    # Arrivals in order, demands, services and milestones.
    arrival = _times(columns, "arrival")
    before = np.concatenate([[0], np.maximum.accumulate(np.where(twice, 0, arrival))[:-1]])
    columns.require((arrival >= before) | twice, "arrival", "{} is before the row above")
    amount = _amounts(columns, demands, empty=False)
    demanding = np.asarray((amount > 0).any(axis=1), np.bool_)
    service = columns.whole("service")
    milestone = (~demanding | (service == 0)) & bool({"predecessors", "phase"} & {*columns.names})
    columns.require(demanding | milestone, ", ".join(demands), "is 0" if len(demands) == 1 else "are all 0")
    columns.require((service >= 1) | milestone & (service >= 0), "service", "{} is below 1 slot")
    columns.require(service < LATEST, "service", "{} is too large")
    if milestone.all():
        raise InputError(f"{columns.path}: no task is left ({len(milestone)} {MILESTONE})")
    # Drop milestones and repeated rows, and pass on links through them.
    rows, extra = _in_order(columns, arrival)
    usable = ~(milestone | twice)[rows]
    if "predecessors" in extra:
        links = extra.pop("predecessors")
        extra["predecessors"] = passed_on(links, usable, extra.get("job"), extra.get("phase"), str(columns.path))
    if "home" in extra:
        extra["home"] = gather(extra["home"], np.flatnonzero(usable))
    extra = {name: column[usable] if isinstance(column, np.ndarray) else column for name, column in extra.items()}
    rows = rows[usable]
    devices, kinds = _devices(columns, demands, amount)
    extra |= {} if devices is None else {"devices": devices[rows], "device_kinds": kinds}
    scale = scale_for(np.full(len(demands), amount.max()), MOST)  # one for all resources, so that their largest amount fits
    jobs = Jobs(arrival[rows], to_units(amount[rows], scale or 0), service[rows], **extra, scale=scale)
    dropped = {reason: int(rows.sum()) for reason, rows in ((TWICE, twice), (MILESTONE, milestone & ~twice)) if rows.any()}
    return Trace.in_slots(
        jobs,
        demands,
        str(columns.path),
        dropped=dropped,
        rows=rows + 1,
        ids=_ids(columns),
        labels={name: columns.table[name] for name in LABELS if name in columns},
        device_shares=_shares_devices(demands, amount),
        devices_said=GPU_KINDS in columns,
        notes=_unit_notes(columns, demands, amount),
    )


def _in_seconds(columns: Columns, demands: tuple[str, ...], unit: str, twice: Bools) -> Trace:
    # Submission, start and end.
    names = [name for name in ("submit_time_s", "start_time_s", "end_time_s") if name in columns]
    if "duration_s" in columns:
        if columns.instants("duration_s", MISSING) is not None:
            instead = "with `columns` start_time_s=…,end_time_s=… a duration is the time between"
            raise ArgumentError(f"{columns.path}: column {columns.shown('duration_s')} holds dates, not durations; {instead}")
        names = [name for name in names if name != "end_time_s"]
    at = dict(zip(names, times(columns, names, unit), strict=True))
    submit = at[names[0]]
    start = at.get("start_time_s", submit)
    if "duration_s" in columns:
        duration = microseconds(columns, "duration_s", MISSING, unit)
        end = np.where((duration == MISSING) | (start == MISSING), MISSING, start + duration)
    else:
        end = at["end_time_s"]
        columns.require((end >= start) | (end == MISSING), "end_time_s", "{} is before the start")
    amount = _amounts(columns, demands, empty=True)
    rows, extra = _in_order(columns, submit)
    devices, kinds = _devices(columns, demands, amount)
    ran = (start != MISSING) & (end > start)
    starts = {"submit_time_s", "start_time_s"} <= {*names} and columns.shown("submit_time_s") != columns.shown("start_time_s")
    waits, missing = waits_of((submit <= start)[ran]) if starts else (False, ())
    return Trace(
        submit=submit[rows],
        schedule=start[rows],
        end=end[rows],
        demand=amount[rows],
        resources=demands,
        finished=None,
        in_snapshot=np.zeros(len(rows), np.bool_),
        unfit={TWICE: twice[rows]} if twice.any() else {},
        job=extra.pop("job", None),
        predecessors=extra.pop("predecessors", None),
        home=extra.pop("home", None),
        others=extra,
        requested=microseconds(columns, "estimate_s", MISSING, unit)[rows] if "estimate_s" in columns else None,
        remote=microseconds(columns, "remote_overhead_s", None, unit)[rows] if "remote_overhead_s" in columns else None,
        source=str(columns.path),
        rows=rows + 1,
        ids=_ids(columns),
        labels={name: columns.table[name] for name in LABELS if name in columns},
        time_unit=unit,
        origin=origin_of(columns, names[0]),
        devices=None if devices is None else devices[rows],
        device_kinds=kinds,
        devices_said=GPU_KINDS in columns,
        device_shares=_shares_devices(demands, amount),
        waits=waits,
        notes=(*_unit_notes(columns, demands, amount), *missing),
    )


def _ids(columns: Columns) -> pa.ChunkedArray | None:
    """Return the names of rows: `id`, a similar column, or `job`."""
    called = [name for name in columns.names if ID.fullmatch(name)]
    called.sort(key=lambda name: (name != "id", "job" in name.lower()))
    name = next(iter(called), "job")
    return None if name not in columns or pa.types.is_nested(columns.raw(name).type) else columns.raw(name)


def _devices(
    columns: Columns, demands: tuple[str, ...], amount: NDArray[np.float64]
) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    """Return rows' GPU needs and kind names, None for invalid amounts.

    Raises InputError for these if the table names kinds.
    """
    if GPU in demands and len(demands) > 1 and GPU_KINDS in columns:
        return gpu_needs(columns, GPU, GPU_KINDS)
    if GPU not in demands or len(demands) == 1 or not can_be_devices(amount[:, demands.index(GPU)]).all():
        return None, ()
    gpus = of_gpus(amount[:, demands.index(GPU)])
    return np.column_stack([gpus, np.zeros(len(gpus), np.int64)]), ()


def _times(columns: Columns, name: str) -> NDArray[np.int64]:
    slots = columns.whole(name)
    columns.require(slots >= 0, name, "{} is negative")
    columns.require(slots < LATEST, name, "{} is too large")
    return slots


def _amounts(columns: Columns, names: tuple[str, ...], empty: bool) -> NDArray[np.float64]:
    """Return demands (n, D) in units of capacity, NaN if `empty`."""
    amount = np.empty((len(columns), len(names)))
    for r, name in enumerate(names):
        amount[:, r] = decimals(columns, name, quantity_of)
        if not empty:
            columns.require(~np.isnan(amount[:, r]), name, "is empty")
        columns.require(~(amount[:, r] > LARGEST_AMOUNT), name, "{} exceeds the largest capacity, 2^50")
    return amount


def _unit_notes(columns: Columns, names: tuple[str, ...], amount: NDArray[np.float64]) -> tuple[str, ...]:
    """Return lines on columns that mix 8Gi with plain 128."""
    notes = []
    for r, name in enumerate(names):
        if not pa.types.is_string(columns.raw(name).type):
            continue
        texts = columns.column(name).combine_chunks()
        units = np.asarray(pc.match_substring_regex(texts, WITH_UNIT).fill_null(False))
        plain = ~units & (np.nan_to_num(amount[:, r]) > 0)
        if not units.any() or not plain.any():
            continue
        least = int(np.argmin(np.where(units, amount[:, r], np.inf)))
        most = int(np.argmax(np.where(plain, amount[:, r], 0)))
        if FAR_APART * amount[most, r] < amount[least, r]:
            notes.append(
                f"column {columns.shown(name)}: {texts[least]} counts as {amount[least, r]:,.0f}, and {texts[most]} in row "
                f"{most + 1} as {texts[most]}: is its unit missing?"
            )
    return tuple(notes)


def _shares_devices(names: tuple[str, ...], amount: NDArray[np.float64]) -> bool:
    """Return whether GPU demands (n, D) are fractions for up to MOST_GPUS."""
    gpus = np.nan_to_num(amount[:, [r for r, name in enumerate(names) if "gpu" in name.lower()]])
    return not any(np.allclose(gpus * count, np.rint(gpus * count)) for count in range(1, MOST_GPUS + 1))


def _in_order(columns: Columns, time: NDArray[np.int64]) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Return rows in the table's order, and the optional columns.

    Predecessors are renumbered. A row of several workers is repeated.
    """
    links = read_links(columns) if "predecessors" in columns else None
    rows = order_of(time, links, columns)
    optional = _optional(columns)
    if WORKERS in columns:
        rows = _workers(columns, rows, optional)
    elif "gang" in columns:
        waits = np.zeros(len(rows), np.bool_) if links is None else np.diff(links.offsets) > 0
        waits |= optional["phase"] > 0 if "phase" in columns else False
        columns.require((optional["gang"] < 0) | ~waits, "gang", "{} waits for other tasks")
        rows = _side_by_side(columns, rows, time, optional["gang"])
    extra: dict[str, Any] = {name: column[rows] for name, column in optional.items()}
    if "phase" in columns:
        if "job" not in columns:
            raise InputError(f"{columns.path}: column phase needs a column job")
        down = np.zeros(len(rows), np.bool_)
        down[rows] = falls(extra["job"], extra["phase"])
        columns.require(~down, "phase", "{} is below the phase of an earlier task of the job")
    if links is not None:
        extra["predecessors"] = reordered(links, rows)
    if "home" in columns:
        extra["home"] = gather(read_home(columns), rows)
    return rows, extra


def _workers(columns: Columns, rows: NDArray[np.int64], optional: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Repeat the rows for each worker, as gangs, and jobs if unnamed."""
    for other in ("gang", "predecessors"):
        if other in columns:
            raise InputError(f"{columns.path}: columns {WORKERS} and {other} do not go together")
    workers = columns.whole(WORKERS)
    columns.require(workers >= 1, WORKERS, "{} workers")
    Memory(columns.path).reserve(PER_WORKER * int(workers.sum()))
    optional["gang"] = np.arange(len(workers))
    optional.setdefault("job", np.arange(len(workers)))
    return np.repeat(rows, workers[rows])


def _side_by_side(
    columns: Columns, rows: NDArray[np.int64], time: NDArray[np.int64], gang: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Move a gang's rows, which must arrive together, behind its first."""
    place = np.argsort(rows)
    number = np.where(gang >= 0, gang, gang.max(initial=0) + 1 + np.arange(len(gang)))
    _, inverse = np.unique(number, return_inverse=True)
    earliest = np.full(inverse.max(initial=-1) + 1, len(rows))
    np.minimum.at(earliest, inverse, place)
    leader = rows[earliest[inverse]]
    no_flag = "the column has the name of each task's gang, empty for none, and option gangs makes one of each job's tasks"
    columns.require(time == time[leader], "gang", "gang {} has tasks that come at different times; " + no_flag)
    return rows[np.argsort(earliest[inverse][rows], kind="stable")]


def _optional(columns: Columns) -> dict[str, NDArray[Any]]:
    extra: dict[str, NDArray[Any]] = {}
    for name in ("job", "tenant"):
        if name in columns:
            extra[name] = columns.names_numbered(name)
    for name in ("phase", "remote_overhead"):
        if name in columns:
            extra[name] = columns.whole(name)
            columns.require(extra[name] >= 0, name, "{} is negative")
    for name in ("value", "estimate"):
        if name in columns:
            extra[name] = columns.numbers(name)
    if "gang" in columns:
        extra["gang"] = columns.texts("gang")[0]
    if "value" in columns and "job" in columns:
        job, value, first = extra["job"], extra["value"], first_rows(extra["job"])
        for row in np.flatnonzero(value != value[first])[:1]:
            raise columns.error(row, "value", f"{value[row]:g}; job {job[row]} has {value[first[row]]:g} in row {first[row] + 1}")
    if "tenant" in columns and "job" in columns:
        job, tenant, first = extra["job"], extra["tenant"], first_rows(extra["job"])
        for row in np.flatnonzero(tenant != tenant[first])[:1]:
            places = (("tenant", row), ("job", row), ("tenant", int(first[row])))
            names = [excerpt(str(columns.table[name][at].as_py()), quoted=False) for name, at in places]
            problem = f"{names[0]}; job {names[1]} has {names[2]} in row {first[row] + 1}, and a job has one tenant"
            raise columns.error(row, "tenant", problem)
    if "estimate" in columns:
        columns.require(extra["estimate"] > 0, "estimate", "{} is not above 0")
    return extra
