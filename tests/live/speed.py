"""How fast a live policy answers: `python -m tests.live.speed`.

Processor time is the measure on a machine that others use as well. Each step of a loop is a completion, a submission and a
decision.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import packenv


class Cluster:
    """A full cluster with `waiting` tasks, as messages and answers."""

    def __init__(self, servers: int, waiting: int) -> None:
        self.rng, self.running, self.count, self.waiting = random.Random(1), list[int](), 0, 0
        self.start = 2 * servers + waiting

    def submission(self) -> dict[str, Any]:
        self.count, self.waiting = self.count + 1, self.waiting + 1
        return {"task": self.count, "size": round(self.rng.uniform(0.1, 0.9), 3)}

    def completion(self) -> int:
        n = self.rng.randrange(len(self.running))
        self.running[n], self.running[-1] = self.running[-1], self.running[n]
        return self.running.pop()

    def started(self, tasks: list[Any]) -> None:
        self.running += tasks
        self.waiting -= len(tasks)


def latencies(policy: str, servers: int, waiting: int, steps: int, workload: str | None = None) -> NDArray[np.float64]:
    """(steps,) seconds of processor of each decision, in Python."""
    scheduler, cluster = packenv.Scheduler(policy, servers=servers, workload=workload), Cluster(servers, waiting)
    while cluster.count < cluster.start or cluster.waiting < waiting:
        for _ in range(max(cluster.start - cluster.count, waiting - cluster.waiting)):
            scheduler.submit(**cluster.submission())
        cluster.started([start.task for start in scheduler.decide()])
    seconds = np.zeros(steps)
    for n in range(steps):
        scheduler.complete(cluster.completion())
        if cluster.waiting < waiting:
            scheduler.submit(**cluster.submission())
        began = time.process_time()
        starts = scheduler.decide()
        seconds[n] = time.process_time() - began
        cluster.started([start.task for start in starts])
    return seconds


def python_rate(servers: int, waiting: int, steps: int) -> float:
    """Return decisions a second of processor, with their submissions and completions."""
    scheduler, cluster = packenv.Scheduler("bf-js", servers=servers), Cluster(servers, waiting)
    for _ in range(cluster.start):
        scheduler.submit(**cluster.submission())
    cluster.started([start.task for start in scheduler.decide()])
    began = time.process_time()
    for _ in range(steps):
        scheduler.complete(cluster.completion())
        scheduler.submit(**cluster.submission())
        cluster.started([start.task for start in scheduler.decide()])
    return steps / (time.process_time() - began)


def serve_rates(servers: int, waiting: int, steps: int, batch: int) -> tuple[float, float]:
    """Return decisions a second through `packenv serve`: of its processor, and on the clock."""
    cluster = Cluster(servers, waiting)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "socket")
        command = [sys.executable, "-m", "packenv", "serve", "bf-js", "--servers", str(servers), "--socket", path]
        process = subprocess.Popen(command, env=os.environ | {"PACKENV_QUIET": "1"})
        try:
            ask = _conversation(path)
            next(ask)
            for _ in range(cluster.start):
                ask.send([{"submit": cluster.submission()}])
            cluster.started([start["task"] for start in ask.send([{"decide": {}}])[0]["starts"]])
            spent, clock = _processor(process.pid), time.perf_counter()
            for first in range(0, steps, batch):
                messages: list[dict[str, Any]] = []
                for _ in range(min(batch, steps - first)):
                    messages += [{"complete": cluster.completion()}, {"submit": cluster.submission()}, {"decide": {}}]
                for answer in ask.send(messages)[2::3]:
                    cluster.started([start["task"] for start in answer["starts"]])
            return steps / (_processor(process.pid) - spent), steps / (time.perf_counter() - clock)
        finally:
            process.kill()
            process.wait()


def _conversation(path: str) -> Generator[list[Any], list[dict[str, Any]], None]:
    """Send messages together, and yield their answers."""

    def talk() -> Generator[list[Any], list[dict[str, Any]], None]:
        with socket.socket(socket.AF_UNIX) as client:
            for _ in range(600):
                with suppress(OSError):
                    client.connect(path)
                    break
                time.sleep(0.1)
            lines, answers = client.makefile("rb"), list[Any]()
            while True:
                messages = yield answers
                client.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
                answers = [json.loads(lines.readline()) for _ in messages]
                assert not any("error" in answer for answer in answers)

    return talk()


def _processor(process: int) -> float:
    """Return a process's seconds of processor so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    for policy, law in (("bf-js", None), ("agent:fig4b", None), ("agent:any", "paper/fig4b")):
        microseconds = 1e6 * latencies(policy, 100, 100, 3000, law)
        median, most = np.percentile(microseconds, [50, 99])
        print(f"{policy}, 100 servers, 100 waiting: median {median:.0f} µs, 99th percentile {most:.0f} µs of processor")
    print(f"1,000 servers, 10,000 waiting, in Python: {python_rate(1000, 10_000, 5000):,.0f} decisions/s of processor")
    for batch in (64, 1):
        processor, clock = serve_rates(1000, 10_000, 5000, batch)
        print(f"through serve, {batch} at once: {processor:,.0f} decisions/s of its processor, {clock:,.0f} on the clock")


if __name__ == "__main__":
    main()
