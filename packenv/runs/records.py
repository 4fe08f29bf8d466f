"""The records of a comparison: one per policy and seed, and per policy one over its seeds with 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.results.job_times import JobTimes
from packenv.results.locality import DataLocality
from packenv.results.result import Result
from packenv.results.stability import combine
from packenv.runs.statistics import mean_and_half
from packenv.runs.whole_jobs import WholeJobs
from packenv.workloads.network import ANY, NODE, RACK

AVERAGED = (
    "mean_queue",
    "max_queue",
    "mean_waiting_size",
    "mean_delay",
    "delay_p50",
    "delay_p95",
    "delay_p99",
    "tasks_per_second",
)
OF_JOBS: dict[str, Callable[[JobTimes], float | None]] = {
    "makespan": lambda times: times.makespan,
    "mean_completion": lambda times: times.mean,
    "completion_p50": lambda times: times.quantile(0.5),
    "completion_p95": lambda times: times.quantile(0.95),
    "completion_p99": lambda times: times.quantile(0.99),
}
"""Measures of whole jobs, in slots: None where the table has no jobs, or they did not end."""

OF_DATA: dict[str, Callable[[DataLocality], float | None]] = {
    "node_local": lambda data: data.share(NODE),
    "rack_local": lambda data: data.share(RACK),
    "remote": lambda data: data.share(ANY),
    "task_completion": lambda data: mean(data.completion),
    "task_service": lambda data: mean(data.service),
    "remote_slots": lambda data: mean(data.overhead),
    "scheduling_delay": lambda data: mean(data.scheduling_delay),
    "no_room": lambda data: mean(data.no_room),
}
"""Measures of tasks whose data lie on some servers: shares and mean slots; None where the table does not say where."""

RECORDED = (
    *("policy", "workload", "servers", "seed", "slots", "warmup", "arrived", "started", "completed", "waiting", "mean_queue"),
    *("max_queue", "mean_waiting_size", "mean_delay", "delay_p50", "delay_p95", "delay_p99", "utilisation", "verdict"),
    *("stopped", "seconds", "tasks_per_second"),
)
Record = dict[str, Any]


def record_of(result: Result, whole: WholeJobs, slot_seconds: float | None) -> Record:
    """The JSON record of one run. `slot_seconds`: the length of a slot, if known; all times are in slots."""
    record = {key: getattr(result, key) for key in RECORDED} | {"slot_seconds": slot_seconds}
    verdict = {"verdict": str(result.verdict), "confidence": result.verdict.confidence}
    record |= {"utilisation": list(result.utilisation), "load": result.load, "rho": result.rho}
    record |= {key: of_data(result, key) for key in OF_DATA}
    record["node_local_by_job_size"] = None if result.data is None else result.data.by_size(NODE)
    return record | {key: of_jobs(result, key) for key in OF_JOBS} | whole._asdict() | verdict


def mean(slots: NDArray[np.int64]) -> float | None:
    """The mean; None of an empty array."""
    return float(slots.mean()) if len(slots) else None


def of_data(result: Result, key: str) -> float | None:
    """One of OF_DATA."""
    return None if result.data is None else OF_DATA[key](result.data)


def of_jobs(result: Result, key: str) -> float | None:
    """One of OF_JOBS."""
    return None if result.jobs is None else OF_JOBS[key](result.jobs)


def summary_of(results: list[Result], whole: list[WholeJobs], slot_seconds: float | None) -> Record:
    """One policy over its seeds: means, and `interval` with the 95 % half-widths of Student's t over the seeds.

    A half-width is None for a single seed. The verdict is that of all seeds together.
    """
    record: Record = {"policy": results[0].policy, "workload": results[0].workload, "servers": results[0].servers, "seed": None}
    record |= {"seeds": len(results), "slot_seconds": slot_seconds}
    interval: Record = {}
    for key in AVERAGED:
        record[key], interval[key] = mean_and_half([getattr(result, key) for result in results])
    for keys, of in ((OF_JOBS, of_jobs), (OF_DATA, of_data)):
        for key in keys:
            record[key], interval[key] = mean_of_all([of(result, key) for result in results])
    for key in WholeJobs._fields:
        record[key], interval[key] = mean_of_all([getattr(each, key) for each in whole])
    shares = [mean_and_half([result.utilisation[r] for result in results]) for r in range(len(results[0].utilisation))]
    record["utilisation"] = [mean for mean, _ in shares]
    interval["utilisation"] = [half for _, half in shares]
    for key in ("slots", "arrived", "started", "completed", "waiting"):
        record[key] = float(np.mean([getattr(result, key) for result in results]))
    verdict = combine(result.verdict for result in results)
    record |= {"verdict": str(verdict), "confidence": verdict.confidence}
    record["stopped"] = next((result.stopped for result in results if result.stopped), None)
    record["seconds"] = float(sum(result.seconds for result in results))
    return record | {"interval": interval}


def mean_of_all(values: list[float | None]) -> tuple[float | None, float | None]:
    """Mean and half-width; None unless every seed has a value."""
    return (None, None) if None in values else mean_and_half(values)


def flat(record: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The plain values inside of a record by their path."""
    for key, value in record.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{key}.")
        elif not isinstance(value, (list, tuple)):
            yield f"{above}{key}", value
        elif not any(isinstance(each, (Mapping, list, tuple)) for each in value):
            yield from flat({str(n): each for n, each in enumerate(value)}, f"{above}{key}.")
