"""How full the cluster was over time in one run of each policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cli.report.drawing import colours_of
from packenv.cli.report.lines import Line, LineChart
from packenv.cli.report.page import Figure
from packenv.cli.report.profile import resource_names
from packenv.jobs import Jobs
from packenv.results.job_times import cut
from packenv.results.occupancy import occupancy
from packenv.results.schedule import Schedule
from packenv.runs.clock import clock_for
from packenv.workloads.workload import Workload

BINS = 240


class Played(NamedTuple):
    """One run of a policy on a table of jobs."""

    policy: str
    jobs: Jobs
    schedule: Schedule
    slots: int  # that it lasted


def occupancy_figure(workload: Workload, runs: Sequence[Played], slot_seconds: float | None) -> Figure:
    """The share of the scarcest resource's capacity that is in service, a line for each run."""
    capacity = workload.servers.units
    clock = clock_for(max(run.slots for run in runs), slot_seconds)
    found = [occupancy(run.jobs, cut(run.schedule, run.slots), capacity, workload.network) for run in runs]
    scarce = int(np.argmax(found[0].utilisation))
    name = "" if capacity.shape[1] == 1 else f": {resource_names(workload)[scarce]}"
    lines, said = [], []
    for run, own, colour in zip(runs, found, colours_of([run.policy for run in runs]), strict=True):
        edges = np.linspace(0, run.slots, min(BINS, run.slots) + 1)
        shares = means_between(own.slot, own.used[:, scarce], edges)
        lines.append(Line(run.policy, colour, (edges[:-1] / clock.slots).tolist(), shares.tolist()))
        said.append(f"{run.policy} {shares.mean():.0%}, at most {shares.max():.0%}")
    when = "slot" if clock.unit == "slots" else clock.unit
    chart = LineChart(lines, when, "share in service", 1.0, steps=True, tall=260)
    return Figure(f"How full the cluster was{name}", f"On average in service: {'; '.join(said)}.", chart)


def means_between(slot: NDArray[np.int64], value: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """(bins,) means between edges (bins + 1,) of a quantity that is value[k] from slot[k] up to slot[k + 1], elsewhere 0."""
    area = np.concatenate([[0.0], np.cumsum(value * np.diff(slot))])
    return np.asarray(np.diff(np.interp(edges, slot, area)) / np.diff(edges))
