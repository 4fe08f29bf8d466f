"""The candidate's process, with a mirror of the cluster.

It reads the slot's news from standard input and answers on standard output (`packenv_score.mirror`). Each message is two
integers, its kind and its length in bytes, and then the body. The simulating process checks every start in the answer
(`packenv_score.process`). It trusts nothing else from this process.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

LOAD, BEGIN, SLOT = 0, 1, 2
"""Requests: load the candidate's file, begin a run, schedule a slot."""

DONE, FAULT = 0, 1
"""Kinds of answers."""

PREFIX = struct.Struct("=qq")
WORDS = 500  # letters of a fault
MODULE = "candidate"
FIRST_ROOM = 1024


def main(folder: str, seconds: int, memory: int, file_bytes: int, readable: list[str]) -> None:
    """Import libraries, confine this process, answer until the pipe closes."""
    import numpy as np

    import packenv.policies  # noqa: F401  # before the limits: candidates may import it
    from packenv_score.confine import confine
    from packenv_score.mirror import answer, hear

    asked, answers = os.dup(0), os.dup(1)
    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # what the candidate prints goes nowhere
        os.dup2(quiet, standard)
    missing = confine(Path(folder), [*map(Path, readable)], seconds, memory, file_bytes)
    # The first message lists the limits not enforced.
    send(answers, DONE, json.dumps(missing).encode())
    run = Mirror(np, hear, answer)
    while (message := receive(asked)) is not None:
        kind, body = message
        try:
            if kind == LOAD:
                run.load(folder, body.decode())
                reply = b""
            elif kind == BEGIN:
                reply = run.begin(*pickle.loads(body))
            else:
                reply = run.slot(body)
        except BaseException as error:  # any exception, including an attempt to exit
            send(answers, FAULT, in_words(error).encode("utf-8", "replace"))
        else:
            send(answers, DONE, reply)


def send(pipe: int, kind: int, body: bytes) -> None:
    """Send a whole message."""
    data = memoryview(PREFIX.pack(kind, len(body)) + body)
    while len(data):
        data = data[os.write(pipe, data) :]


def receive(pipe: int) -> tuple[int, bytes] | None:
    """Return the next message, or None at the end."""
    data = os.read(pipe, 1 << 16)
    while len(data) < PREFIX.size or len(data) < PREFIX.size + PREFIX.unpack_from(data)[1]:
        more = os.read(pipe, 1 << 20)
        if not more:
            return None
        data += more
    return PREFIX.unpack_from(data)[0], data[PREFIX.size :]


def in_words(error: BaseException) -> str:
    """Return a candidate's exception in one line, with line number."""
    from packenv.extend import MisuseError, line_on

    if isinstance(error, MisuseError):
        return str(error)[:WORDS]
    try:
        cause = error.__cause__ if error.__cause__ is not None else error
        text = line_on(cause)
    except Exception:  # its text may raise as well
        text = type(error).__name__
    return " ".join(text.split())[:WORDS]


class Mirror:
    """The candidate and the mirror of its run."""

    def __init__(self, np: Any, hear: Any, answer: Any) -> None:
        self.np, self.hear, self.answer = np, hear, answer
        self.kind: Any = None

    def load(self, folder: str, name: str) -> None:
        """Import the candidate's file, and find its class `name`."""
        sys.path.insert(0, folder)  # before a file of the same name elsewhere
        self.kind = getattr(importlib.import_module(MODULE), name)

    def begin(self, capacity: Any, workload: Any, levels: int, largest_size: int, seed: int) -> bytes:
        """Start a run: an empty mirror, a new policy object."""
        from packenv import Jobs, Setting
        from packenv.extend import InputError, attached, build, initial_state_of, needs_of, runner_for, table_source

        np = self.np
        self.policy = self.kind()
        setting = Setting(capacity, workload, levels, largest_size)
        needs = needs_of(self.policy, setting)
        if needs.table or needs.durations:
            raise InputError("it needs the table of all jobs, or durations, which candidates do not see")
        rows, resources = FIRST_ROOM, capacity.shape[1]
        nothing = Jobs(
            np.zeros(rows, np.int64), np.ones((rows, resources), np.int64), np.ones(rows, np.int64), job=np.zeros(rows, np.int64)
        )
        source = table_source(nothing)
        if workload.jobs is not None:  # the table's optional columns, empty
            told = workload.source([0])
            source = source.replace(devices=told.devices, locality=told.locality, estimate=told.estimate)
            source = with_rows(np, with_chunk(np, source, rows), rows, rows)
        source.stream["filled"] = 0
        self.cluster = build(source, capacity, needs, measured=False)
        self.places = np.zeros(rows, np.int64)
        self.starts = np.zeros(1 + 2 * rows, np.int64)
        self.state = attached(self.policy, self.cluster, initial_state_of(self.policy, setting, seed))
        self.run = runner_for(self.policy)
        self.run(self.policy, self.cluster, self.state, 0, 0)  # compiles it
        return b""

    def slot(self, body: bytes) -> bytes:
        """Apply the slot's news and let the candidate schedule."""
        from packenv.extend import FINISHED, GROW, OVERFULL, PAUSED, MisuseError, attached, make_room, overfull_server

        np, c = self.np, self.cluster
        news = np.array(np.frombuffer(body, np.int64))  # writable: this type is already compiled
        slot, new = int(news[0]), int(news[2])
        if new > c.source.arrival.shape[1]:
            c = self.cluster = c.replace(source=with_chunk(np, c.source, 2 * new))
        tasks = int(c.head["next_row"][0]) + new
        if tasks > len(self.places):
            self.places = longer(np, self.places, 2 * tasks)
        homes = int(c.source.locality.home_of.max()) + len(news)
        c = self.cluster = c.replace(source=with_rows(np, c.source, tasks, homes))
        self.hear(c, news, self.places)
        # Run one slot. Grow the cluster's arrays when they are full.
        while (reason := self.run(self.policy, c, self.state, slot + 1, 1)) == GROW:
            c = self.cluster = make_room(c)
            self.state = attached(self.policy, c, self.state)
        if reason == OVERFULL:
            raise MisuseError(f"server {overfull_server(c)} is above its capacity in slot {slot}")
        if reason not in (PAUSED, FINISHED):
            raise MisuseError(f"slot {slot} does not end")
        if len(self.starts) < 1 + 2 * len(c.events[0]):
            self.starts = np.zeros(1 + 4 * len(c.events[0]), np.int64)
        reply: bytes = self.starts[: self.answer(c, self.places, self.starts)].tobytes()
        return reply


def with_chunk(np: Any, source: Any, rows: int) -> Any:
    """Make room for `rows` new tasks in a slot."""
    columns = {name: np.ones((1, rows), np.int64) for name in ("arrival", "service", "job")}
    demand = np.ones((1, rows, source.demand.shape[2]), np.int64)
    need = np.zeros((1, rows if len(source.devices.server) else 0, 3), np.int64)
    return source.replace(demand=demand, devices=source.devices._replace(need=need), **columns)


def with_rows(np: Any, source: Any, tasks: int, homes: int) -> Any:
    """Make room in existing columns for estimates and home servers."""
    places, estimate = source.locality, source.estimate
    if len(places.home_of) > 1 and (len(places.home_of) <= tasks or len(places.home) < homes):
        home_of, home = longer(np, places.home_of, 2 * tasks + 1), longer(np, places.home, 2 * homes)
        places = places._replace(home_of=home_of, home=home, overhead=np.zeros(len(home_of), np.int64))
    if 0 < len(estimate) < tasks:
        estimate = longer(np, estimate, 2 * tasks)
    return (
        source
        if places is source.locality and estimate is source.estimate
        else source.replace(locality=places, estimate=estimate)
    )


def longer(np: Any, array: Any, length: int) -> Any:
    """Append zeros to an array."""
    return np.concatenate([array, np.zeros(max(length - len(array), 0), array.dtype)])
