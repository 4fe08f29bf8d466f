"""How often the intervals of `packenv plan --when` hold the start that came true, on held-back parts of two traces.

    PACKENV_TRACES=FOLDER python experiments/when_coverage.py [--json FILE]

The tasks of a trace are replayed on too few servers with the durations that they had. At moments of its second half the state
is taken as a cluster that one looks at: what is in service, for how long, and what waits. The law of durations is that of the
tasks that arrived in the first half; which tasks the intervals speak of, and how long these take, is held back. What came true
is the run that goes on from that state, with the true durations and nothing new.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import packenv
from packenv.jobs import Jobs
from packenv.planning.when import DRAWS, NEVER, intervals, starts
from packenv.runs.run import Run, make
from packenv.units import UNIT
from packenv.workloads.in_service import InService
from packenv.workloads.kubernetes.started import ENDLESS, Started
from packenv.workloads.laws import Empirical, Law
from packenv.workloads.traces import read_trace
from packenv.workloads.workload import Workload

FEWEST, MOST = 5, 60
"""Waiting tasks of a moment that counts: the first MOST of them are asked about."""


class Moment(NamedTuple):
    """What is there at one moment of a replay."""

    workload: Workload  # with what one knows
    truth: NDArray[np.int64]  # (waiting,) slots until each starts, with the true durations


def first_half(jobs: Jobs) -> Law:
    """The law of the durations of the tasks that arrive in the first half of a table."""
    return Empirical(jobs.service[: len(jobs) // 2])


def moments(workload: Workload, policy: str, count: int, seed: int) -> list[Moment]:
    """States of a replay at random moments of the second half at which enough tasks wait."""
    jobs = workload.jobs
    assert jobs is not None
    schedule = packenv.simulate(workload, policy, drain=True, schedule=True).schedule
    assert schedule is not None
    law, half = first_half(jobs), len(jobs) // 2
    random = np.random.default_rng(seed)
    found = []
    for now in random.permutation(np.unique(jobs.arrival[half:])):
        waiting = np.flatnonzero((jobs.arrival <= now) & (schedule.start > now))[:MOST]
        running = np.flatnonzero((schedule.start <= now) & (schedule.end > now))
        if len(waiting) >= FEWEST:
            found.append(
                _moment(workload, policy, law, waiting, running, schedule.server[running], now - schedule.start[running])
            )
        if len(found) == count:
            break
    return found


def _moment(
    workload: Workload,
    policy: str,
    law: Law,
    waiting: NDArray[np.int64],
    running: NDArray[np.int64],
    server: NDArray[np.int32],
    age: NDArray[np.int64],
) -> Moment:
    jobs = workload.jobs
    assert jobs is not None
    demand, lasting = jobs.demand / UNIT, jobs.service[running] - age
    known = Started(
        demand=demand[waiting],
        endless=np.zeros(len(waiting), np.bool_),
        running_demand=demand[running],
        running_endless=np.zeros(len(running), np.bool_),
        server=server.astype(np.int64),
        age=age.astype(np.float64),
        service=law,
    )
    begun: list[InService] = [*zip(demand[running].tolist(), server.tolist(), lasting.tolist(), strict=True)]
    table = Jobs(np.zeros(len(waiting), np.int64), jobs.demand[waiting], jobs.service[waiting])
    true = packenv.simulate(workload.with_(jobs=table), policy, ENDLESS, initial=begun, schedule=True)
    assert true.schedule is not None
    return Moment(workload.with_(jobs=known), np.where(true.schedule.start < 0, NEVER, true.schedule.start))


def coverage(found: list[Moment], policy: str) -> dict[str, float]:
    """The share of tasks that start within their intervals: mean over moments, and its standard error."""
    shares = []
    for moment in found:
        times = np.array([make(Run(moment.workload, policy, seed, ENDLESS, {"schedule": True}), starts) for seed in range(DRAWS)])
        later = moment.truth > 0  # what starts at once starts at once in every draw
        own = [each.low <= true <= each.high for each, true in zip(intervals(times), moment.truth, strict=True)]
        if later.any():
            shares.append(float(np.mean(np.array(own)[later])))
    return {"moments": len(shares), "coverage": float(np.mean(shares)), "error": float(np.std(shares) / np.sqrt(len(shares)))}


def openb(folder: Path) -> Workload:
    """Alibaba's pods on three of its largest nodes, which are too few, by the minute."""
    pods = read_trace(folder / "alibaba2023_openb_pods.parquet").jobs(slot_seconds=60, sizes="all").jobs
    return Workload(jobs=pods, servers="3x1:1:1", name="openb pods", slot_seconds=60.0)


def hawk(folder: Path) -> Workload:
    """Google's tasks of 2011 in the form of Hawk's jobs, on too few servers."""
    jobs = read_trace(folder / "google2011_hawk_jobs.parquet").jobs(slot_seconds="0.1").jobs
    plain = Jobs(jobs.arrival, jobs.demand, jobs.service)
    return Workload(jobs=plain, servers=50, name="google2011 hawk jobs", slot_seconds=0.1)


TRACES = {"openb pods": openb, "google2011 hawk jobs": hawk}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=40)
    parser.add_argument("--policy", default="bf-js")
    parser.add_argument("--json", type=Path)
    said = parser.parse_args()
    records = []
    for name, made in TRACES.items():
        found = moments(made(Path(os.environ["PACKENV_TRACES"])), said.policy, said.moments, seed=0)
        records.append({"trace": name, "policy": said.policy, **coverage(found, said.policy)})
        print(records[-1], flush=True)
    if said.json:
        said.json.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
