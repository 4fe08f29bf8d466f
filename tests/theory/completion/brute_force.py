"""The least sum of completion times the slow, obvious way: every order of the tasks on every server, each as early as it fits."""

from __future__ import annotations

from packenv import Workload
from tests.theory.makespan.brute_force import waits_for


def least_sum(workload: Workload) -> int:
    """Σ over jobs of last end − first arrival. Some order leads to the best schedule, if tasks start as early as they fit."""
    jobs, capacity = workload.jobs, workload.servers.units.tolist()
    assert jobs is not None
    n, before = len(jobs), waits_for(jobs)
    name = list(range(n)) if jobs.job is None else jobs.job.tolist()
    arrival, service, demand = jobs.arrival.tolist(), jobs.service.tolist(), jobs.demand.tolist()
    arrived = sum(min(arrival[i] for i in range(n) if name[i] == job) for job in set(name))
    latest = arrival[-1] + sum(service)
    best = n * latest
    start: dict[int, tuple[int, int]] = {}  # row: slot, server

    def fits(row: int, server: int, slot: int) -> bool:
        for t in range(slot, slot + service[row]):
            beside = [i for i, (since, there) in start.items() if there == server and since <= t < since + service[i]]
            if any(demand[row][r] + sum(demand[i][r] for i in beside) > room for r, room in enumerate(capacity[server])):
                return False
        return True

    def place_next() -> None:
        nonlocal best
        if len(start) == n:
            last = {job: max(start[i][0] + service[i] for i in range(n) if name[i] == job) for job in set(name)}
            best = min(best, sum(last.values()) - arrived)
        for row in range(n):
            if row in start or any(i not in start for i in before[row]):
                continue
            ready = max([arrival[row], *(start[i][0] + service[i] for i in before[row])])
            for server in range(len(capacity)):
                slot = next((t for t in range(ready, latest) if fits(row, server, t)), None)
                if slot is not None:
                    start[row] = (slot, server)
                    place_next()
                    del start[row]

    place_next()
    return best
