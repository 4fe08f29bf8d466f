"""How often the intervals of `packenv plan --when` hold the start that came true, on held-back halves of two traces.

    PACKENV_TRACES=FOLDER python experiments/when_coverage.py [--json FILE]

Half of a trace's jobs, drawn at random, are held back. They are replayed on too few servers with the durations that they had. At
random moments the state is taken as a cluster that one looks at: what is in service, for how long, and what waits. The durations
of the other half, in stretches as with `--durations` or as one law as with `--service`, are what one knows. What came true is the
run that goes on from that state, with the true durations and nothing new. `shuffled`: the same with durations in random order,
so that tasks that come together are no more alike than others, which is what one law assumes.
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
from packenv.workloads.kubernetes.started import ENDLESS, Started, stretches
from packenv.workloads.laws import Empirical, Law
from packenv.workloads.traces import read_trace
from packenv.workloads.workload import Workload

FEWEST, MOST = 5, 40
"""Waiting tasks of a moment that counts: the first MOST of them are asked about."""


class Moment(NamedTuple):
    """What is there at one moment of a replay."""

    workload: Workload  # with what one knows
    truth: NDArray[np.int64]  # (waiting,) slots until each starts, with the true durations


def split(jobs: Jobs, group: NDArray[np.int64], shuffled: bool, seed: int) -> tuple[NDArray[np.int64], Jobs]:
    """The durations of one half of the groups of tasks, in order of arrival, and the tasks of the other half."""
    random = np.random.default_rng(seed)
    services = random.permutation(jobs.service) if shuffled else jobs.service
    mine = (random.permutation(int(group.max()) + 1) % 2 == 0)[group]
    return services[mine], Jobs(jobs.arrival[~mine], jobs.demand[~mine], services[~mine])


def moments(workload: Workload, laws: tuple[Law, ...], policy: str, count: int, seed: int) -> list[Moment]:
    """States of a replay at random moments at which enough tasks wait."""
    jobs = workload.jobs
    assert jobs is not None
    schedule = packenv.simulate(workload, policy, drain=True, schedule=True).schedule
    assert schedule is not None
    random = np.random.default_rng(seed)
    found = []
    for now in random.permutation(np.unique(jobs.arrival)):
        waiting = np.flatnonzero((jobs.arrival <= now) & (schedule.start > now))[:MOST]
        running = np.flatnonzero((schedule.start <= now) & (schedule.end > now))
        if len(waiting) >= FEWEST:
            age = now - schedule.start[running]
            found.append(_moment(workload, policy, laws, waiting, running, schedule.server[running], age))
        if len(found) == count:
            break
    return found


def _moment(
    workload: Workload,
    policy: str,
    laws: tuple[Law, ...],
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
        row=np.arange(len(waiting)),
        endless=np.zeros(len(waiting), np.bool_),
        running_demand=demand[running],
        running_endless=np.zeros(len(running), np.bool_),
        server=server.astype(np.int64),
        age=age.astype(np.float64),
        services=laws,
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


def openb(folder: Path) -> tuple[Jobs, NDArray[np.int64], str]:
    """Alibaba's pods by the minute, each on its own, on two of the largest nodes."""
    jobs = read_trace(folder / "alibaba2023_openb_pods.parquet").jobs(slot_seconds=60, sizes="all").jobs
    return jobs, np.arange(len(jobs)), "2x1:1:1"


def hawk(folder: Path) -> tuple[Jobs, NDArray[np.int64], str]:
    """Google's tasks of 2011 in the form of Hawk's jobs, on 25 servers."""
    jobs = read_trace(folder / "google2011_hawk_jobs.parquet").jobs(slot_seconds="0.1").jobs
    assert jobs.job is not None
    return jobs, jobs.job, "25"


TRACES = {"google2011 hawk jobs": hawk, "openb pods": openb}


def main(words: list[str] | None = None) -> None:
    """Measure and print the coverage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=40)
    parser.add_argument("--policy", default="bf-js")
    parser.add_argument("--json", type=Path)
    said = parser.parse_args(words)
    records = []
    for shuffled in (True, False):
        for name, made in TRACES.items():
            jobs, group, servers = made(Path(os.environ["PACKENV_TRACES"]))
            known, held_back = split(jobs, group, shuffled, seed=0)
            laws = (Empirical(known),) if shuffled else stretches(known)
            found = moments(Workload(jobs=held_back, servers=servers, name=name), laws, said.policy, said.moments, seed=0)
            records.append({"trace": name, "shuffled": shuffled, "policy": said.policy, **coverage(found, said.policy)})
            print(records[-1], flush=True)
    if said.json:
        said.json.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
