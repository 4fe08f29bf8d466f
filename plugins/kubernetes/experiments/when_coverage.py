"""How often the intervals of `packenv kubernetes when` hold the start that came true, on held-back halves of two traces.

    PACKENV_TRACES=FOLDER python plugins/kubernetes/experiments/when_coverage.py [--trace NAME] [--know NAME] [--json FILE]

Half of a trace's jobs, drawn at random, are held back. They are replayed on too few servers with the durations that they had.
At random moments the state is taken as a cluster that one looks at: what is in service, for how long, and what waits. The
durations of the other half are what one knows: by owner, with those of the held-back tasks that have ended by now or without,
as with `--durations` and a file of owners; in stretches, as with `--durations` and a trace; or as one `law`, as with `--service`.
What came true is the run that goes on from that state, with the true durations and nothing new. `shuffled`: one law, and
durations in random order, so that tasks that come together are no more alike than others, as one law assumes.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import packenv
from packenv.jobs import Jobs
from packenv.runs.run import Run, make
from packenv.units import UNIT
from packenv.workloads.laws import Empirical
from packenv.workloads.traces import read_trace
from packenv.workloads.workload import Workload
from packenv_kubernetes.commands.command import DRAWS
from packenv_kubernetes.owners import OwnerTimes
from packenv_kubernetes.planning.queue import LATER, intervals, starts
from packenv_kubernetes.started import ENDLESS, Started, stretches

FEWEST, MOST = 5, 40
"""Waiting tasks of a moment that counts: the first MOST of them are asked about."""


class Moment(NamedTuple):
    """What is there at one moment of a replay."""

    workload: Workload  # with what one knows
    truth: NDArray[np.int64]  # (waiting,) slots until each starts, with the true durations


class Made(NamedTuple):
    """A trace to be replayed."""

    jobs: Jobs
    group: NDArray[np.int64]  # of each task; a group is held back as a whole
    owner: NDArray[np.int64]  # of each task
    servers: str


class Half(NamedTuple):
    """One half of a trace: its tasks, in order of arrival, and the owner of each."""

    jobs: Jobs
    owner: NDArray[np.int64]


def split(made: Made, shuffled: bool, seed: int) -> tuple[Half, Half]:
    """One half of the groups of tasks, and the other half."""
    random = np.random.default_rng(seed)
    jobs = made.jobs
    services = random.permutation(jobs.service) if shuffled else jobs.service
    mine = (random.permutation(int(made.group.max()) + 1) % 2 == 0)[made.group]
    halves = [Half(Jobs(jobs.arrival[own], jobs.demand[own], services[own]), made.owner[own]) for own in (mine, ~mine)]
    return halves[0], halves[1]


Known = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]], Any]
"""What is assumed of times in service, from the tasks that have ended, wait, and are in service, and the ages of those."""


def by_owner(known: Half, held_back: Half, ended_too: bool = True) -> Known:
    """As of --durations with owners: each owner's durations of the known half, and those that have ended by now."""

    def services(ended, waiting, running, age):  # type: ignore[no-untyped-def]
        past = {}
        rows = [(known.owner, known.jobs.service)] + (
            [(held_back.owner[ended], held_back.jobs.service[ended])] if ended_too else []
        )
        owner, service = (np.concatenate(column) for column in zip(*rows, strict=True))
        order = np.argsort(owner, kind="stable")
        names, first = np.unique(owner[order], return_index=True)
        past = dict(zip(names.tolist(), np.split(service[order].astype(np.float64), first[1:]), strict=True))
        number = {name: n for n, name in enumerate(past)}
        here = np.concatenate([held_back.owner[waiting], held_back.owner[running]])
        groups, group = np.unique(here, return_inverse=True)
        return OwnerTimes(
            values=tuple(np.sort(own) for own in past.values()),
            waiting=group[: len(waiting)],
            running=group[len(waiting) :],
            age=age.astype(np.float64),
            owner=tuple(number.get(name) for name in groups.tolist()),
            keys=tuple(groups.tolist()),
        )

    return services


def moments(workload: Workload, known: Known, policy: str, count: int, seed: int) -> list[Moment]:
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
            ended = np.flatnonzero((schedule.start >= 0) & (schedule.end <= now))
            services = known(ended, waiting, running, age)
            found.append(_moment(workload, policy, services, waiting, running, schedule.server[running], age))
        if len(found) == count:
            break
    return found


def _moment(
    workload: Workload,
    policy: str,
    services: Any,
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
        services=services,
    )
    begun = [*zip(demand[running].tolist(), server.tolist(), lasting.tolist(), strict=True)]
    table = Jobs(np.zeros(len(waiting), np.int64), jobs.demand[waiting], jobs.service[waiting])
    true = packenv.simulate(workload.with_(jobs=table), policy, ENDLESS, initial=begun, schedule=True)
    assert true.schedule is not None
    return Moment(workload.with_(jobs=known), np.where(true.schedule.start < 0, LATER, true.schedule.start))


def coverage(found: list[Moment], policy: str) -> dict[str, float]:
    """The share of tasks that start within their intervals, and after them: means over moments; standard error of the first."""
    shares, after = [], []
    for moment in found:
        times = np.array([make(Run(moment.workload, policy, seed, ENDLESS, {"schedule": True}), starts) for seed in range(DRAWS)])
        later = moment.truth > 0  # what starts at once starts at once in every draw
        found_intervals = intervals(times)
        own = [each.low <= true <= each.high for each, true in zip(found_intervals, moment.truth, strict=True)]
        if later.any():
            shares.append(float(np.mean(np.array(own)[later])))
            late = [true > each.high for each, true in zip(found_intervals, moment.truth, strict=True)]
            after.append(float(np.mean(np.array(late)[later])))
    return {
        "moments": len(shares),
        "coverage": float(np.mean(shares)),
        "later": float(np.mean(after)),
        "error": float(np.std(shares) / np.sqrt(len(shares))),
    }


def openb(folder: Path) -> Made:
    """Alibaba's pods by the minute, each on its own, on two of the largest nodes. Pods alike stand for those of an owner."""
    jobs = read_trace(folder / "alibaba2023_openb_pods.parquet").jobs(slot_seconds=60, sizes="all").jobs
    return Made(jobs, np.arange(len(jobs)), np.unique(jobs.demand, axis=0, return_inverse=True)[1].ravel(), "2x1:1:1")


def hawk(folder: Path) -> Made:
    """Google's tasks of 2011 in the form of Hawk's jobs, which are held back as a whole and are the owners, on 25 servers."""
    jobs = read_trace(folder / "google2011_hawk_jobs.parquet").jobs(slot_seconds="0.1").jobs
    assert jobs.job is not None
    return Made(jobs, jobs.job, jobs.job, "25")


TRACES = {"hawk": hawk, "openb": openb}
KNOW: dict[str, Callable[[Half, Half], Known]] = {
    "shuffled": lambda known, held_back: lambda *now: (Empirical(known.jobs.service),),
    "law": lambda known, held_back: lambda *now: (Empirical(known.jobs.service),),
    "stretches": lambda known, held_back: lambda *now: stretches(known.jobs.service),
    "owners": by_owner,
    "owners, none that ended": lambda known, held_back: by_owner(known, held_back, ended_too=False),
}


def main(words: list[str] | None = None) -> None:
    """Measure and print the coverage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=40)
    parser.add_argument("--policy", default="bf-js")
    parser.add_argument("--trace", choices=[*TRACES], action="append")
    parser.add_argument("--know", choices=[*KNOW], action="append")
    parser.add_argument("--json", type=Path)
    said = parser.parse_args(words)
    records = []
    for name in said.trace or TRACES:
        made = TRACES[name](Path(os.environ["PACKENV_TRACES"]))
        for know in said.know or KNOW:
            shuffled = know == "shuffled"
            known, held_back = split(made, shuffled, seed=0)
            workload = Workload(jobs=held_back.jobs, servers=made.servers, name=name)
            found = moments(workload, KNOW[know](known, held_back), said.policy, said.moments, seed=0)
            records.append({"trace": name, "know": know, "policy": said.policy, **coverage(found, said.policy)})
            print(records[-1], flush=True)
    if said.json:
        said.json.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
