"""All baselines in one table: what each does, its source, its guarantee, and what was measured.

    python baselines/table.py

Takes about 20 s once compiled; the first run took six minutes on a busy machine of two cores.

Writes `baselines/results/baselines.csv`, one line for each policy and measure, and the table of `baselines/README.md`
between the two comments that mark its place. Policies of one paper are measured on one named workload, over the same jobs.
"""

from __future__ import annotations

import argparse
import csv
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from playing import shown

import packenv
from packenv.policy import find_policy, guarantee_of
from packenv.simulation import setting_of
from packenv.workloads.named.eagle import MIXES, SLOT_SECONDS, eagle
from packenv.workloads.network import NODE

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- table -->", "<!-- end of the table -->"
CUTOFF = MIXES["yahoo"].cutoff

Measure = Callable[[packenv.Result, packenv.Workload], float]


class Family(NamedTuple):
    """The policies of one paper, with the workload and the measure on which they are compared."""

    source: str
    policies: tuple[str, ...]
    workload: packenv.Workload
    measured: str  # name of the measure, as shown in the table
    measure: Measure
    slots: int | None = None  # None: until all jobs have completed


def mean_queue(run: packenv.Result, workload: packenv.Workload) -> float:
    """Mean number of waiting jobs."""
    assert run.mean_queue is not None
    return run.mean_queue


def mean_completion(run: packenv.Result, workload: packenv.Workload) -> float:
    """Mean completion time of jobs in slots."""
    assert run.jobs is not None and run.jobs.mean is not None
    return run.jobs.mean


def makespan(run: packenv.Result, workload: packenv.Workload) -> float:
    """Slots until the last job has completed."""
    assert run.jobs is not None and run.jobs.makespan is not None
    return float(run.jobs.makespan)


def at_home(run: packenv.Result, workload: packenv.Workload) -> float:
    """Share of the tasks that ran on a server with their data."""
    share = None if run.data is None else run.data.share(NODE)
    assert share is not None
    return share


def short_jobs(run: packenv.Result, workload: packenv.Workload) -> float:
    """90th percentile of the completion times of short jobs, in seconds."""
    table, times = workload.jobs, run.jobs
    assert table is not None and table.estimate is not None and times is not None
    is_short = table.estimate[np.unique(times.job, return_index=True)[1]] * SLOT_SECONDS <= CUTOFF
    return float(np.percentile(times.completion[is_short] * SLOT_SECONDS, 90))


def families(slots: int, jobs: int) -> list[Family]:
    """The families of policies. `slots`: length of runs of endless workloads; `jobs`: jobs of the traces for probing systems."""
    random = "Psychas and Ghaderi, arXiv 1901.05998"
    fit = ("bf-j", "bf-s", "bf-js", "vqs", "vqs-bf", "fifo-ff")
    fig4b, fig4a, fig3a = (packenv.workload(f"paper/fig{name}", intensity=0.6) for name in ("4b", "4a", "3a"))
    tetris, price = packenv.workload("analytics"), packenv.workload("price/fig8")
    probing = ("sparrow", f"hawk:cutoff={CUTOFF}", f"eagle:cutoff={CUTOFF}", "lwl", "yaq")
    seconds = "p90 of short jobs (s)"
    return [
        Family(random, fit, fig4b, "mean queue at intensity 0.6", mean_queue, slots),
        Family(random, ("slot-fifo",), fig4a, "mean queue at intensity 0.6", mean_queue, slots),
        Family(random, ("maxweight",), fig3a, "mean queue at intensity 0.6", mean_queue, slots),
        Family(
            "Grandl et al., SIGCOMM 2014",
            ("tetris", "drf", "task-fair", "slot-fair"),
            tetris,
            "mean completion (slots)",
            mean_completion,
        ),
        Family("Zhang and Yao, 2016", ("price", "priority", "capacity", "fifo"), price, "makespan (slots)", makespan),
        Family("Delgado et al., SoCC 2016, ATC 2015", probing, eagle("yahoo", jobs), seconds, short_jobs),
        Family(
            "Zaharia et al., EuroSys 2010, and a report",
            ("fair", "delay", "delay-dynamic"),
            packenv.workload("delay/racks"),
            "share of tasks at home",
            at_home,
        ),
    ]


def main(folder: Path = HERE, slots: int = 100_000, jobs: int = 1_500, seeds: int = 3) -> None:
    """Run every baseline on `seeds` seeds; write results/baselines.csv and the table of README.md in `folder`."""
    lines, records = (
        ["| name | what it does | source | guaranteed share of ρ* | workload | measure | |", "|---|---|---|---|---|---|---|"],
        [],
    )
    for family in families(slots, jobs):
        for policy in family.policies:
            name = policy.partition(":")[0]
            about = (inspect.getdoc(type(find_policy(policy))) or "").split("\n")[0]
            share = guarantee_of(find_policy(policy), setting_of(family.workload))
            values = [measured(family, policy, seed) for seed in range(seeds)]
            mean = float(np.mean(values))
            guaranteed = f"{share:.2f}" if share else "none"
            cells = (f"`{name}`", about, family.source, guaranteed, family.workload.name, family.measured, shown(mean))
            lines.append("| " + " | ".join(cells) + " |")
            records.append(
                [name, policy, family.workload.name, family.measured, guaranteed, *(f"{value:.6g}" for value in values)]
            )
    results = folder / "results"
    results.mkdir(exist_ok=True)
    with (results / "baselines.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "policy", "workload", "measure", "guarantee", *(f"seed {seed}" for seed in range(seeds))])
        writer.writerows(records)
    readme = folder / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text(before + "\n".join([BEGIN, *lines, END]) + after, encoding="utf-8")


def measured(family: Family, policy: str, seed: int) -> float:
    """Run a policy with one seed and return the measure of its family."""
    run = packenv.simulate(family.workload, policy, slots=family.slots, seed=seed, drain=family.slots is None)
    return family.measure(run, family.workload.at(seed))


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    main()
