"""Devices as additional resources, for the proofs of `cost_proof`.

Each column is a cut (packenv.theory.capacity.devices): an amount of each task and a room of each machine. Tasks that run
together on a machine never exceed its room. For example, shares of 600 on devices of 1,000 count as one device each.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from packenv.jobs import HOW_MANY, KINDS, MODEL, NUMBER, SHARE, WHOLE, Ints, Jobs
from packenv.theory.capacity.devices import cuts_of
from packenv.units import UNIT
from packenv.workloads.servers import Servers

MOST_SETS = 16  # of kinds that tasks accept, those of the most work


def with_device_columns(jobs: Jobs, servers: Servers) -> tuple[Jobs, Ints]:
    """Return the table, and capacities (G, D + columns), with device columns.

    There is one column for each useful cut. Machines of several kinds also get two cuts for each set of kinds that tasks are
    limited to.
    """
    if jobs.devices is None or servers.devices is None:
        return jobs, servers.units
    number, share, accepted = jobs.devices[:, NUMBER], jobs.devices[:, SHARE], jobs.devices[:, KINDS]
    room, model = servers.devices[:, HOW_MANY], servers.devices[:, MODEL]
    full_share = int(servers.devices[:, WHOLE].max())  # a smaller device holds no more than one of this capacity
    # Cuts, as shares of a whole device.
    share_each = np.where(share > 0, share, full_share)
    cuts = [share_each / full_share, *cuts_of(share_each, full_share, number > 0)]
    demand, capacity = [], []
    sets = [0] if len(np.unique(model)) == 1 else [0, *_largest_sets(accepted, number * jobs.service)]
    # For each set of kinds: amounts of the tasks limited to it, and the rooms of its machines.
    for n, kinds in enumerate(sets):
        within = np.ones(len(jobs), np.bool_) if kinds == 0 else (accepted != 0) & (accepted & ~kinds == 0)
        there = np.where((kinds == 0) | ((model >= 0) & (kinds >> np.maximum(model, 0) & 1 == 1)), room, 0)
        for cut in cuts if n == 0 else cuts[:2]:
            demand.append(np.floor(np.where(within, number * cut, 0) * UNIT + 1e-6).astype(np.int64))
            capacity.append(there * UNIT)
    # Equal columns once, and none that no task uses.
    columns = np.unique(np.stack([np.concatenate(pair) for pair in zip(demand, capacity, strict=True)]), axis=0)
    columns = columns[columns[:, : len(jobs)].any(axis=1)].T
    demand_of = np.column_stack([jobs.demand, columns[: len(jobs)]])
    return (
        replace(jobs, demand=np.ascontiguousarray(demand_of), scale=()),
        np.column_stack([servers.units, columns[len(jobs) :]]),
    )


def _largest_sets(accepted: Ints, work: Ints) -> list[int]:
    """Return the sets of kinds that tasks name, most work first."""
    sets, place = np.unique(accepted, return_inverse=True)
    order = np.argsort(-np.bincount(place.ravel(), work), kind="stable")
    return [kinds for kinds in sets[order].tolist() if kinds][:MOST_SETS]
