"""Conditions of the theorems, and stalling (PAPERS §1.5).

A stalled server is badly packed, and starts nothing until it is empty. Stalling is an option of the policies of this folder.
Servers are checked once per slot, after scheduling, if tasks wait. With stalling the guarantees hold for general service times.
"""

from __future__ import annotations

from packenv.cluster import (
    BY_DEMAND,
    Cluster,
    close,
    fits,
    is_closed,
    jobs_in,
    largest_waiting,
    room_of,
    server_count,
    size_of,
    waiting,
)
from packenv.compiled.decorators import apart, compiled
from packenv.policy import Setting
from packenv.workloads.demand import scalar_cdf
from packenv.workloads.laws.arrivals import Batch, Bernoulli, Poisson
from packenv.workloads.laws.joint import Conditional
from packenv.workloads.laws.services import Geometric


def in_model(setting: Setting, stall: bool) -> bool:
    """Whether the setting satisfies the assumptions of the theorems.

    These are equal servers, one resource, independent arrivals from slot to slot, and service times that do not depend on
    size and are geometric, unless the policy stalls.
    """
    workload = setting.workload
    return (
        workload.jobs is None
        and workload.D == 1
        and bool((setting.capacity == setting.capacity[0]).all())
        and isinstance(workload.arrivals, (Poisson, Bernoulli, Batch))
        and (isinstance(workload.service, Geometric) or (stall and not isinstance(workload.service, Conditional)))
    )


def share_below(setting: Setting, size: int) -> float:
    """Return the share of jobs up to this scalar size, in units."""
    return scalar_cdf(setting.workload.demand_law, setting.workload.servers, size)


@apart
def stall_half_empty(cluster: Cluster) -> None:
    """Stall half-empty servers that cannot hold the largest waiting task."""
    if waiting(cluster) == 0:
        return
    largest = largest_waiting(cluster)
    for server in range(server_count(cluster)):
        if jobs_in(cluster, server) > 0 and not is_closed(cluster, server) and half_empty(cluster, server):
            if cluster.orders & BY_DEMAND:
                stuck = not fits(cluster, largest, server)
            else:
                stuck = size_of(cluster, largest) > room_of(cluster, server)
            if stuck:
                close(cluster, server)


@compiled
def half_empty(c: Cluster, server: int) -> bool:
    """Return whether a server is less than half full (in every packed resource)."""
    if c.orders & BY_DEMAND:
        for r in range(c.capacity.shape[1]):
            capacity = c.capacity[server, r]
            if capacity > 0 and 2 * (capacity - c.free[c.e, server, r]) >= capacity:
                return False
        return True
    record = c.server[c.e, server]
    return 2 * (record.capacity - record.room) < record.capacity
