"""Log of `packenv serve --log`, in lines of JSON.

A task is an attempt: from a message `submit`, or `fail` of the previous attempt, until it completes or fails. It arrives in the
slot of the next decision, starts in the slot of the decision that names it, and leaves in the slot of the first decision after
its end. So waits are those under the policy of the log. Tasks that wait or run at the end of the file, or were withdrawn, are
left out and counted. The servers are those of the first line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from packenv.errors import InputError
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import exact, finite_amount
from packenv.inputs.text_files import lines_of
from packenv.jobs import GPU, Ragged
from packenv.workloads.traces.formats import TraceFormat, first_bytes
from packenv.workloads.traces.gpus import of_gpus
from packenv.workloads.traces.times import MISSING, SECOND
from packenv.workloads.traces.trace import Trace, Wanted, resource_names

WAITING, RUNNING, WITHDRAWN = "waiting at the end", "running at the end", "withdrawn"
PER_LINE = 600  # bytes of memory
ABOUT = "sizes and servers as submitted to the scheduler; the live policy may have restarted when servers came"


@dataclass(slots=True)
class Attempt:
    """A task from submission to end, in slots, MISSING in the future."""

    facts: Mapping[str, Any]
    line: int
    submit: int = MISSING
    start: int = MISSING
    end: int = MISSING
    finished: bool = False
    withdrawn: bool = False


@dataclass
class Events:
    """Attempts in a log, in the order of their submission."""

    attempts: list[Attempt] = field(default_factory=list)
    present: dict[Any, Attempt] = field(default_factory=dict)  # that wait or run, by name
    pending: list[tuple[Attempt, str]] = field(default_factory=list)  # what happened since the last decision

    def take(self, message: Mapping[str, Any], line: int) -> None:
        """Note a message, or raise KeyError or TypeError for a bad one."""
        action = next(iter(message))
        if action == "submit":
            self._submit(message["submit"]["task"], message["submit"], line)
        elif action in ("complete", "fail", "withdraw"):
            attempt = self.present.pop(message[action])
            attempt.finished, attempt.withdrawn = action == "complete", action == "withdraw"
            self.pending.append((attempt, "end"))
            if action == "fail":
                self._submit(message[action], attempt.facts, line)
        elif action == "remove":
            for name in message["waiting"]:
                self.take({"fail": name}, line)
        elif action == "decide":
            self.decide(int(message["decide"]["now"]))
            for start in message["starts"]:
                self.present[start["task"]].start = int(start["slot"])

    def decide(self, slot: int) -> None:
        """Date the pending events to this slot."""
        for attempt, what in self.pending:
            setattr(attempt, what, slot)
        self.pending.clear()

    def _submit(self, name: Any, facts: Mapping[str, Any], line: int) -> None:
        attempt = self.present[name] = Attempt(facts, line)
        self.attempts.append(attempt)
        self.pending.append((attempt, "submit"))


def begins_as_events(path: Path) -> bool:
    """Return whether the first line of a file announces events."""
    return first_bytes(path, 64).replace(b" ", b"").startswith(b'{"packenv":"events"')


def read_events(path: Path, choice: Wanted = None) -> Trace:
    """Read a task per attempt."""
    memory, events, header, last = Memory(path), Events(), {}, 0
    for number, text in enumerate(lines_of(path), 1):
        memory.reserve(PER_LINE)
        try:
            message = json.loads(text)
            if number == 1:
                header, has, slot = message, _names(message), exact(message["slot_seconds"] or 1, "slot_seconds") * SECOND
            else:
                events.take(message, number)
                last = int(message["decide"]["now"]) if "decide" in message else last
        except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
            if not text.endswith("\n"):
                break  # the process ended while it wrote this line
            raise InputError(f"{path}: line {number}: not an event of packenv serve") from None
    events.decide(last)
    resources = resource_names(choice, has, has, path)
    names = [*header["names"]]
    rows = _in_order(events.attempts)
    amounts = np.array([[_amount(path, row, name, has) for name in resources] for row in rows]).reshape(-1, len(resources))
    times = {key: np.array([getattr(row, key) for row in rows], np.int64) for key in ("submit", "start", "end")}
    kinds: list[str] = sorted({kind for row in rows for kind in str(row.facts.get("gpu_kinds", "")).split("|") if kind})
    accepted = [sum(1 << kinds.index(kind) for kind in str(row.facts.get("gpu_kinds", "")).split("|") if kind) for row in rows]
    withdrawn, started = np.array([row.withdrawn for row in rows], bool), times["start"] != MISSING
    in_us = {key: np.where(at == MISSING, MISSING, _microseconds(at, slot)) for key, at in times.items()}
    estimate = np.array([_slots(path, row, "estimate") for row in rows])
    return Trace(
        submit=in_us["submit"],
        schedule=in_us["start"],
        end=np.where(started, in_us["end"], MISSING),
        demand=amounts,
        resources=resources,
        finished=np.array([row.finished for row in rows], bool),
        in_snapshot=np.zeros(len(rows), np.bool_),
        requested=_microseconds(estimate, slot) if estimate.any() else None,
        others={} if (gang := _gangs(rows)) is None else {"gang": gang},
        home=_homes(rows, names),
        remote=None
        if _homes(rows, names) is None
        else _microseconds(np.array([_slots(path, row, "remote_overhead") for row in rows]), slot),
        unfit={
            WITHDRAWN: withdrawn,
            WAITING: ~withdrawn & ~started,
            RUNNING: ~withdrawn & started & (times["end"] == MISSING),
        },
        source=str(path),
        rows=np.array([row.line for row in rows], np.int64),
        about=ABOUT,
        slot_seconds=str(header["slot_seconds"] or 1),
        waits=True,
        servers=header["servers"],
        devices=None if GPU not in resources else np.column_stack([of_gpus(amounts[:, resources.index(GPU)]), accepted]),
        device_kinds=tuple(kinds),
    )


def _names(header: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the resources, numbers without names."""
    count = len(str(header["servers"]).split(",")[0].partition("x")[2].partition("@")[0].split(":"))
    return tuple(header["resources"] or (["size"] if count == 1 else [f"size_{r}" for r in range(count)]))


def _in_order(attempts: list[Attempt]) -> list[Attempt]:
    """Sort by submission, with the tasks of gangs together."""
    first: dict[Any, int] = {}
    keys = [(row.submit, row.facts.get("gang", n) if "gang" in row.facts else (n,)) for n, row in enumerate(attempts)]
    places = [(key[0], first.setdefault(key, n)) for n, key in enumerate(keys)]
    return [attempts[n] for n in sorted(range(len(attempts)), key=places.__getitem__)]


def _gangs(rows: list[Attempt]) -> Any:
    """Return the number of each task's gang (n,), None without gangs."""
    if not any("gang" in row.facts for row in rows):
        return None
    numbers: dict[Any, int] = {}
    return np.array(
        [numbers.setdefault((row.submit, row.facts["gang"]), len(numbers)) if "gang" in row.facts else -1 for row in rows]
    )


def _homes(rows: list[Attempt], names: list[Any]) -> Ragged | None:
    if not any(row.facts.get("home") for row in rows):
        return None
    return Ragged.of([[names.index(server) if names else int(server) for server in row.facts.get("home", ())] for row in rows])


def _amount(path: Path, row: Attempt, name: str, has: tuple[str, ...]) -> float:
    size = row.facts.get("size")
    value = row.facts.get(name, 0) if size is None else size[has.index(name)] if isinstance(size, list) else size
    return _number(path, row, name, value)


def _slots(path: Path, row: Attempt, name: str) -> float:
    return _number(path, row, name, row.facts.get(name) or 0)


def _number(path: Path, row: Attempt, name: str, value: Any) -> float:
    try:
        return finite_amount(value)
    except InputError as problem:
        raise InputError(f"{path}: line {row.line}: {name}: {problem}") from None


def _microseconds(slots: Any, slot: Any) -> Any:
    return np.array([round(value * slot) for value in np.asarray(slots).tolist()], np.int64)


FORMATS = (TraceFormat(read_events, content=begins_as_events),)
