"""A toy cluster on this machine: each task is a `sleep` in its own process, and packenv schedules them.

    python examples/toy_cluster.py agent:fig4b
    python examples/toy_cluster.py bf-js

The five servers are only names. A task holds its share of one until its process ends. Afterwards the simulator plays the recorded
durations, and the script compares the waits.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time

import packenv

SLOT = 0.02  # seconds
SERVERS = "5"


def run_live(policy: str, tasks: list[tuple[int, float, float]]) -> tuple[list[int], list[int]]:
    """Run tasks (arrival slot, size, seconds) in processes; returns the slots in which each started and ended."""
    scheduler = packenv.Scheduler(policy, servers=SERVERS)
    scheduler.warm_up()
    processes: dict[int, subprocess.Popen[bytes]] = {}
    start, end, submitted, began = [0] * len(tasks), [0] * len(tasks), 0, time.monotonic()
    while submitted < len(tasks) or processes:
        # What happened since the last look: processes that have ended, and tasks that have arrived.
        slot = int((time.monotonic() - began) / SLOT)
        for task in [task for task, process in processes.items() if process.poll() is not None]:
            del processes[task]
            scheduler.complete(task)
            end[task] = slot
        while submitted < len(tasks) and tasks[submitted][0] <= slot:
            scheduler.submit(submitted, size=tasks[submitted][1])
            tasks[submitted] = (slot, *tasks[submitted][1:])  # as it was seen
            submitted += 1
        # What starts now.
        for started in scheduler.decide(now=slot):
            task = int(started.task)
            start[task] = slot
            processes[task] = subprocess.Popen(["sleep", f"{tasks[task][2]:.3f}"])
            resource.prlimit(processes[task].pid, resource.RLIMIT_CPU, (10, 10))
        time.sleep(max(0.0, began + (slot + 1) * SLOT - time.monotonic()))
    return start, end


def main(policy: str = "agent:fig4b", count: int = 40) -> None:
    rng = random.Random(1)
    tasks = [(2 * n, rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.6)) for n in range(count)]
    start, end = run_live(policy, tasks)
    arrival = [task[0] for task in tasks]
    jobs = packenv.Jobs.of(arrival, [task[1] for task in tasks], [e - s for s, e in zip(start, end, strict=True)])
    simulated = packenv.simulate(packenv.Workload(jobs=jobs, servers=SERVERS), policy, drain=True, schedule=True).schedule
    assert simulated is not None
    waits = [s - a for s, a in zip(start, arrival, strict=True)]
    same = sum(slot == row for slot, row in zip(start, simulated.start.tolist(), strict=True))
    print(f"{policy}: {count} tasks, mean wait {SLOT * sum(waits) / count:.3f} s, longest {SLOT * max(waits):.2f} s")
    print(f"{same} of {count} start in the slot in which the simulator starts them")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "agent:fig4b")
