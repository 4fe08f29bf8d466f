"""From a `load`, which is a share of ρ*, to a rate of arrivals."""

from __future__ import annotations

import functools

from packenv.theory.capacity.bracket import Bracket
from packenv.theory.capacity.max_workload import max_workload
from packenv.workloads.demand import Sizes
from packenv.workloads.laws import Fixed
from packenv.workloads.laws.joint import Conditional
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload

GAP = 0.005  # (upper - lower) / upper of the bounds that loads refer to


def resolved(workload: Workload) -> Workload:
    """The same workload with a known rate: its `load` is taken as a share of the lower bound on ρ*, which `rho` keeps.

    The bounds are computed once for each law of sizes and servers, to a gap of 0.5 % (or what a minute allows). A workload
    without a `load`, or with a known `rho`, is returned as it is.
    """
    if workload.load is None or workload.rho is not None:
        return workload
    bracket = supportable(workload)
    return workload.knowing(bracket.lower, bracket.upper)


def supportable(workload: Workload) -> Bracket:
    """The bounds on ρ* that a `load` refers to, for a workload of random tasks."""
    return _supportable(workload.sizes, workload.service if isinstance(workload.service, Conditional) else None, workload.servers)


@functools.lru_cache(maxsize=256)
def _supportable(sizes: Sizes, service: Conditional | None, servers: Servers) -> Bracket:
    return max_workload(Workload(sizes=sizes, service=service or Fixed(1), servers=servers, rate=1.0), GAP)
