"""Policies and workloads from options, and lines about the workload."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from packenv.content.text import counted, lasting, left_out_lines, listed
from packenv.errors import ArgumentError, CommandError, InputError, of_options
from packenv.inputs.numbers import exact, excerpt
from packenv.options.shared import DEFAULT_POLICIES, DEVICE_POLICIES, GANG_POLICIES, INTENSITIES, OF_READING, WorkloadOptions

if TYPE_CHECKING:
    from rich.console import Console

    from packenv.workloads.traces import Trace
    from packenv.workloads.workload import Workload


MOST_REFUSALS = 4
"""Refusals in a row that the search for a working command may mend."""


def chosen_policies(names: tuple[str, ...], *workloads: Workload) -> tuple[str, ...]:
    """Return the named policies, each once, or usual ones.

    Raises InputError for an unknown one.
    """
    from packenv.policy import find_policy

    usual = DEVICE_POLICIES if any(workload.has_devices for workload in workloads) else DEFAULT_POLICIES
    usual = GANG_POLICIES if any(workload.has_gangs for workload in workloads) else usual
    chosen = tuple(dict.fromkeys(names or usual))
    for name in chosen:
        find_policy(name)
    return chosen


def workload_from(
    options: WorkloadOptions, servers: str | None = None, sides: tuple[str, str] | None = None
) -> tuple[Workload, dict[str, int]]:
    """Return the workload, and dropped rows of a trace by reason.

    servers  of a trace without given ones
    sides    two sets of servers as arguments of the command, in place of `--servers`. `options` has the second
    Raises InputError.
    """
    try:
        workload = _workload(options, servers)
    except ArgumentError as error:
        command = _working_command(options, servers, sides)
        problem = error.of_options(command is None and not (sides and "servers" in error.remedy))
        raise InputError(problem) if command is None else CommandError(problem, command) from None
    _note_remark(workload)
    return workload, workload.left_out


def _working_command(options: WorkloadOptions, servers: str | None, sides: tuple[str, str] | None) -> str | None:
    """Return the typed command with options that make it work, or None."""
    context = click.get_current_context(silent=True)
    if context is None or not context.find_root().obj:
        return None
    mended = _mended(options, servers)
    if mended is None:
        return None
    # A column that `--by` names is one of labels.
    if (by := context.params.get("by")) and by not in ("class", "tenant"):
        columns = ",".join(filter(None, [mended.get("columns", options.columns), f"class={by}"]))
        if _is_workload(replace(options, **mended | {"columns": columns}), servers):
            mended |= {"columns": columns, "by": "class"}
    arguments = [*context.find_root().obj]
    # The sides of a comparison are replaced, options added at the end.
    mended_sides = None
    if sides and "servers" in mended:
        mended_sides = _of_the_same_kind(sides, mended.pop("servers"))
        if mended_sides is None or not _is_workload(replace(options, **mended, servers=mended_sides[0]), servers):
            return None
    for name, value in mended.items():
        flag = f"--{name.replace('_', '-')}"
        while flag in arguments:
            at = arguments.index(flag)
            del arguments[at : at + 2]
        arguments = [word for word in arguments if not word.startswith(f"{flag}=")] + [flag, value]
    typed = _replaced(arguments, sides, mended_sides) if sides and mended_sides else [arguments]
    command = next((candidate for candidate in typed if _is_understood(context, candidate, mended_sides)), None)
    return None if command is None else shlex.join(["packenv", *command])


def _mended(options: WorkloadOptions, servers: str | None) -> dict[str, Any] | None:
    """Return options that make `options` give a workload, None if unknown."""
    return remedy_of(lambda remedy: _workload(replace(options, **remedy), servers))


def remedy_of(attempt: Callable[[dict[str, Any]], object]) -> dict[str, Any] | None:
    """Return the options with which `attempt` is not refused, None if unknown."""
    remedy: dict[str, Any] = {}
    for _ in range(MOST_REFUSALS + 1):
        try:
            attempt(remedy)
        except ArgumentError as error:
            if not error.remedy:
                return None
            remedy |= error.remedy
        except InputError:
            return None
        else:
            return remedy
    return None


def _of_the_same_kind(sides: tuple[str, str], second: str) -> tuple[str, str] | None:
    """Return both numbers of servers, of the kind of `second`.

    None if the sides do not have one kind.
    """
    (few, _, kind), (_, _, other) = (side.partition("x") for side in sides)
    return (f"{few}x{second.partition('x')[2]}", second) if few.isdigit() and kind == other else None


def _is_workload(options: WorkloadOptions, servers: str | None) -> bool:
    try:
        _workload(options, servers)
    except InputError:
        return False
    return True


def _replaced(arguments: list[str], sides: tuple[str, str], by: tuple[str, str]) -> Iterator[list[str]]:
    """Yield the words with each pair replaced that may be the two sides.

    Equal words may be values of options too.
    """
    for i, first in enumerate(arguments):
        for j, second in enumerate(arguments[i + 1 :], i + 1):
            if (first, second) == sides:
                yield [*arguments[:i], by[0], *arguments[i + 1 : j], by[1], *arguments[j + 1 :]]


def _is_understood(context: click.Context, arguments: list[str], sides: tuple[str, str] | None) -> bool:
    """Return whether the command accepts the words, with these two sides."""
    names = context.command_path.split()[1:]  # `trace profile`
    try:
        params = context.command.make_context(context.info_name, arguments[len(names) :], parent=context.parent).params
    except (InputError, click.ClickException):
        return False
    return sides is None or (params.get("first"), params.get("second")) == sides


def _workload(options: WorkloadOptions, servers: str | None) -> Workload:
    from packenv.api import at_a_rate
    from packenv.workloads.find import OF_STREAMS, is_trace_source
    from packenv.workloads.laws import parse_arrivals, parse_law
    from packenv.workloads.network import parse_network
    from packenv.workloads.resources import USUAL
    from packenv.workloads.workload import Workload

    network = parse_network(options.racks, options.network, options.reading, options.serving)
    source = options.source
    of_streams = {key: getattr(options, key) for key in OF_STREAMS if getattr(options, key) is not None}
    traced = source is not None and is_trace_source(source)
    if source is not None:
        return at_a_rate(
            source,
            servers=options.servers or (servers if traced else None),
            resources=options.resources if traced else options.resources or USUAL,
            reading=options.as_reading(),
            network=network,
            **({"any_number": True} if traced and servers else {}),
            **of_streams,
        )
    if idle := [f"--{name.replace('_', '-')}" for name in options.given() if name in OF_READING]:
        raise InputError(f"{listed(idle)} {'goes' if len(idle) == 1 else 'go'} with a trace")
    if options.speedup != "1":
        raise InputError("--speedup goes with a trace; for a workload, set arrivals with --intensity, --load or --rate")
    if "sizes" not in of_streams:
        raise InputError("name a workload or a trace, or give --sizes (see `packenv list`)")
    seconds = seconds_of(options)
    parsers: dict[str, Any] = {"sizes": parse_law, "service": parse_law, "arrivals": parse_arrivals}
    laws = {key: parse(str(of_streams[key]), f"--{key}", seconds) for key, parse in parsers.items() if key in of_streams}
    custom: dict[str, Any] = {"servers": options.servers or 1, "service": parse_law("geometric:100", "--service")}
    custom |= {"name": options.sizes, "network": network, "slot_seconds": seconds} | of_streams | laws
    if not set(INTENSITIES) & set(of_streams):
        custom["intensity"] = 0.9
    return at_a_rate(Workload(**custom))


def seconds_of(options: WorkloadOptions) -> float | None:
    """Return the length of a slot, if given. Raises InputError."""
    if options.slot_seconds is None:
        return None
    return float(exact(options.slot_seconds, "--slot-seconds"))


def workload_with_notes(options: WorkloadOptions, servers: str | None = None) -> Workload:
    """Return the workload, and note left-out parts on standard error.

    For commands without them in their output. Raises InputError.
    """
    workload, _ = workload_from(options, servers)
    note_left_out(workload)
    return workload


def is_table(options: WorkloadOptions) -> bool:
    """Return whether the name is of a trace or another table."""
    from packenv.workloads.find import is_trace_source

    return options.source is not None and is_trace_source(options.source)


def random_workload(options: WorkloadOptions, refusal: str) -> Workload:
    """Return the random workload of a command.

    Raises InputError for a table, before any other note, with the command that bounds its jobs.
    """
    workload = None if is_table(options) else workload_with_notes(options)
    if workload is not None and workload.jobs is None:
        return workload
    name = Path(str(options.source)).name if workload is None else workload.name
    named = {key: value for key in ("servers", "resources") if (value := getattr(options, key)) is not None}
    named |= _mended(options, None) or {}
    arguments = [word for key, value in named.items() for word in (f"--{key.replace('_', '-')}", value)]
    command = shlex.join(["packenv", "optimum", str(options.source), *arguments, "--objective", "completion"])
    raise InputError(f"{name}: {refusal}; for a table, this command bounds the mean completion time: {command}")


def check_named(options: WorkloadOptions, proof: str | None) -> None:
    """Raise InputError if a proof is checked without a named workload."""
    if proof is not None and options.source is None and options.sizes is None:
        from packenv.inputs.json_files import read_json
        from packenv.theory.certificate_files import PROVED_FOR

        plain = read_json(proof)
        whose = plain.get(PROVED_FOR) if isinstance(plain, dict) else None
        of = f", of {excerpt(whose, quoted=False)}" if isinstance(whose, str) else ""
        raise InputError(f"{proof}{of}: name the workload of this proof, or give --sizes and --servers")


def note_left_out(workload: Workload) -> None:
    """Note once on standard error what is left out of a trace or result."""
    for line in (*workload.bound_caveats, *workload.caveats):
        _note(f"{workload.name}: {of_options(line)}")


def _note_remark(workload: Workload) -> None:
    if workload.provenance.remark is not None:
        _note(f"{workload.name}: {workload.provenance.remark}")


def note_devices(recorded: Trace) -> None:
    """Note on standard error that shares of single GPUs are ignored."""
    from packenv.workloads.workload_of_trace import ONE_AMOUNT

    if recorded.device_shares:
        _note(f"{Path(recorded.source).name}: {ONE_AMOUNT}")


def note_servers(recorded: Trace, servers: str | None) -> None:
    """Note on standard error which machines and tasks do not count."""
    from packenv.workloads.fitting.profile import servers_of
    from packenv.workloads.workload_of_trace import slurm_notes

    left_out = {} if servers is None else dict(servers_of(recorded, servers).left_out)
    for line in (*slurm_notes(recorded, servers), *left_out_lines(left_out)):
        _note(f"{Path(recorded.source).name}: {of_options(line)}")


@functools.cache  # once, also where a command reads a trace several times
def _note(line: str) -> None:
    print(f"packenv: {line}", file=sys.stderr, flush=True)


def print_workload(
    console: Console,
    workload: Workload,
    dropped: dict[str, int],
    drawn: str = "",
    backlog: int | None = None,
    drain: bool = False,
    reject: bool = False,
) -> None:
    """Print servers, arrivals and load of the workload.

    drawn  origin of a table of tasks
    drain  show the amount of work in place of a load, as the run ends with it
    reject nothing waits: tasks that cannot start on arrival are lost
    """
    from packenv.workloads.gangs import gangs_in_words
    from packenv.workloads.in_service import begins_busy

    tasks = f"{counted(len(workload.jobs), 'task')}{drawn}, " if workload.jobs is not None else ""
    # How much arrives: all at once, in total, a backlog, or a rate.
    at_once = workload.jobs is not None and workload.jobs.arrival[-1] == 0
    if at_once:
        rate = "all arrive in slot 0"
    elif workload.jobs is not None and drain:
        slots = len(workload.jobs) / workload.rate
        rate = f"arriving within {_time(workload, slots)}, work of {_time(workload, slots * workload.intensity)} for all servers"
    elif backlog is not None:
        rate = f"{backlog} tasks always wait, so utilisation is the most that a policy can sustain"
    else:
        rate = f"{workload.rate:.4g} tasks per slot, intensity {workload.intensity:.3f}"
    console.print(
        f"[bold]{workload.label}[/bold]: {tasks}{counted(len(workload.servers), 'server')}, {rate} "
        f"(area bound {workload.area_bound:.4g} tasks in service)",
        highlight=False,
    )
    if workload.has_gangs and not begins_busy(workload):  # the notes of those name them
        sizes_text = (
            "each job is a gang" if workload.jobs is None or workload.jobs.gang is None else gangs_in_words(workload.jobs.gang)
        )
        console.print(f"{sizes_text}: the tasks of a gang start together", highlight=False)
    if workload.rho is not None and backlog is None:
        console.print(f"load {workload.load:g} of ρ* >= {workload.rho[0]:.5g} (and <= {workload.rho[1]:.5g}) tasks in service")
    for line in (*workload.provenance.notes, *left_out_lines(dropped)):
        console.print(of_options(line), highlight=False)
    if workload.overloaded and backlog is None:
        line = workload.overload_lost if reject else workload.overload
        if drain and workload.jobs is not None:
            effect = "tasks that find no room are lost" if reject else "waits are of a backlog, which is worked off at the end"
            line = f"work comes at {workload.intensity:.0%} of what all servers can do: {effect}"
        console.print(line, style="yellow")


def _time(workload: Workload, slots: float) -> str:
    return f"{slots:,.0f} slots" if workload.slot_seconds is None else lasting(slots * workload.slot_seconds)


def begin_lines(workload: Workload) -> list[str]:
    """Return notes on tasks in service at the start, if any."""
    from packenv.workloads.in_service import BeginsBusy

    return list(workload.draw.notes) if isinstance(workload.draw, BeginsBusy) else []
