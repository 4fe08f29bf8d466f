"""Statistics of the DAG jobs of a trace beside those of the workload `dag`: prints a table.

FILE is a CSV without header, plain or gzipped, of Alibaba's cluster-trace-v2018 batch tasks as SLAMBUC keeps them: time, job,
task name (`R3_1_2`: task 3 after 1 and 2), duration in s, cpu (100 = one core), memory, instances. Jobs with tasks whose names
do not say what they wait for, or that wait for each other in a circle, are left out. Durations there count from the registration
of the job: of 19 in 20 chains of two the later stage is the longer one. What a stage waits for its parents is taken off,
as the reader of that trace does. Stages of more instances than `dag` has at most count as that many on both sides.
"""

import argparse
import csv
import gzip
import re
from collections import Counter
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from packenv.workloads.named.dag import (
    CORES,
    CORES_SHARES,
    MEMORY,
    MEMORY_SHARES,
    stage_numbers,
    stage_parents,
    stage_seconds,
    stage_tasks,
)

MOST_TASKS = 100
NAME = re.compile(r"[A-Za-z]+(\d+)((?:_\d+)*)")


class Stages(NamedTuple):
    """The stages of a job, parents first."""

    parents: list[list[int]]
    tasks: list[int]
    seconds: list[float]
    cores: list[float]
    memory: list[float]


def measured(path: str) -> tuple[list[Stages], np.ndarray, int]:
    """The jobs of a file, their arrivals in s, and how many were left out."""
    rows: dict[str, list[list[str]]] = {}
    with gzip.open(path, "rt") if path.endswith(".gz") else Path(path).open() as file:
        for row in csv.reader(file):
            rows.setdefault(row[1], []).append(row)
    jobs, arrivals = [], []
    for of_job in rows.values():
        names = [NAME.fullmatch(row[2]) for row in of_job]
        if None in names:
            continue
        number = [int(name[1]) for name in names if name]
        place_of = {name: k for k, name in enumerate(number)}
        waits = [{place_of[int(one)] for one in name[2].split("_") if one and int(one) in place_of} for name in names if name]
        try:
            order = [*TopologicalSorter(dict(enumerate(waits))).static_order()]  # a parent may have the higher number
        except CycleError:
            continue
        place = {k: n for n, k in enumerate(order)}
        parents = [sorted(place[parent] for parent in waits[k]) for k in order]
        columns = [[float(of_job[k][column]) for k in order] for column in (6, 3, 4, 5)]
        ends = columns[1]  # after the registration of the job
        waited = [max((ends[parent] for parent in waits), default=0.0) for waits in parents]
        seconds = [max(end - wait, 0.0) for end, wait in zip(ends, waited, strict=True)]
        jobs.append(Stages(parents, [int(one) for one in columns[0]], seconds, [one / 100 for one in columns[2]], columns[3]))
        arrivals.append(float(of_job[0][0]))
    return jobs, np.array(arrivals), len(rows) - len(jobs)


def generated(count: int) -> list[Stages]:
    """Jobs as the workload `dag` draws them."""
    random = np.random.Generator(np.random.Philox(0))
    parents = [stage_parents(random, number) for number in stage_numbers(random, count)]
    job = np.repeat(np.arange(count), [len(one) for one in parents])
    tasks = stage_tasks(random, np.array([not waits for of_job in parents for waits in of_job]))
    seconds = stage_seconds(random, job, np.minimum(tasks, MOST_TASKS))
    cores = random.choice(CORES, count, p=CORES_SHARES)[job]
    memory = random.choice(MEMORY, len(job), p=MEMORY_SHARES)
    ends = np.cumsum([len(one) for one in parents])[:-1]
    columns = [np.split(column, ends) for column in (tasks, seconds, cores, memory)]
    return [Stages(one, *map(list, rest)) for one, *rest in zip(parents, *columns, strict=True)]


def levels(parents: list[list[int]]) -> list[int]:
    """Of each stage: 1 without parents, else one more than the highest of its parents."""
    found: list[int] = []
    for waits in parents:
        found.append(1 + max((found[one] for one in waits), default=0))
    return found


def statistics(jobs: list[Stages]) -> dict[str, str]:
    """What the table says of the jobs."""
    level = [levels(job.parents) for job in jobs]
    width = np.array([max(Counter(one).values()) for one in level])
    parents = np.array([len(waits) for job in jobs for waits in job.parents])
    tasks = np.minimum([one for job in jobs for one in job.tasks], MOST_TASKS)
    seconds = np.maximum([one for job in jobs for one in job.seconds], 1)
    within = [np.log(np.maximum(job.seconds, 1)).var(ddof=1) for job in jobs if len(job.seconds) > 1]
    return {
        "stages of a job": spread([len(job.parents) for job in jobs]),
        "depth (stages of the longest path)": spread([max(one) for one in level]),
        "width (stages of a level)": spread(width),
        "jobs that are chains": f"{(width == 1).mean():.0%}",
        "stages without parents, of a job": spread([sum(not waits for waits in job.parents) for job in jobs]),
        "stages with 0, 1, 2, 3 parents": ", ".join(f"{(parents == k).mean():.0%}" for k in range(4)),
        f"tasks of a stage, at most {MOST_TASKS}": spread(tasks),
        "stages of one task": f"{(tasks == 1).mean():.0%}",
        "duration, s": spread(seconds),
        "stages of at most a second": f"{(seconds <= 1).mean():.0%}",
        "deviation of log duration, within a job": f"{np.sqrt(np.mean(within)):.2f}",
        "correlation of log duration, log tasks": f"{np.corrcoef(np.log(seconds), np.log(tasks))[0, 1]:.2f}",
        "cores of a task": spread([one for job in jobs for one in job.cores]),
        "memory of a task, % of a machine": spread([one for job in jobs for one in job.memory]),
    }


def spread(values: Sequence[float] | np.ndarray) -> str:
    """Mean, and quantiles of 50, 90 and 99 %."""
    return f"{np.mean(values):.3g} ({', '.join(f'{one:.3g}' for one in np.quantile(values, [0.5, 0.9, 0.99]))})"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE")
    jobs, arrivals, left_out = measured(parser.parse_args(arguments).file)
    own = statistics(generated(len(jobs)))
    print(f"{len(jobs)} jobs, {left_out} left out; mean (quantiles of 50, 90 and 99 %)\n")
    print("| | trace | `dag` |\n|---|---|---|")
    for name, value in statistics(jobs).items():
        print(f"| {name} | {value} | {own[name]} |")
    each = np.bincount(arrivals.astype(int))
    print(f"\narrivals of a second: mean {each.mean():.2f}, variance {each.var():.1f}: dispersion {each.var() / each.mean():.2f}")


if __name__ == "__main__":
    main()
