"""Slurm's accounting from `sacct --parsable2`, with its header.

needed   JobID; Submit, Eligible or Start; Elapsed, ElapsedRaw, or Start and End; AllocTRES, ReqTRES, AllocCPUS, NCPUS or ReqCPUS
read     State, Timelimit or TimelimitRaw (the estimate), ReqMem, NNodes, Partition, User, Account, QOS

A job arrives when it is eligible, or at its submission without that field. It takes its allocated resources, or else the
requested ones: cpu (cores); if named, or with `all`, memory (GiB) and gpu; if named, node. If servers are nodes, a job on several
nodes is a gang with a task for each node, with equal parts of the job's resources. On one server, `--servers 1x9216`, it is one
task. The components of a heterogeneous job (200+0, 200+1) are a gang too. A task of an array is a job. Rows that sacct printed
twice (the same job, start and end) count once. Steps (123.batch) are no jobs. Jobs that failed, were cancelled or ran into their
limit after their start are load. Jobs cancelled before it, and jobs that still wait or run, are left out and counted. Their state
shows this, and without one, or for another state, an End that is Unknown. Times are as written, without a zone.
Nodes: `scontrol show node` or `sinfo -N -o "%N %c %m %G %T"`, without those that are down, drained, failed or do not respond.
Source: slurm.schedmd.com/sacct.html, /tres.html, /scontrol.html, /sinfo.html.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.numbers import excerpt, is_number
from packenv.inputs.text_files import lines_of
from packenv.jobs import first_rows
from packenv.workloads.traces.columns import Columns, names_of, reading_table
from packenv.workloads.traces.formats import TraceFormat, first_bytes
from packenv.workloads.traces.times import MISSING, SECOND, origin_of, times
from packenv.workloads.traces.trace import TWICE, Trace, Wanted, resource_names

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ID = ("JobID", "JobIDRaw")
ARRIVALS, ELAPSED, LIMITS = ("Eligible", "Submit"), ("Elapsed", "ElapsedRaw"), ("Timelimit", "TimelimitRaw")
AMOUNTS, CPUS, NODES = ("AllocTRES", "ReqTRES"), ("AllocCPUS", "NCPUS", "ReqCPUS"), ("AllocNodes", "NNodes", "ReqNodes")
LABELS = ("User", "Account", "Partition", "QOS")
FIELDS = (
    *ID,
    *ARRIVALS,
    "Start",
    "End",
    *ELAPSED,
    *LIMITS,
    *AMOUNTS,
    *CPUS,
    *NODES,
    "ReqMem",
    "State",
    *LABELS,
    "Cluster",
)
RUN = (*ID, "Cluster", *ARRIVALS, "Start", "End")
"""Fields that identify a job's run: a requeued job has several."""
COMPONENT = r"^(?P<job>[0-9]+)\+[0-9]+$"  # of a heterogeneous job
ARRAY = re.compile(r"_\[([0-9]+(?:-[0-9]+(?::[1-9][0-9]*)?)?(?:,[0-9]+(?:-[0-9]+(?::[1-9][0-9]*)?)?)*)(?:%[0-9]+)?\]$")
"""Waiting tasks of an array: numbers, ranges and steps, and how many may run at once."""
NOT_MODELLED = re.compile(r"gres/(?!gpu(:|$)|gpumem|gpuutil)[^=]+|(license|bb)/[^=]+")
"""Trackable resources without servers; billing, energy and the like are no such resources."""
NODE_COUNT = "node"
"""Number of nodes: a resource only if named, because it gives every job an exclusive node."""
RESOURCES, USUAL = ("cpu", "memory", "gpu", NODE_COUNT), ("cpu",)
UNKNOWN = ("Unknown", "None", "UNLIMITED", "Partition_Limit", "INVALID", "NOT_SET")
TIME = re.compile(r"(?:([0-9]+)-)?(?:([0-9]+):)?([0-9]+):([0-9]{2}(?:\.[0-9]+)?)", re.ASCII)  # [DD-[HH:]]MM:SS
MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGTP]?)(?:i?B)?([nc]?)", re.ASCII)
GIB = {"K": 2.0**-20, "": 2.0**-10, "M": 2.0**-10, "G": 1.0, "T": 2.0**10, "P": 2.0**20}
STEPS = "steps of jobs"
CANCELLED, WAITING, RUNNING = "cancelled before the start", "waiting", "still running"
ENDED = (
    "COMPLETED",
    "FAILED",
    "TIMEOUT",
    "CANCELLED",
    "NODE_FAIL",
    "PREEMPTED",
    "OUT_OF_MEMORY",
    "BOOT_FAIL",
    "LAUNCH_FAILED",
    "RECONFIG_FAIL",
    "DEADLINE",
    "REVOKED",
)
NEVER_BEGAN = ("CANCELLED", "REVOKED", "DEADLINE")
"""States of jobs that may have been ended before their start on purpose."""
WAITS = ("PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT")
RUNS = ("RUNNING", "SUSPENDED", "STOPPED", "CONFIGURING", "COMPLETING", "SIGNALING", "STAGE_OUT")
"""States of jobs with servers; a suspended job may have lent its cores."""
ABOUT = "capacity in cores, GiB and GPUs; a job on several nodes is a task for each where servers are nodes"
NO_ZONE = "times have no zone, as sacct prints them: the hour that occurs twice in autumn is ambiguous"
SNIFFED = 2**12  # bytes


def is_accounting(names: list[str]) -> bool:
    """Return whether a table with these columns comes from sacct."""
    return not {*ID}.isdisjoint(names) and len({*FIELDS} & {*names}) > 2


def begins_as_accounting(path: Path) -> bool:
    """Return whether the first line is a header of sacct."""
    first = first_bytes(path, SNIFFED).decode("utf-8", errors="replace").splitlines()[:1]
    return bool(first) and is_accounting(first[0].lstrip("\ufeff").split("|"))


def begins_in_columns(path: Path) -> bool:
    """Return whether a file is sacct output of fixed widths, without --parsable2."""
    lines = first_bytes(path, SNIFFED).decode("utf-8", errors="replace").lstrip("\ufeff").splitlines()[:2]
    return len(lines) == 2 and not {*ID}.isdisjoint(lines[0].split()) and bool(re.fullmatch(r"-{2,}( +-+)+ *", lines[1]))


def refuse_columns(path: Path, choice: Wanted = None) -> Trace:
    """Raise InputError: fixed widths cut fields short."""
    raise InputError(f"{path}: sacct printed fixed widths, which cut fields short: print it again with --parsable2 (-P)")


def read_accounting(path: Path, choice: Wanted = None) -> Trace:
    """Read a task per job."""
    columns, rows, whole = _jobs(path)
    ids = whole.column(next(name for name in ID if name in whole)).cast(pa.string())
    steps = len(ids) - len(rows)
    columns, rows, never = _with_arrival(columns, rows)
    has = [name for name in FIELDS if name in columns]
    # Resources, and a check of the fields.
    demand = _demand(columns)
    available = tuple(name for name in RESOURCES if name in demand)
    requested = tuple(name for name in available if name != NODE_COUNT) if choice == "all" else choice
    resources = resource_names(requested, available, USUAL, path)
    others = [name for name in available if name not in (*resources, NODE_COUNT) and (demand[name] > 0).any()]
    if not ({*ARRIVALS, "Start"} & {*has} and ({*ELAPSED} & {*has} or {"Start", "End"} <= {*has})):
        missing = "Submit" if {*ELAPSED, "End"} & {*has} else "Elapsed"
        raise InputError(f"{path}: field {missing} is missing: sacct --format needs Submit, Start and Elapsed")
    # Times of arrival, start and end.
    instants = [name for name in ("Submit", "Eligible", "Start", "End") if name in has]
    at = dict(zip(instants, times(columns, instants), strict=True))
    elapsed = next((_lengths(columns, name) for name in ELAPSED if name in has), None)
    submit = at[instants[0]]
    arrival = np.maximum(submit, at.get("Eligible", submit))
    start = at.get("Start", arrival)
    if elapsed is None:
        elapsed = np.where((at["End"] == MISSING) | (start == MISSING), MISSING, at["End"] - start)
    # Jobs that ended, run or wait, by state or else by their times.
    state = _states(columns)
    began = (start != MISSING) & (elapsed > 0)
    over = np.isin(state, ENDED) | ~(np.isin(state, (*RUNS, *WAITS)) | (at["End"] == MISSING if "End" in at else False))
    runs = ~over & (np.isin(state, RUNS) | (start != MISSING) & ~np.isin(state, WAITS))
    limit = next((_lengths(columns, name) for name in LIMITS if name in has), None)
    # Components of a heterogeneous job arrive together.
    component = _components(columns, start)
    leader = np.arange(len(start)) if component is None else _first_of(component)
    arrival = arrival if component is None else _latest(arrival, leader)
    order = np.lexsort((leader, arrival))
    nodes = np.maximum(np.nan_to_num(demand[NODE_COUNT], nan=1.0), 1).astype(np.int64) if NODE_COUNT in demand else None
    users = columns.names_numbered("User") if "User" in has and columns.column("User").null_count == 0 else None
    return Trace(
        submit=arrival[order],
        schedule=start[order],
        end=np.where((start != MISSING) & (elapsed != MISSING), start + elapsed, MISSING)[order],
        demand=np.stack([demand[name] for name in resources], axis=1)[order],
        resources=resources,
        finished=((state == "COMPLETED") | (state == ""))[order],
        in_snapshot=np.zeros(len(order), np.bool_),
        others=({} if users is None else {"tenant": users[order]}) | ({} if component is None else {"gang": component[order]}),
        job=None if component is None else leader[order],
        nodes=None if nodes is None or (nodes == 1).all() else nodes[order],
        requested=None if limit is None or (limit <= 0).all() else limit[order],
        unfit={
            TWICE: columns.repeated(*(name for name in RUN if name in has))[order],
            CANCELLED: (over & ~began & (np.isin(state, NEVER_BEGAN) | (state == "") & (start == MISSING)))[order],
            WAITING: (~over & ~runs)[order],
            RUNNING: runs[order],
        },
        partition=_texts(columns, "Partition")[order] if "Partition" in has else None,
        source=str(path),
        rows=rows[order] + 1,
        ids=ids,
        labels={name.lower(): whole.column(name) for name in LABELS if name in whole},
        printable={name.lower(): f"; add {name} to sacct's --format" for name in LABELS if name not in whole},
        about=ABOUT,
        dropped={STEPS: steps, **never, WAITING: never.get(WAITING, 0) + _more_of_arrays(columns)},
        slot_seconds="1",
        notes=(*([NO_ZONE] if (dates := columns.instants(instants[0])) and not dates[1] else ()),),
        not_modelled={name: asks[order] for name, asks in _not_modelled(columns).items()},
        uncounted=tuple(others) if choice is None else (),
        processors=1.0 if resources[0] == "cpu" else None,
        origin=origin_of(columns, instants[0]),
        waits="Start" in has and bool({*ARRIVALS} & {*has}),  # jobs without a start are no load
        list_of_servers="scontrol show node > nodes.txt",
    )


def _components(columns: Columns, start: Ints) -> Ints | None:
    """Number simultaneous components (n,), -1 for other jobs, None without any."""
    id_ = columns.column(next(name for name in ID if name in columns)).cast(pa.string()).combine_chunks()
    job = pc.struct_field(pc.extract_regex(id_, COMPONENT), "job")
    if job.null_count == len(job):
        return None
    number = np.asarray(job.dictionary_encode().indices.fill_null(-1), np.int64)
    together = np.unique(np.stack([number, start]), axis=1, return_inverse=True)[1].ravel()
    return np.where(number < 0, -1, together)


def _more_of_arrays(columns: Columns) -> int:
    """Count the waiting tasks of arrays such as 1006_[3-9%2], beyond one for each row."""
    ids = columns.column(next(name for name in ID if name in columns)).cast(pa.string()).drop_null()
    return sum(_tasks_of_array(found[1]) - 1 for number in ids.to_pylist() if (found := ARRAY.search(number)))


def _tasks_of_array(tasks: str) -> int:
    """Return the number of tasks of "1,3-9:2"."""
    spans = [(*map(int, re.findall(r"[0-9]+", part)), 1) for part in tasks.split(",")]
    return sum(len(range(span[0], span[1] + 1, span[2])) if len(span) > 2 else 1 for span in spans)


def _first_of(component: Ints) -> Ints:
    return first_rows(np.where(component < 0, component.max() + 1 + np.arange(len(component)), component))


def _latest(arrival: Ints, leader: Ints) -> Ints:
    """Return the latest arrival of rows with the same leader (n,)."""
    latest = arrival.copy()
    np.maximum.at(latest, leader, arrival)
    return np.asarray(latest[leader], np.int64)


def _not_modelled(columns: Columns) -> dict[str, NDArray[np.bool_]]:
    """Mark jobs (n,) that ask for each resource without servers."""
    asks: dict[str, NDArray[np.bool_]] = {}
    for field in (field for field in AMOUNTS if field in columns):
        encoded = columns.column(field).cast(pa.string()).combine_chunks().dictionary_encode()
        row = np.asarray(encoded.indices.fill_null(-1), np.int64)
        for n, text in enumerate(encoded.dictionary.to_pylist()):
            for name, _, amount in (part.partition("=") for part in text.split(",")):
                if NOT_MODELLED.fullmatch(name) and amount.strip("0.") != "":
                    asks[name] = asks.get(name, np.zeros(len(row), np.bool_)) | (row == n)
    return asks


def _jobs(path: Path) -> tuple[Columns, Ints, Columns]:
    """Return the columns of jobs, their rows, and the columns with steps."""
    names = names_of(path)
    columns = Columns.read(path, [name for name in FIELDS if name in names])
    table = columns.table
    for n, name in enumerate(table.column_names):
        text = columns.column(name)
        if pa.types.is_string(text.type):
            unknown = pc.is_in(text, pa.array(UNKNOWN))
            table = table.set_column(n, name, pc.if_else(unknown, pa.scalar(None, pa.string()), text))
    if not len(columns):
        raise InputError(f"{path}: the file is empty")
    number = Columns(path, table).column(next(name for name in ID if name in table.column_names)).cast(pa.string())
    is_step = np.asarray(pc.match_substring(number, ".").fill_null(False))
    if is_step.all():
        raise InputError(f"{path}: only steps of jobs, no job: remove the filter, or run sacct with --allocations")
    rows = np.flatnonzero(~is_step)
    return NumberedRows(path, table.take(pa.array(rows)), rows), rows, Columns(path, table)


def _with_arrival(columns: Columns, rows: Ints) -> tuple[Columns, Ints, dict[str, int]]:
    """Return jobs with a known arrival, and omissions by reason.

    It applies if a log has eligible or start times but no submissions.
    """
    first = next((name for name in ("Submit", "Eligible", "Start") if name in columns), None)
    if first is None or first == "Submit":
        return columns, rows, {}
    known = np.asarray(pc.is_valid(columns.column(first)))
    over = np.isin(_states(columns)[~known], ENDED)
    never = {CANCELLED: int(over.sum()), WAITING: int((~over).sum())}
    return NumberedRows(columns.path, columns.table.filter(pa.array(known)), rows[known]), rows[known], never


class NumberedRows(Columns):
    """Columns of some rows, with the file's numbers in messages."""

    def __init__(self, path: Path, table: pa.Table, rows: Ints) -> None:
        super().__init__(path, table)
        self.rows = rows

    def error(self, row: int, column: str, problem: str) -> InputError:
        return super().error(int(self.rows[row]), column, problem)


def _mapped(columns: Columns, name: str, read: Callable[[str], float | None], form: str) -> Floats:
    """Apply `read` to distinct texts (n,), NaN if empty, and check."""
    encoded = columns.column(name).cast(pa.string()).combine_chunks().dictionary_encode()
    values = [read(text) for text in encoded.dictionary.to_pylist()]
    for place, value in enumerate(values):
        if value is None:
            row = int(np.argmax(np.asarray(pc.equal(encoded.indices, place).fill_null(False))))
            raise columns.error(row, name, f"{excerpt(encoded.dictionary[place].as_py())} is no {form}")
    return np.asarray(pa.array(values, pa.float64()).take(encoded.indices).fill_null(np.nan), np.float64)


def _lengths(columns: Columns, name: str) -> Ints:
    """Return µs (n,) of Elapsed, Timelimit etc., or MISSING."""
    per_unit = 60.0 if name == "TimelimitRaw" else 1.0

    def seconds(text: str) -> float | None:
        if name.endswith("Raw"):
            return float(text) * per_unit if is_number(text) else None
        return seconds_of(text)

    lasts = _mapped(columns, name, seconds, "time such as 1-02:03:04" if per_unit == 1.0 else "number of minutes")
    return np.where(np.isnan(lasts), MISSING, np.rint(np.nan_to_num(lasts) * SECOND)).astype(np.int64)


def seconds_of(text: str) -> float | None:
    """Return the seconds of 1-02:03:04 or 15:04, else None."""
    parts = TIME.fullmatch(text)
    if parts is None:
        return None
    days, hours, minutes, rest = (float(part or 0) for part in parts.groups())
    return 86_400 * days + 3600 * hours + 60 * minutes + rest


def _states(columns: Columns) -> NDArray[np.str_]:
    """Return each state's first word (n,), without a +."""
    if "State" not in columns:
        return np.full(len(columns), "")
    states = pc.extract_regex(columns.column("State").fill_null("UNKNOWN"), r"^(?P<word>[A-Z_]*)")
    return np.asarray(pc.struct_field(states, "word").to_pylist(), np.str_)


def _texts(columns: Columns, name: str) -> NDArray[np.str_]:
    return np.asarray(columns.column(name).cast(pa.string()).fill_null("").to_pylist(), np.str_)


def _demand(columns: Columns) -> dict[str, Floats]:
    """Return the amounts (n,) of each recorded resource, NaN where missing."""
    demand: dict[str, Floats] = {}

    def add(name: str, amount: Floats) -> None:
        known = demand.get(name)
        demand[name] = amount if known is None else np.where(known > 0, known, amount)

    for field in (field for field in AMOUNTS if field in columns):
        for name in RESOURCES:
            amount = _mapped(columns, field, lambda text, name=name: amount_of(text, name), "list such as cpu=4,mem=16G")  # type: ignore[misc]
            if name in USUAL or (amount > 0).any():
                add(name, np.nan_to_num(amount))
    for field in (field for field in CPUS if field in columns):
        add("cpu", columns.numbers(field, np.nan))
    for field in (field for field in NODES if field in columns):
        add("node", columns.numbers(field, np.nan))
    if "cpu" not in demand:
        raise InputError(f"{columns.path}: field AllocTRES is missing: sacct --format needs AllocTRES, ReqTRES or AllocCPUS")
    if "ReqMem" in columns:
        per = columns.column("ReqMem").cast(pa.string()).fill_null("")
        units = np.where(np.asarray(pc.ends_with(per, "c")), demand["cpu"], 1.0)
        units = np.where(np.asarray(pc.ends_with(per, "n")), demand.get("node", np.ones(len(units))), units)
        add("memory", _mapped(columns, "ReqMem", memory_of, "amount of memory such as 16G") * units)
    return demand


def amount_of(tres: str, resource: str) -> float | None:
    """Return a resource's amount in `cpu=4,gres/gpu:a100=2,mem=16G` (GiB), or None."""
    total, typed = 0.0, 0.0
    for part in tres.split(","):
        name, equals, amount = part.partition("=")
        if not equals:
            return None
        if name == "mem" and resource == "memory":
            return memory_of(amount)
        if name in (resource, f"gres/{resource}"):
            if not is_number(amount):
                return None
            total += float(amount)
        elif name.startswith(f"gres/{resource}:") and is_number(amount):
            typed += float(amount)
    return total or typed


def memory_of(text: str) -> float | None:
    """Return GiB of 16G, 4000M, 16Gn, 4000Mc or 4000 (MiB)."""
    match = MEMORY.fullmatch(text)
    return None if match is None else float(match[1]) * GIB[match[2]]


NODE = re.compile(r"\bNodeName=(\S+)")
VALUE = re.compile(r"(\w+)=(\S*)")
MOST_SHOWN = 5
GRES = re.compile(r"gpu(?::[^:,(]+)?:([0-9]+)")


AS_SERVERS = 'scontrol show node does, or sinfo -N -o "%N %c %m %G %T %P"'
"""Commands that print the nodes in the form to read."""


def is_nodes(path: Path) -> bool:
    """Return whether a file comes from `scontrol show node` or `sinfo -N`."""
    first = first_bytes(path, SNIFFED).decode("utf-8", errors="replace").lstrip("\ufeff \n")
    return bool(first) and (first.startswith("NodeName=") or "NODELIST" in first.splitlines()[0].split())


OUT = {"DOWN", "DRAIN", "DRAINED", "DRAINING", "DRNG", "FAIL", "FAILING", "FAILG", "ERROR", "UNKNOWN", "UNK", "FUTURE", "FUTR"}
OUT |= {"NOT_RESPONDING", "NO_RESPOND", "INVAL", "INVALID_REG"}
FLAGS = "*~#!%$@^-"  # behind a state; * is of a node that does not respond


def takes_jobs(state: str) -> bool:
    """Return whether a node in this state takes jobs.

    With MAINT or PLANNED it does so later. Source: slurm.schedmd.com/sinfo.html, NODE STATE CODES.
    """
    states = {word.rstrip(FLAGS) for word in state.upper().split("+")}
    return "*" not in state and not states & OUT


class Nodes(NamedTuple):
    """Servers in a list of nodes, and nodes that are none."""

    capacity: Floats  # (L, 4) cores, GiB, GPUs and 1 node of each that takes jobs, in the order of the file
    names: tuple[str, ...]  # (L,)
    out: dict[str, str]  # the state of each that takes none
    elsewhere: set[str]  # those of other partitions

    @property
    def left_out(self) -> tuple[tuple[str, int], ...]:
        """Number of nodes that are no servers, by reason."""
        reasons = {f"nodes that take no jobs: {shown_states(self.out)}": self.out, "nodes of other partitions": self.elsewhere}
        return tuple((reason, len(nodes)) for reason, nodes in reasons.items() if nodes)


def read_nodes(path: Path, partitions: Collection[str] = ()) -> Nodes:
    """Return the nodes of `partitions`, () for all."""

    def is_elsewhere(names: str) -> bool:
        return bool(partitions) and bool(names) and not {name.rstrip("*") for name in names.split(",")} & {*partitions}

    with reading_table(path):
        lines = [*lines_of(path)]
    nodes: dict[str, tuple[float, float, float, float]] = {}
    out: dict[str, str] = {}
    elsewhere: set[str] = set()
    # Blocks of scontrol, or lines of sinfo.
    if any(NODE.search(line) for line in lines):
        blocks = re.split(r"(?=\bNodeName=)", "".join(lines))[1:]
        for block in blocks:
            values = dict(VALUE.findall(block))
            name, cpus, memory = values["NodeName"], _cpus(values), _memory(values)
            if is_elsewhere(values.get("Partitions", "")):
                elsewhere.add(name)
                continue
            if not takes_jobs(state := values.get("State", "")):
                out[name] = state
                continue
            nodes[name] = _node(path, name, cpus, memory, values.get("Gres", ""))
    else:
        header = next(line for line in lines if line.strip()).split()
        if not {"NODELIST", "CPUS"} <= {*header}:
            raise InputError(f"{path}: sinfo prints no capacities of single nodes here: {AS_SERVERS}")
        for line in (line for line in lines[1:] if line.strip() and line.split() != header):
            cells = dict(zip(header, line.split(), strict=False))
            name, state = cells.get("NODELIST", ""), cells.get("STATE", "")
            if "[" in name:
                raise InputError(f"{path}: {excerpt(name)} stands for several nodes, and each needs a line: {AS_SERVERS}")
            if is_elsewhere(cells.get("PARTITION", "")):  # a node of several has a line for each
                elsewhere.add(name)
                continue
            if not takes_jobs(state):
                out[name] = state
                continue
            nodes.setdefault(name, _node(path, name, cells.get("CPUS", ""), cells.get("MEMORY", ""), cells.get("GRES", "")))
    if not nodes:
        where = "" if not partitions else f" of partition {','.join(partitions)}"
        raise InputError(f"{path}: no node{where} takes jobs{': ' * bool(out)}{shown_states(out)}")
    return Nodes(np.array([*nodes.values()]), (*nodes,), out, elsewhere - {*nodes, *out})


def _cpus(values: Mapping[str, str]) -> str:
    """Return a node's CPUs for jobs, without the system's (CoreSpecCount)."""
    total, reserved = values.get("CPUTot", ""), values.get("CoreSpecCount", "")
    if "CPUEfctv" in values or not (total.isdigit() and reserved.isdigit()):
        return values.get("CPUEfctv", total)
    threads = values.get("ThreadsPerCore", "1")
    return str(int(total) - int(reserved) * (int(threads) if threads.isdigit() else 1))


def _memory(values: Mapping[str, str]) -> str:
    """Return a node's MiB for jobs, without the system's (MemSpecLimit)."""
    total, reserved = values.get("RealMemory", ""), values.get("MemSpecLimit", "")
    return str(max(int(total) - int(reserved), 0)) if total.isdigit() and reserved.isdigit() else total


def shown_states(out: dict[str, str]) -> str:
    """List nodes that take no jobs: "n4 (DOWN+DRAIN), n5 (down*)", shortened."""
    texts = ", ".join(f"{name} ({state})" for name, state in [*out.items()][:MOST_SHOWN])
    return texts + (f" and {len(out) - MOST_SHOWN:,} more" if len(out) > MOST_SHOWN else "")


def _node(path: Path, name: str, cpus: str, memory: str, gres: str) -> tuple[float, float, float, float]:
    memory = memory.rstrip("+") or "0"
    if not (is_number(cpus.rstrip("+")) and is_number(memory)):
        raise InputError(f"{path}: node {name}: CPUs {excerpt(cpus)} or memory {excerpt(memory)} is not a number")
    return float(cpus.rstrip("+")), float(memory) / 2**10, float(sum(int(count) for count in GRES.findall(gres))), 1.0


FORMATS = (
    TraceFormat(read_accounting, first_row=is_accounting),
    TraceFormat(read_accounting, content=begins_as_accounting),
    TraceFormat(refuse_columns, content=begins_in_columns),
)
