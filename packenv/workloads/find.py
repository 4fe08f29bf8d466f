"""`packenv.workload`: makes a Workload from a name, file, trace or table."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from packenv.content.text import do_not_go, listed
from packenv.errors import ArgumentError, InputError, UnknownArgument
from packenv.inputs.numbers import Exact, exact
from packenv.inputs.text_files import from_standard_input, reading
from packenv.options.fields import takes
from packenv.options.shared import AS_IT_IS, INTENSITIES, OF_READING, Reading
from packenv.plugins import install_line, room_for
from packenv.workloads.laws import parse_arrivals, parse_law
from packenv.workloads.named.registry import ENDINGS, WORKLOADS, named_workload, unknown_workload
from packenv.workloads.network import Network
from packenv.workloads.resources import chosen_resources, servers_for, with_resources
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload, load_workload

KUBECTL = re.compile(rb'(?:[EW][^\n]*\n)*\s*\{\s*"(apiVersion|items|kind)"\s*:')
"""Beginning of kubectl's lists, behind its warnings. The plug-in `packenv_kubernetes` reads them."""
OF_STREAMS = ("sizes", "service", "arrivals", *INTENSITIES)
"""Arguments that a trace already has."""


@takes(Reading, "reading")
def workload(
    source: Any,
    *,
    servers: Servers | int | str | ArrayLike | None = None,
    resources: str | Sequence[str] | None = None,
    reading: Reading = AS_IT_IS,
    network: Network | None = None,
    **changes: Any,
) -> Workload:
    """Return a workload from a name, file, trace or table.

    source        a name (`packenv.names()`); a JSON file of a workload, or of a cluster from kubectl; a trace
                  (`packenv.workloads.traces`), or "-" for one from standard input; a table of yours: a frame of pandas or polars,
                  an Arrow table, or a mapping of columns; or a Workload
    servers       as in `Workload`, or a file of machines. Required for a trace without its own machines: next to it or, in
                  Standard Workload Format, in its header
    resources     resources of a trace that count: names; "all"; "max": only the largest demand, which is the size of a task;
                  "max:cpu,memory". Default: all if servers have several capacities or tasks ask for more than 1 of a
                  resource (cores and GiB), else the largest. The same texts reduce a named workload; a sequence names its
                  resources
    reading       how to read a trace
    network       cost of running a task away from its data
    changes       other arguments of `Workload.with_`

    `columns` may also be a mapping. By default a trace decides whether GPUs are devices and tasks are gangs. Jobs on several
    nodes are gangs if there are several servers. `Workload.left_out` counts the rows that are no tasks.

    Raises InputError, with the nearest names for an unknown name, and with file, row and column for a bad value.
    """
    taken = [*inspect.signature(workload).parameters][:-1] + [*inspect.signature(Workload.__init__).parameters][1:]
    for key in changes:
        if key not in taken and key != "any_number":
            raise UnknownArgument(key, taken)
    source = from_standard_input(source)
    if servers is not None:
        changes["servers"] = servers
    if network is not None:
        changes["network"] = network
    # A name, a file of a workload or a cluster: arguments of traces are errors.
    if not is_trace_source(source):
        changes.pop("any_number", None)
        if reading.speedup not in (1, "1"):
            raise ArgumentError("`speedup` goes with a trace; for a workload, set arrivals with `intensity`, `load` or `rate`")
        if reading.columns:
            raise ArgumentError("`columns` goes with your own table, for columns with other names")
        if idle := [f"`{name}`" for name in reading.given() if name in OF_READING]:
            raise ArgumentError(f"{listed(idle)} {'goes' if len(idle) == 1 else 'go'} with a trace")
        # A plug-in's file.
        if isinstance(source, (str, Path)) and (room := room_of(str(source))) is not None:
            choice, sizes = chosen_resources(resources)
            if sizes == "max" and choice is not None:
                why = "the nodes of a cluster have several capacities: name the resources alone"
                raise ArgumentError(f"`resources` {resources}: {why}")
            slot = reading.slot_seconds
            seconds = 1.0 if slot is None else float(exact(slot, "`slot_seconds`"))
            of_room: Workload = room.workload_of(str(source), choice, seconds, changes)
            return of_room
        return _named(source, changes, reading.slot_seconds, resources)
    # A trace or a table: arguments of streams are errors.
    if idle := [f"`{argument}`" for argument in OF_STREAMS if changes.get(argument) is not None]:
        faster = "; `speedup` makes its tasks come faster" if any(changes.get(key) is not None for key in INTENSITIES) else ""
        raise ArgumentError(do_not_go(idle, "a trace, which has its own") + faster)
    from packenv.workloads.workload_of_trace import workload_of_trace  # loads pyarrow

    return workload_of_trace(source, changes, resources, reading, bool(changes.pop("any_number", False)))


def is_trace_source(source: Any) -> bool:
    """Return whether a source is a trace or a table."""
    if isinstance(source, Workload):
        return False
    if not isinstance(source, (str, Path)):
        return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__") or isinstance(source, Mapping)
    text = str(from_standard_input(source))
    if text in WORKLOADS or room_of(text) is not None:
        return False
    is_file = (text != "" and Path(text).exists()) or text.endswith(ENDINGS) or text.startswith((".", "/"))
    return is_file and not _is_workload(text)


def room_of(source: str | None) -> Any:
    """Return the plug-in's room for a file (`packenv.plugins`), else None.

    Raises InputError for a missing *.json file, and for a kubectl list without its plug-in.
    """
    source = None if source is None else str(from_standard_input(source))
    if source is None or source in WORKLOADS or not Path(source).is_file():
        if source is not None and source.endswith(".json") and source not in WORKLOADS:
            with reading(source):
                Path(source).stat()
        return None
    room = room_for(Path(source))
    if room is None and is_of_kubectl(source):
        raise InputError(f"{source}: a plug-in reads what kubectl prints, and it is not installed: {install_line('kubernetes')}")
    return room


def is_of_kubectl(source: str) -> bool:
    """Return whether a file begins like a JSON list of kubectl."""
    if not source.endswith(".json"):
        return False
    from packenv.workloads.traces.formats import first_bytes  # brings pyarrow with it

    return KUBECTL.match(first_bytes(Path(source), 2**10).removeprefix(b"\xef\xbb\xbf")) is not None


def _is_workload(source: str) -> bool:
    if not source.endswith(".json"):
        return False
    from packenv.workloads.traces import is_trace  # brings pyarrow with it

    return not is_trace(source)


def _named(source: Any, changes: dict[str, Any], slot_seconds: Exact | None, resources: str | Sequence[str] | None) -> Workload:
    if isinstance(source, Workload):
        original = source
    elif not isinstance(source, (str, Path)):
        raise InputError(f"a workload must be a name, a file, a table or a Workload, not {type(source).__name__}")
    elif str(source) in WORKLOADS:
        original = named_workload(str(source))
    elif str(source).endswith(".json"):
        original = load_workload(source)
    else:
        raise unknown_workload(str(source))
    if isinstance(resources, str):
        choice, sizes = chosen_resources(resources)
        is_file = isinstance(source, (str, Path)) and str(source) not in WORKLOADS  # it lists exactly the resources that count
        original = with_resources(original, choice, sizes or ("all" if is_file else "max"))
    elif resources is not None:
        changes["resources"] = resources
    if slot_seconds is not None:
        changes["slot_seconds"] = float(exact(slot_seconds, "`slot_seconds`"))
    if isinstance(changes.get("servers"), str):
        changes["servers"] = servers_for(
            changes["servers"], original.D, original.resources, partitions=original.provenance.partitions
        )
    for law in ("sizes", "service"):
        if isinstance(changes.get(law), str):
            changes[law] = parse_law(changes[law], f"`{law}`", changes.get("slot_seconds", original.slot_seconds))
    if isinstance(changes.get("arrivals"), str):
        changes["arrivals"] = parse_arrivals(
            changes["arrivals"], "`arrivals`", changes.get("slot_seconds", original.slot_seconds)
        )
    return original.with_(**changes) if changes else original
