"""A policy that runs a candidate in a separate process."""

from __future__ import annotations

import ast
import inspect
import json
import os
import pickle
import secrets
import select
import subprocess
import sys
import sysconfig
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import typeof, types

import packenv
import packenv.cluster
from packenv import Jobs, Ragged, Setting, Workload, simulate
from packenv.cluster import NONE, Cluster, Needs, build, fits, new_count, new_task, place, server_count
from packenv.extend import Compiled, InputError, base, begin, overfull_server, table_source
from packenv_score.child import BEGIN, DONE, LOAD, MODULE, PREFIX, SLOT, WORDS, send
from packenv_score.mirror import NO_ROOM, NO_SERVER, NO_TASK, START, answer, carry_out, hear, news_length, tell

MEMORY = 2 << 30  # bytes of addresses; Python, the libraries and the compiler take 0.4 GiB
FILE_BYTES = 64 << 20
PROCESSOR_SECONDS = 3600
START_SECONDS = 60.0  # to import packenv
LOAD_SECONDS, BEGIN_SECONDS, SLOT_SECONDS = 10.0, 60.0, 5.0
"""Longest processor times of an answer: to the candidate's file, which may import libraries; to the first slot, before which it
is compiled; to any slot."""

PATIENCE = 20.0
"""Seconds by the clock for each second of processor time: a candidate that sleeps is stopped, one on a busy machine is not."""

LONGEST_ANSWER = 1 << 26  # bytes

AT_FAULT = {
    NO_TASK: "it starts a task that does not wait",
    NO_SERVER: "it names a server that is not there",
    NO_ROOM: "it overfills a server",
}


class CandidateFault(InputError):
    """A candidate's fault, in one line. It scores -100."""


class ChildProcess:
    """The process of a candidate's file. Ends with this process."""

    def __init__(self, source: str, name: str, above: str = "") -> None:
        if not hasattr(select, "poll"):
            raise InputError("a program other than a `priority` runs in a confined process, which takes Linux or macOS")
        self.folder = tempfile.TemporaryDirectory(prefix="packenv-candidate-", dir=above or None, ignore_cleanup_errors=True)
        folder = Path(self.folder.name)
        compile_ahead(source)
        (folder / f"{MODULE}.py").write_text(source, encoding="utf-8")
        cache = folder / "machine_code"
        link_machine_code(base(), cache)
        arguments = {"folder": str(folder), "seconds": PROCESSOR_SECONDS, "memory": MEMORY, "file_bytes": FILE_BYTES}
        arguments["readable"] = [*map(str, readable_folders())]
        environment = {"PACKENV_CACHE": str(cache), "PACKENV_COMPILE_PROCESSES": "0", "PACKENV_QUIET": "1", "TMPDIR": str(folder)}
        environment |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
        environment |= {key: os.environ[key] for key in ("PATH", "LANG", "SYSTEMROOT") if key in os.environ}
        path = [place for place in sys.path if place]
        begin = f"import sys; sys.path[:] = {path!r}; from packenv_score.child import main; main(**{arguments!r})"
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", begin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, cwd=folder, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdin is not None and self.process.stdout is not None
        self.asks, self.answers = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.used, self.waited, self.slots = 0.0, 0.0, 0  # seconds of processor: in all, and of the run's slots
        self.ready = select.poll()
        self.ready.register(self.answers, select.POLLIN)
        self.unconfined: list[str] = json.loads(self.receive(START_SECONDS))
        self.ask(LOAD, name.encode(), LOAD_SECONDS)

    def ask(self, kind: int, body: bytes, seconds: float) -> bytes:
        """Return the answer to a message. Raises CandidateFault."""
        try:
            send(self.asks, kind, body)
        except OSError:
            raise self.ended() from None
        return self.receive(seconds)

    def processor_time(self) -> float:
        """Return the used processor seconds (without Linux: the clock's)."""
        if sys.platform != "linux":
            return time.monotonic()
        with suppress(OSError):  # it has ended
            self.used = time.clock_gettime((~self.process.pid << 3) | 2)  # the clock of a process, as clock_getcpuclockid has it
        return self.used

    def receive(self, seconds: float) -> bytes:
        """Return the answer within `seconds` of processor time. Raises CandidateFault."""
        data, began, until = b"", self.processor_time(), time.monotonic() + PATIENCE * seconds
        # Read until the message is complete, within the time and size limits.
        while len(data) < PREFIX.size or len(data) < PREFIX.size + PREFIX.unpack_from(data)[1]:
            left = min(began + seconds - self.processor_time(), until - time.monotonic())
            if left <= 0:
                self.close()
                raise CandidateFault(f"it does not answer within {seconds:g} s: a loop without end, or a wait")
            if not self.ready.poll(max(left, 0.001) * 1000):
                continue
            more = os.read(self.answers, 1 << 16)
            if not more:
                raise self.ended()
            data += more
            if len(data) > LONGEST_ANSWER or PREFIX.unpack_from(data.ljust(PREFIX.size, b"\0"))[1] > LONGEST_ANSWER:
                self.close()
                raise CandidateFault("its process writes an invalid answer")
        kind, length = PREFIX.unpack_from(data)
        body = data[PREFIX.size :]
        if length != len(body):
            self.close()
            raise CandidateFault("its process writes too much")
        # A fault names the temporary folder: cut it out.
        if kind != DONE:
            text = " ".join(body[:WORDS].decode("utf-8", "replace").split())
            raise CandidateFault(text.replace(f"{self.folder.name}/", ""))
        return body

    def ended(self) -> CandidateFault:
        self.close()
        code = self.process.returncode
        why = f"by signal {-code}" if code is not None and code < 0 else f"with exit status {code}"
        return CandidateFault(f"its process ended {why}")

    def close(self) -> None:
        """End the process and its children."""
        with suppress(OSError):
            os.killpg(self.process.pid, 9)
        with suppress(OSError):
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.folder.cleanup()


def link_machine_code(shared: Path, own: Path) -> None:
    """Link compiled functions, read-only, into the candidate's cache."""
    own.mkdir(mode=0o700)
    for file in shared.glob("packenv.*/*/*.nb?"):
        folder = own / file.parent.relative_to(shared)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(OSError):
            (folder / file.name).symlink_to(file)


def compile_ahead(source: str) -> None:
    """Compile a policy's cluster functions once, in the shared cache."""
    # Find the imported cluster functions without running the file.
    imported = {
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module == "packenv.cluster"
        for alias in node.names
    }
    asked = [getattr(packenv.cluster, name) for name in imported & {*packenv.cluster.__all__}]
    table = Jobs.of([0, 0, 1, 2], [0.6, 0.5, 0.5, 0.2], [1, 2, 1, 1])
    simulate(Workload(servers=2, jobs=table), FirstFit(), slots=8)
    cluster = build(table_source(Jobs.of([0], [1.0], [1])), np.ones((1, 1), np.int64), Needs(), places=1)
    kinds = {"Cluster": typeof(cluster), "int": types.int64, "Ints": typeof(np.zeros(1, np.int64))}
    for function in [*asked, begin, overfull_server, hear, answer]:
        parameters = inspect.signature(function.function).parameters.values() if isinstance(function, Compiled) else ()
        if parameters and all(parameter.annotation in kinds for parameter in parameters):
            defaults = (parameter.default for parameter in parameters)
            function.outer.compile(
                tuple(
                    kinds[parameter.annotation] if default is parameter.empty else types.Omitted(default)
                    for parameter, default in zip(parameters, defaults, strict=True)
                )
            )


class FirstFit:
    """A plain Python policy, used to compile its cluster functions."""

    name = "first-fit"

    def schedule(self, cluster: Cluster, state: Any) -> None:
        for n in range(new_count(cluster)):
            task = new_task(cluster, n)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)


def readable_folders() -> list[Path]:
    """List the folders of Python, libraries, packenv and machine code."""
    python = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()]
    libraries = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    system = ["/usr", "/lib", "/lib64", "/dev/urandom", "/sys/devices/system/cpu"]
    own = [Path(packenv.__file__).parent, base()]
    return [*dict.fromkeys([*map(Path, [*python, *libraries, *system]), *own])]


@dataclass
class Told:
    """The state of `Sandboxed` in a run: news already sent."""

    child: ChildProcess
    number: Any  # (places of the pool,)
    places: Any  # (tasks,)
    news: Any
    homes: int  # the most home servers of a task
    began: float  # processor time of the process before the first slot
    began_clock: float
    tasks: int = 0


@dataclass(frozen=True)
class Sandboxed:
    """A policy decided by a candidate's separate process.

    source   text of the file
    kind     name of the class
    folder   parent of its processes' folders; "": the folder of temporary files
    seconds  limit of processor time for all decisions of a run
    """

    source: str = field(repr=False)
    kind: str
    name: str = "candidate"
    folder: str = ""
    seconds: float = 120.0

    def needs(self, setting: Setting) -> Needs:
        vectors = setting.capacity.shape[1] > 1
        return Needs(vectors=vectors, devices=vectors)

    def initial_state(self, setting: Setting, seed: int) -> Told:
        child = process_of(self)
        shown = without_tasks(setting.workload)
        about = (setting.capacity, shown, setting.levels, setting.largest_size, secrets.randbits(31))
        child.ask(BEGIN, pickle.dumps(about), BEGIN_SECONDS)
        child.waited, child.slots = 0.0, 0
        empty = np.zeros(1024, np.int64)
        jobs = setting.workload.jobs
        homes = 0 if jobs is None or jobs.home is None else int(np.diff(jobs.home.offsets).max())
        return Told(child, empty, empty.copy(), empty.copy(), homes, child.processor_time(), time.monotonic())

    def schedule(self, cluster: Cluster, state: Told) -> None:
        """Send the slot's news, start the answer's tasks. Raises CandidateFault."""
        child, head = state.child, cluster.head[0]
        new = int(head["fresh"])
        # Grow the arrays to the cluster's size.
        if len(state.number) < cluster.task.shape[1]:
            state.number = longer(state.number, cluster.task.shape[1])
        if len(state.places) < state.tasks + new:
            state.places = longer(state.places, state.tasks + new)
        if len(state.news) < (most := news_length(cluster, state.homes)):
            state.news = longer(state.news, most)
        length = tell(cluster, state.number, state.places, state.tasks, state.news)
        state.tasks += new
        reply = child.ask(SLOT, state.news[:length].tobytes(), SLOT_SECONDS)
        child.slots += 1
        child.waited = child.processor_time() - state.began
        if child.waited > self.seconds or time.monotonic() - state.began_clock > PATIENCE * self.seconds:
            pace = f"{1e3 * child.waited / child.slots:.3g} ms of processor time for each slot in which something happens"
            after = f"after {self.seconds:g} s it is in slot {head['now']:,}, where {head['waiting']:,} tasks wait"
            raise CandidateFault(f"it is too slow: {pace}; {after}")
        if len(reply) % (8 * START) != 8:
            raise CandidateFault("its process writes an invalid answer")
        fault = carry_out(cluster, state.number, state.places, state.tasks, np.array(np.frombuffer(reply, np.int64)))
        if fault:
            raise CandidateFault(f"{AT_FAULT[fault]} in slot {head['now']}")


def longer(array: Any, least: int) -> Any:
    return np.concatenate([array, np.zeros(max(least, len(array)), np.int64)])


def without_tasks(workload: Workload) -> Workload:
    """Return the workload without tasks, except a table's largest one."""
    jobs = workload.jobs
    if jobs is None:
        return workload
    row = int((jobs.demand / np.maximum(workload.servers.units.max(axis=0), 1)).max(axis=1).argmax())
    largest = Jobs(
        np.zeros(1, np.int64), jobs.demand[[row]], np.ones(1, np.int64), scale=jobs.scale,
        home=None if jobs.home is None else Ragged.of([jobs.home.row(row).tolist()]), device_kinds=jobs.device_kinds,
        devices=None if jobs.devices is None else jobs.devices[[row]], estimate=None if jobs.estimate is None else np.ones(1),
    )  # fmt: skip
    network = workload.network and replace(workload.network, factor=())  # future slowdowns are unknown
    return Workload(
        servers=workload.servers, jobs=largest, name=workload.name, resources=workload.resources, network=network,
        slot_seconds=workload.slot_seconds,
    )  # fmt: skip


_processes: dict[Sandboxed, ChildProcess] = {}


def process_of(candidate: Sandboxed) -> ChildProcess:
    """Return this worker's process for the candidate, compiled once."""
    child = _processes.get(candidate)
    if child is None or child.process.poll() is not None:
        child = _processes[candidate] = ChildProcess(candidate.source, candidate.kind, candidate.folder)
    return child


def close_all() -> None:
    """End the candidates' processes of this process."""
    while _processes:
        _processes.popitem()[1].close()
