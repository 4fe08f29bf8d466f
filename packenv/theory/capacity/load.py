"""Load as a share of what is achievable: from `load` to a rate of arrivals."""

from __future__ import annotations

import functools

from packenv.theory.capacity.bracket import Bracket
from packenv.theory.capacity.search import max_workload
from packenv.workloads.demand import Sizes
from packenv.workloads.laws import Fixed
from packenv.workloads.laws.joint import Conditional
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload

GAP = 0.005


def resolved(workload: Workload) -> Workload:
    """The workload with its rate known: a `load` is a share of the lower end of the bracket on ρ*, kept in `rho`.

    The bracket is found once for a law of sizes and servers, to a gap of 0.5 % (or what a minute allows).
    """
    if workload.load is None or workload.rho is not None:
        return workload
    bracket = supportable(workload)
    return workload.knowing(bracket.lower, bracket.upper)


def supportable(workload: Workload) -> Bracket:
    """The bracket on ρ* that loads refer to. Raises InputError for a table of jobs, whose arrivals are as they are."""
    return _supportable(workload.sizes, workload.service if isinstance(workload.service, Conditional) else None, workload.servers)


@functools.lru_cache(maxsize=256)
def _supportable(sizes: Sizes, service: Conditional | None, servers: Servers) -> Bracket:
    return max_workload(Workload(sizes=sizes, service=service or Fixed(1), servers=servers, rate=1.0), GAP)
