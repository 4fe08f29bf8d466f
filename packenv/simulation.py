"""The simulation of one policy at a known rate."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.cluster.build import build, grow, lengthen
from packenv.cluster.gangs import gang_in_part
from packenv.cluster.loop import IN_PART, OVERFULL, overfull_server, runner_for
from packenv.cluster.measures import delay_values
from packenv.cluster.slots import FINISHED, GROW, LIMIT, OTHER_REASONS, PAUSED
from packenv.cluster.state import NEVER, NONE, TASK, Cluster
from packenv.compiled.apart import Apart
from packenv.compiled.helpers import expect
from packenv.content.text import counted
from packenv.errors import ArgumentError, InputError, MisuseError, check_count
from packenv.jobs import HOW_MANY, MOST_DEVICES, WHOLE, Jobs
from packenv.options.verbs import WAITING_LIMIT as WAITING_LIMIT
from packenv.policy import WITH_GANGS, Needs, Setting, attached, find_policy, initial_state_of, misuse, name_of, needs_of
from packenv.results.delays import Delays
from packenv.results.job_times import SLOWDOWN_BOUND, job_times, response_times
from packenv.results.locality import data_locality
from packenv.results.result import Result, Trajectory
from packenv.results.schedule_table import Schedule
from packenv.results.stability import NO_VERDICT, judge_run, settling_time
from packenv.units import UNIT, to_units
from packenv.workloads.demand import scalar_size
from packenv.workloads.in_service import InService, begins_busy, counted_tasks, in_service_of
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload


def schedule_of(cluster: Cluster) -> Schedule:
    """Return start, server and end of arrived rows."""
    measures, rows = cluster.measures, int(cluster.head["arrived"][0])
    source = measures.source[0, :rows] if measures.source.shape[1] > 0 else None
    devices = measures.devices[0, :rows] if measures.devices.shape[1] > 0 else None
    return Schedule(measures.start[0, :rows], measures.server[0, :rows], measures.end[0, :rows], source, devices)


def result_of(
    cluster: Cluster, policy: str, workload: Workload, seed: int, seconds: float, stopped: str | None, table: Jobs | None = None
) -> Result:
    """Return the result of a finished run, without its schedule.

    seconds  time of the loop
    stopped  why the run ended early, or None
    table    the table whose rows ran
    """
    # Means are over the measured slots, after the warm-up.
    head = cluster.head[0]
    measured = int(head["measured"])
    capacity = cluster.capacity.sum(axis=0).astype(np.float64)
    used = cluster.measures.used[0] / max(measured, 1)
    # The queue in every bin that the run has completed.
    size_unit = workload.servers.size_unit
    width = int(cluster.head["bin_slots"][0])
    whole = int(cluster.head["now"][0]) // width
    bins = cluster.measures.bins[0, :whole] / width
    trajectory = Trajectory(width, bins[:, 0].copy(), bins[:, 1] / UNIT * size_unit)
    # The verdict needs the waiting size in largest servers.
    in_servers = trajectory.waiting_size / (workload.servers.capacity.max() if workload.D == 1 else 1.0)
    settling = settling_time(workload.mean_service, workload.mean_residual)
    delays, started = _delays(cluster, table), int(head["delay_count"])  # of measured tasks
    return Result(
        policy=policy,
        **workload.record,
        servers=len(cluster.capacity),
        seed=seed,
        slots=int(head["now"]),
        warmup=int(head["warmup"]),
        arrived=int(head["arrived"]),
        started=int(head["started"]),
        completed=int(head["completed"]),
        waiting=int(head["waiting"] + head["held_back"] + head["released"] - head["next_released"]),
        rejected=_rejected(cluster, workload),
        mean_queue=int(head["queue_sum"]) / measured if measured else None,
        max_queue=int(head["queue_max"]) if measured else None,
        mean_waiting_size=float(head["size_sum"]) / measured / UNIT * workload.servers.size_unit if measured else None,
        mean_delay=int(head["delay_sum"]) / started if started else None,
        **_quantiles(delays),
        max_delay=int(head["delay_max"]) if started else None,
        mean_response=int(head["response_sum"]) / started if started and not head["postponed"] else None,
        utilisation=tuple(used[r] / capacity[r] if measured and capacity[r] else None for r in range(len(used))),
        verdict=judge_run(in_servers, trajectory.bin_slots, settling, workload.intensity),
        load=workload.load,
        rho=workload.rho,
        stopped=stopped,
        seconds=seconds,
        tasks_per_second=int(head["started"]) / max(seconds, 1e-9),
        trajectory=trajectory,
        delays=delays,
    )


def recounted(result: Result, jobs: Jobs, times: Schedule, last: int, servers: Servers) -> Result:
    """Return the result with counts, delays and queue of these tasks (n,), which arrived in slot 0.

    last  ends from this slot on are beyond the run
    """
    slots, warmup, (width, queue, _) = result.slots, result.warmup, result.trajectory
    begun = times.start >= 0
    wait = np.where(begun, times.start, slots)
    order = np.argsort(wait)
    ordered = wait[order]

    def until(slot: NDArray[np.int64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of `weight` × slots of waiting before each slot."""
        begun_by = np.searchsorted(ordered, slot, side="right")
        waited, gone = (np.append(0.0, np.cumsum(each[order])) for each in (weight * wait, weight))
        return np.asarray(waited[begun_by] + slot * (gone[-1] - gone[begun_by]))

    size = scalar_size(jobs.demand, servers) / UNIT * servers.size_unit
    weights, bins, span = (np.ones(len(wait)), size), np.arange(len(queue) + 1) * width, np.array([warmup, slots])
    means = [float(np.diff(until(span, weight))[0]) / (slots - warmup) if slots > warmup else None for weight in weights]
    waited, tasks = np.unique(wait[begun & jobs.leads & (warmup == 0)], return_counts=True)
    delays = Delays(waited.astype(np.float64), tasks.astype(np.int64))
    started = int(begun.sum())
    return replace(
        result,
        arrived=len(wait),
        started=started,
        completed=int((begun & (times.end < last)).sum()),
        waiting=len(wait) - started,
        mean_queue=means[0],
        max_queue=int((wait > warmup).sum()) if slots > warmup else None,
        mean_waiting_size=means[1],
        mean_delay=float(waited @ tasks / tasks.sum()) if len(tasks) else None,
        **_quantiles(delays),
        max_delay=int(waited[-1]) if len(tasks) else None,
        trajectory=Trajectory(width, *(np.diff(until(bins, weight)) / width for weight in weights)),
        delays=delays,
    )


def _rejected(cluster: Cluster, workload: Workload) -> dict[str, int] | None:
    """Count rejected tasks by reason, or None where tasks wait."""
    if not cluster.head["rejects"][0]:
        return None
    names = ("size",) if workload.D == 1 else workload.resource_names
    counts = dict(zip((*names, *OTHER_REASONS), cluster.measures.rejected[0].tolist(), strict=True))
    possible = {*names, *(["kind"] if workload.has_devices else []), *(["several"] if workload.D > 1 else [])}
    possible |= {"gang"} if workload.has_gangs else set()
    return {reason: count for reason, count in counts.items() if count or reason in possible}


def _delays(cluster: Cluster, table: Jobs | None) -> Delays:
    """Return delays: exact for up to MOST_EXACT independent tasks, else rounded."""
    if table is not None and len(table) <= MOST_EXACT and table.predecessors is None and table.phase is None:
        start = schedule_of(cluster).start
        arrival = table.arrival[: len(start)]
        counted = (start >= 0) & (arrival >= cluster.head["warmup"][0]) & table.leads[: len(start)]
        waited = np.unique((start - arrival)[counted], return_counts=True)
        return Delays(waited[0].astype(np.float64), waited[1].astype(np.int64))
    counts = cluster.measures.delays[0]
    occurred = np.flatnonzero(counts)
    return Delays(delay_values()[occurred], counts[occurred])


def _quantiles(delays: Delays) -> dict[str, Any]:
    shares = {"50": 0.5, "90": 0.9, "95": 0.95, "99": 0.99, "999": 0.999}
    return {f"delay_p{name}": delays.quantile(share) for name, share in shares.items()}


MOST_EXACT = 100_000  # tasks of a table whose delays are kept one by one
SLICE = 100_000  # slots with events between two checks of the clock and of Ctrl-C
SHORT_SLICE = 256  # where a run ends as soon as all tasks have started


def setting_of(workload: Workload) -> Setting:
    """The setting that a policy gets before the run."""
    return Setting(workload.servers.units, workload, workload.default_levels(), workload.largest_size())


def simulate(
    workload: Workload,
    policy: Any,
    slots: int | None = None,
    seed: int = 0,
    *,
    drain: bool | None = None,
    warmup: int | None = None,
    initial: Sequence[tuple[ArrayLike, int, int]] = (),
    schedule: bool = False,
    backlog: int | None = None,
    reject: bool = False,
    waiting_limit: int = WAITING_LIMIT,
    until_started: bool = False,
    slowdown_bound: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Run `policy` on a workload with a known rate.

    Arguments as in `packenv.simulate`. Raises InputError for arguments that do not go together, and for misuse of the cluster.
    """
    policy = find_policy(policy) if isinstance(policy, str) else policy

    # The tasks of this seed; of a random workload as a table if the policy must know all of them beforehand, or of gangs.
    in_service, as_it_is, draw = initial or in_service_of(workload, seed), begins_busy(workload), workload.draw
    offered = workload = workload.at(seed)
    drain = (slots is None and workload.at_once) if drain is None else drain
    horizon = _horizon(workload, slots, drain)
    setting = setting_of(workload)
    if (needs_of(policy, setting).table or workload.has_gangs) and workload.jobs is None:
        workload = workload.tabulated(seed, horizon)
        setting = setting_of(workload)
    table, needs = workload.jobs, needs_of(policy, setting)
    warmup = (0 if table is not None else horizon // 10) if warmup is None else warmup

    # Arguments that do not go together.
    if backlog is not None:
        _check_backlog(policy, backlog, offered, table, waiting_limit)
    if reject:
        _check_reject(policy, needs, workload, backlog)
    _check_able(policy, needs, workload, as_it_is)
    check_count("warmup", warmup, 0)
    if warmup >= horizon and not drain:
        raise InputError(f"warmup must lie between 0 and the number of slots, not {warmup}")
    if slowdown_bound is not None and not (isinstance(slowdown_bound, Real) and 0 < slowdown_bound < np.inf):
        raise InputError(f"slowdown_bound must be a number of seconds above 0, not {slowdown_bound!r}")

    # The cluster and the policy's state before slot 0.
    records = schedule or table is not None or (slowdown_bound is not None and backlog is None)
    recorded = len(table) if table is not None else max(1024, int(workload.rate * horizon * 1.1))
    expect(type(policy).__name__, setting.capacity.shape[1], otherwise="every run")
    cluster = build(
        workload.source([seed]),
        setting.capacity,
        needs,
        jobs=table,
        initial=check_initial(in_service, workload.servers),
        record_rows=recorded if records else 0,
        waiting_limit=waiting_limit,
        warmup=warmup,
    )
    if drain and slots is not None:
        cluster.head["arrivals_end"] = horizon
    if backlog is not None:
        cluster.head["backlog"] = backlog
    cluster.head["rejects"] = int(reject)
    state = attached(policy, cluster, initial_state_of(policy, setting, seed))

    # The slots, and what was measured in them.
    enough = len(table) if until_started and table is not None else None
    cluster, state, seconds, reason = _run_slots(policy, cluster, state, NEVER if drain else horizon, enough, progress)
    stopped = f"more than {waiting_limit:,} tasks waiting in slot {cluster.head['now'][0]}" if reason == LIMIT else None
    result = result_of(cluster, name_of(policy), offered, seed, seconds, stopped, table)
    if backlog is not None:
        result = replace(result, load=None, rho=None)  # of the arrivals that would be
    if drain and stopped is None and result.waiting and not until_started:
        result = replace(result, stopped=_never_started(cluster, result.policy, result.waiting))
    # No verdict on a queue of the length that was asked for, on finished work, on tasks in service with one finite queue, and
    # where nothing waits.
    if backlog is not None or reject or (drain and stopped is None) or (as_it_is and offered.at_once):
        result = replace(result, verdict=NO_VERDICT)

    # The measures that need the schedule, and what an agent says of its run.
    starts = schedule_of(cluster)
    tasks, times = table, starts
    if as_it_is and table is not None:
        last = NEVER if drain else result.slots
        tasks, times = counted_tasks(draw, seed, table, starts, last)
        result = result if tasks is table else recounted(result, tasks, times, last, workload.servers)
    if table is not None and table.job is not None and len(starts.start) == len(table):
        result = replace(result, jobs=job_times(table, starts, result.slots))
    if backlog is None and (table is not None or slowdown_bound is not None):
        bound = (slowdown_bound or SLOWDOWN_BOUND) / (workload.slot_seconds or 1.0)
        jobs = workload.jobs_table(seed, max(len(starts.start), 1)) if tasks is None else tasks
        response = response_times(jobs, times, result.warmup, bound)
        result = replace(result, response=response, mean_response=None if response is None else response.mean_response)
    remark_of = getattr(policy, "remark", None)  # an agent's: whether it saw all that fitted
    remark = remark_of(state) if remark_of is not None else None
    result = replace(result, data=data_locality(workload, starts), remark=remark, played=offered)
    return replace(result, schedule=starts) if schedule else result


def _never_started(cluster: Cluster, policy: str, waiting: int) -> str:
    """Explain why tasks wait while nothing is in service."""
    rows = np.sort(cluster.task["row"][0][(cluster.task["kind"][0] == TASK) & (cluster.task["server"][0] == NONE)])
    first = f"row {rows[0]:,} (from 0, by arrival)" if len(rows) else "them"
    never = f"{counted(waiting, 'task')} never {'starts' if waiting == 1 else 'start'}"
    return f"{never}: {policy} leaves {first} waiting on empty servers"


def _run_slots(
    policy: Any, cluster: Cluster, state: Any, until: int, enough: int | None, progress: Callable[[int], None] | None
) -> tuple[Cluster, Any, float, int]:
    """Let the policy play the slots before `until`.

    The run also ends when all work is done, too many tasks wait, or `enough` have started. Returns the cluster and the state at
    the end (new ones where room ran out), the seconds in the loop, and FINISHED or LIMIT. Raises MisuseError.
    """
    run = runner_for(policy)
    run(policy, cluster, state, until, 0)  # compiles the policy if necessary
    seconds, reason = 0.0, None
    # Run slices until the run ends, and report progress between them.
    while reason not in (FINISHED, LIMIT):
        began = time.perf_counter() - Apart.seconds
        try:
            reason = run(policy, cluster, state, until, SLICE if enough is None else SHORT_SLICE)
        except MemoryError:
            raise
        except Exception as error:  # the compiled code found a misuse, or a policy in plain Python raised something
            raise misuse(policy, error, int(cluster.orders)) from error
        seconds += time.perf_counter() - Apart.seconds - began
        # Grow the arrays, or name the policy's misuse.
        if reason == GROW:
            cluster = make_room(cluster)
            state = attached(policy, cluster, state)
        elif reason == OVERFULL:
            where = f"server {overfull_server(cluster)} above its capacity in slot {cluster.head['now'][0]}"
            raise MisuseError(f"policy {name_of(policy)} put {where}")
        elif reason == IN_PART:
            where = f"without all of its gang, as row {gang_in_part(cluster)}, in slot {cluster.head['now'][0]}"
            raise MisuseError(f"policy {name_of(policy)} started a task {where}")
        elif reason == PAUSED and cluster.head["started"][0] == enough:
            reason = FINISHED
        if progress is not None:
            progress(int(cluster.head["now"][0]))
    return cluster, state, seconds, reason


def _check_able(policy: Any, needs: Needs, workload: Workload, as_it_is: bool) -> None:
    """Raise InputError if the policy ignores reads, devices or gangs of the workload.

    as_it_is  the workload begins with tasks in service, so no option can split gangs or pool devices
    """
    if workload.network is not None and workload.network.takes_resources and not needs.reads:
        raise InputError(f"{name_of(policy)} does not look for room for remote reads, which take resources in {workload.name}")
    if workload.has_devices and not needs.devices:
        amount = "" if as_it_is else "; --one-amount (devices=False) counts a server's GPUs as one amount"
        raise InputError(f"{name_of(policy)} does not look for room on devices{amount}")
    if workload.has_gangs and not needs.gangs:
        alone = "" if as_it_is else "; --one-by-one (gangs=False) lets each start alone"
        raise InputError(f"{name_of(policy)} does not start the tasks of a gang together: {WITH_GANGS}{alone}")


def _check_reject(policy: Any, needs: Needs, workload: Workload, backlog: int | None) -> None:
    if backlog is not None:
        raise ArgumentError("`backlog` does not go with `reject`, which leaves nothing waiting")
    if not needs.rejects:
        raise ArgumentError(f"{name_of(policy)} records waiting tasks: `reject` does not go with it")
    jobs = workload.jobs
    if jobs is not None and (jobs.predecessors is not None or jobs.phase is not None):
        raise ArgumentError(f"`reject`: in {workload.name} tasks wait for others, which might be lost")


def _check_backlog(policy: Any, backlog: int, workload: Workload, table: Jobs | None, waiting_limit: int) -> None:
    """Raise InputError for a backlog with tables, gangs, or all-knowing policies (`table`)."""
    if workload.jobs is not None:
        raise InputError(f"a backlog needs a random workload: the tasks of {workload.name} have fixed arrival times")
    if not 1 <= backlog <= waiting_limit:
        raise InputError(f"backlog must lie between 1 and {waiting_limit}, the most that may wait, not {backlog}")
    if workload.has_gangs:
        raise ArgumentError("`backlog` does not go with gangs")
    if table is not None:
        raise InputError(f"{name_of(policy)} knows all tasks in advance: backlog does not go with it")


def _horizon(workload: Workload, slots: int | None, drain: bool) -> int:
    if slots is None:
        if workload.jobs is None:
            raise InputError(f"workload {workload.name} has no last arrival: give the number of slots")
        return int(workload.jobs.arrival[-1]) + 1
    check_count("slots", slots)
    return int(slots)


def check_initial(initial: InService | Sequence[tuple[ArrayLike, int, int]], servers: Servers) -> InService:
    """Check the initial tasks in service. May raise InputError."""
    capacity = servers.units
    jobs = initial if isinstance(initial, InService) else InService.of(_in_units(initial, servers), servers.D)
    for n in np.flatnonzero((jobs.server < 0) | (jobs.server >= len(capacity))).tolist():
        raise InputError(f"initial job {n}: there is no server {jobs.server[n]}")
    left = capacity.copy()
    np.subtract.at(left, jobs.server, jobs.demand)
    for server in np.flatnonzero((left < 0).any(axis=1)).tolist():
        rows = np.flatnonzero(jobs.server == server)
        first = rows[(np.cumsum(jobs.demand[rows], axis=0) > capacity[server]).any(axis=1)][0]
        raise InputError(f"initial job {first}: server {server} has no room for it")
    if jobs.devices is not None:
        check_devices(jobs, servers)
    return jobs


def check_devices(jobs: InService, servers: Servers) -> None:
    """Raise InputError unless initial tasks fit their devices."""
    assert jobs.devices is not None
    number, share, _, taken = jobs.devices.T
    devices = np.zeros((len(servers), 3), np.int64) if servers.devices is None else servers.devices
    full = devices[jobs.server, WHOLE]
    has = taken[:, None] >> np.arange(MOST_DEVICES) & 1  # (n, MOST_DEVICES)
    held = np.zeros((len(servers), MOST_DEVICES), np.int64)
    np.add.at(held, jobs.server, has * np.where(share > 0, share, full)[:, None])
    room = np.where(np.arange(MOST_DEVICES) < devices[:, HOW_MANY, None], devices[:, WHOLE, None], 0)
    for n in np.flatnonzero((has.sum(axis=1) != number) | ((held > room)[jobs.server] & (has == 1)).any(axis=1)).tolist():
        raise InputError(f"initial job {n}: server {jobs.server[n]} has no room for it on its devices")


def _in_units(initial: Sequence[tuple[ArrayLike, int, int]], servers: Servers) -> Iterator[tuple[Sequence[int], int, int]]:
    """Return initial tasks in units, or raise InputError."""
    for n, row in enumerate(initial):
        try:
            size, server, remaining = row
            amount = np.atleast_1d(np.asarray(size, dtype=np.float64))
            server, remaining = operator.index(server), operator.index(remaining)
        except (TypeError, ValueError):
            raise InputError(f"initial job {n}: must be (size, server, slots that remain), not {row!r}") from None
        demand = to_units(np.where(np.isfinite(amount), amount, -1), servers.scale or 0)
        if demand.shape != (servers.D,) or demand.min() < 0 or demand.max() == 0:
            raise InputError(f"initial job {n}: needs {servers.D} demands >= 0, at least one of them positive")
        if remaining < 1:
            raise InputError(f"initial job {n}: must remain at least 1 slot, not {remaining}")
        yield demand.tolist(), server, remaining


def make_room(cluster: Cluster) -> Cluster:
    """Double the room for tasks or schedule rows."""
    if 0 < cluster.measures.start.shape[1] <= cluster.head["next_row"][0]:
        return lengthen(cluster)
    return grow(cluster, 2 * cluster.task.shape[1])
