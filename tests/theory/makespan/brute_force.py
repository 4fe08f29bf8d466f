"""The shortest schedule the slow, obvious way: every order of the tasks and every choice of servers, each as early as it fits."""

from __future__ import annotations

from packenv import Jobs, Workload


def waits_for(jobs: Jobs) -> list[list[int]]:
    """Rows that must complete before each row begins: its predecessors, and its job's earlier phases."""
    before = [[] if jobs.predecessors is None else jobs.predecessors.row(i).tolist() for i in range(len(jobs))]
    if jobs.phase is not None and jobs.job is not None:
        for i in range(len(jobs)):
            before[i] += [j for j in range(len(jobs)) if jobs.job[j] == jobs.job[i] and jobs.phase[j] < jobs.phase[i]]
    return before


def shortest_makespan(workload: Workload, allowed: list[list[int]] | None = None) -> int:
    """Slots from the first arrival to the last end; `allowed`: servers of each row, all by default."""
    jobs, capacity = workload.jobs, workload.servers.units.tolist()
    assert jobs is not None
    n, before = len(jobs), waits_for(jobs)
    service, demand = jobs.service.tolist(), jobs.demand.tolist()
    servers = allowed or [list(range(len(capacity)))] * n
    latest = int(jobs.arrival[-1]) + sum(service)
    best = latest
    end: dict[int, int] = {}
    placed: list[tuple[int, int]] = []  # (row, server)

    def fits(row: int, server: int, slot: int) -> bool:
        for t in range(slot, slot + service[row]):
            beside = [i for i, there in placed if there == server and end[i] - service[i] <= t < end[i]]
            for r, room in enumerate(capacity[server]):
                if demand[row][r] + sum(demand[i][r] for i in beside) > room:
                    return False
        return True

    def place_next() -> None:
        nonlocal best
        if len(placed) == n:
            best = min(best, max(end.values()))
        for row in range(n):
            if row in end or any(i not in end for i in before[row]):
                continue
            ready = max([int(jobs.arrival[row]), *(end[i] for i in before[row])])
            for server in servers[row]:
                slot = next((t for t in range(ready, latest) if fits(row, server, t)), None)
                if slot is not None and slot + service[row] < best + (len(placed) + 1 < n):
                    end[row] = slot + service[row]
                    placed.append((row, server))
                    place_next()
                    placed.pop()
                    del end[row]

    place_next()
    return best - int(jobs.arrival[0])
