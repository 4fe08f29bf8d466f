"""Hawk, Sparrow and Eagle against the simulator of Hawk's and Eagle's authors, on the same jobs.

Compared are percentiles of the completion times of short and of long jobs. Both sides draw probes by chance, so a percentile
is a random number: those of the authors' runs and of ours, with other seeds, must have the same mean. Student's test with
the variance of both sides together refuses that for one of all comparisons with a chance of FALSE_ALARM if it is true.

On 600 servers the 90th percentile of Eagle's long jobs is 1.7 % below the authors', more than chance explains. There a long job
hardly waits, and the same few jobs are the percentile in all runs. The authors' simulator gives a task of a long job to a
server when it starts; packenv when it is placed (Algorithm 1 of Delgado et al.: a long entry has its task). A trial of the former
gave their 50th percentile and, but for one run, their 99th, and left 1.3 % at the 90th.

Not compared: `clwl` and `dlwl`. Their authors' runs keep servers for short jobs, and `dlwl` also has reports on queues that are
out of date; packenv's `lwl` has neither, and there is a single run of each, so nothing says how far two may be apart.
"""

from __future__ import annotations

import csv
import functools
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_ind

import packenv
from packenv import Jobs, Workload
from packenv.workloads.traces import Trace, read_trace

FOLDER = Path(os.environ.get("PACKENV_ORACLES", "")) / "eagle"
pytestmark = [
    pytest.mark.skipif(
        "PACKENV_ORACLES" not in os.environ, reason="PACKENV_ORACLES is not set: the results of others are not here"
    ),
    pytest.mark.filterwarnings("ignore:Precision loss"),  # the authors' two runs of a system may have the same percentile
]

Floats = NDArray[np.float64]
CUTOFF, SLOT_SECONDS = 1000, 0.0005
PARTED = f"cutoff={CUTOFF},reserved=0.06"
SYSTEMS = {
    "sparrow": "sparrow",
    "hawk": f"hawk:{PARTED}",
    "hawknosteal": f"hawk:{PARTED},attempts=0",
    "eagle": f"eagle:{PARTED}",
    "eaglefifo": f"eagle:{PARTED},srpt=false",
    "eaglesss": f"eagle:{PARTED},srpt=false,sticky=false",
}
MEASURES = [(kind, level) for kind in ("short", "long") for level in (50, 90, 99)]
KINDS = {"short": slice(0, 3), "long": slice(3, 6)}  # of MEASURES
PLACES = [(system, 400) for system in SYSTEMS] + [("hawk", 600), ("eagle", 600)]
FALSE_ALARM = 0.01
LEVEL = FALSE_ALARM / (len(PLACES) * len(MEASURES))
SEEDS = 8

# Seconds, as MEASURES: Hawk on 400 servers while it stole nothing from behind two long tasks in a row.
WITHOUT_SKIPPING = [
    [243.1, 2153.5, 4368.4, 5585.3, 9180.7, 11841.3],
    [241.3, 2170.1, 4664.0, 5654.6, 9062.5, 11678.2],
    [239.4, 2259.3, 4584.4, 5584.5, 9056.5, 12011.6],
    [251.7, 2383.3, 4639.6, 5614.5, 8910.5, 11940.9],
    [241.6, 2317.6, 4569.2, 5555.9, 9053.5, 11788.3],
    [245.8, 2259.1, 4473.2, 5698.4, 8995.6, 11886.9],
]


@functools.cache
def jobs() -> Jobs:
    trace = read_trace(FOLDER / "jobs.tr.gz")
    assert isinstance(trace, Trace)
    return trace.jobs()[0]


@functools.cache
def authors() -> dict[tuple[str, int], Floats]:
    """(runs, measures) seconds, by system and servers."""
    found = defaultdict(list)
    with (FOLDER / "authors.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["system"], int(row["servers"])].append([float(row[f"{kind}_p{level}"]) for kind, level in MEASURES])
    return {key: np.array(runs) for key, runs in found.items()}


@functools.cache
def ours(policy: str, servers: int) -> Floats:
    """(seeds, measures) seconds."""
    workload = Workload(jobs=jobs(), servers=servers, slot_seconds=SLOT_SECONDS)
    return np.array([percentiles(packenv.simulate(workload, policy, seed=seed, drain=True)) for seed in range(SEEDS)])


def percentiles(result: packenv.Result) -> list[float]:
    """Of each measure the completion time of the job of that rank, rounded as the authors' are."""
    table, times = jobs(), result.jobs
    assert times is not None and table.estimate is not None
    is_long = table.estimate[np.unique(times.job, return_index=True)[1]] * SLOT_SECONDS > CUTOFF
    seconds = {"short": times.completion[~is_long] * SLOT_SECONDS, "long": times.completion[is_long] * SLOT_SECONDS}
    return [round(float(np.percentile(seconds[kind], level, method="inverted_cdf")), 1) for kind, level in MEASURES]


def chances(found: Floats | list[list[float]], expected: Floats) -> Floats:
    """(measures,) how likely two means are at least so far apart if all runs are of one system; 1 where all are equal."""
    equal = np.ptp(np.vstack([found, expected]), axis=0) == 0
    test: Any = ttest_ind(np.array(found)[:, ~equal], expected[:, ~equal])
    likely = np.ones(len(MEASURES))
    likely[~equal] = test.pvalue
    return likely


def test_the_jobs() -> None:
    table = jobs()
    assert table.job is not None
    assert (len(table), len(np.unique(table.job))) == (60_679, 4_000)
    assert table.service.sum() / table.arrival[-1] / 400 == pytest.approx(0.9, abs=0.02)


def marks(system: str, servers: int, kind: str) -> list[pytest.MarkDecorator]:
    known = pytest.mark.xfail(reason="long tasks start in another order: see above", strict=True)
    quick = (system, servers) in [("hawk", 400), ("eagle", 400)]
    return [pytest.mark.slow] * (not quick) + [known] * ((system, servers, kind) == ("eagle", 600, "long"))


@pytest.mark.parametrize(
    ("system", "servers", "kind"),
    [pytest.param(*place, kind, marks=marks(*place, kind)) for place in PLACES for kind in KINDS],
)
def test_percentiles_are_the_authors(system: str, servers: int, kind: str) -> None:
    likely = chances(ours(SYSTEMS[system], servers), authors()[system, servers])
    assert (likely[KINDS[kind]] > LEVEL).all(), dict(zip(MEASURES, likely, strict=True))


def test_the_comparison_can_fail() -> None:
    """It refuses what Hawk did before it skipped all long tasks in a row, and what it does with fewer attempts to steal."""
    hawk = authors()["hawk", 400]
    assert (chances(WITHOUT_SKIPPING, hawk)[KINDS["short"]] < LEVEL).all()
    assert (chances(ours(f"hawk:{PARTED},attempts=3", 400), hawk) < LEVEL).any()


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("other", SYSTEMS)
def test_every_system_is_told_from_every_other(system: str, other: str) -> None:
    told_apart = (chances(ours(SYSTEMS[system], 400), authors()[other, 400]) < LEVEL).any()
    assert told_apart == (system != other)
