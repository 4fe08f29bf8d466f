"""Checks that a workload's parts are complete and consistent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from packenv.content.text import do_not_go
from packenv.errors import InputError
from packenv.jobs import HOW_MANY, UNKNOWN, Jobs
from packenv.units import LARGEST_CAPACITY
from packenv.workloads.demand import check_fits, per_resource
from packenv.workloads.gangs import check_gangs
from packenv.workloads.laws.arrivals import Arrivals
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.laws.law import Law
from packenv.workloads.laws.services import Fixed
from packenv.workloads.laws.sizes import Constant, Discrete
from packenv.workloads.network import check_homes, check_reads

if TYPE_CHECKING:
    from packenv.workloads.workload import Workload

MOST_TASKS_PER_SLOT = 5_000_000  # the default limit of waiting tasks in a run

MOST_SHARE = 10  # of a load or an intensity


def check_parts(sizes: Any, service: Any, jobs: Jobs | None, rates: list[str]) -> None:
    """Raise InputError unless the arguments define exactly one source of tasks.

    That is either a Jobs table, or sizes, service and one name in `rates`. `rates` lists those of load, intensity and rate that
    the user set.
    """
    if jobs is not None:
        extra = [key for key, value in (("sizes", sizes), ("service", service)) if value is not None] + rates
        if extra:
            faster = "; `with_(intensity=…)` lets its tasks come faster or slower" if rates else ""
            raise InputError(f"{do_not_go(extra, 'a Jobs table')}{faster}")
        if len(jobs) == 0:
            raise InputError("the Jobs table has no rows")
        return
    if not (isinstance(sizes, (Law, Joint)) or (isinstance(sizes, tuple) and sizes and all(isinstance(s, Law) for s in sizes))):
        raise InputError(f"sizes must be a law, a tuple of laws or a Joint law, not {sizes!r}")
    if not isinstance(service, (Law, Conditional)):
        raise InputError(f"service must be a law such as Geometric(100), not {service!r}")
    if len(rates) != 1:
        raise InputError(f"give exactly one of load, intensity and rate, not {' and '.join(rates) or 'none'}")
    if isinstance(service, Conditional) and not (isinstance(sizes, Joint) and len(sizes.vectors) == len(service.laws)):
        raise InputError("a Conditional service needs Joint sizes with one demand vector for each of its laws")
    if not isinstance(service, (Fixed, Constant, Discrete)) and service.support()[1] <= 1 and service.support()[0] < 1:
        raise InputError(f"service {service} never takes more than 1 slot; services are in slots (high=inf: not cut off)")
    if not isinstance(sizes, Joint) and math.prod(float(law.cdf(0.0)) for law in per_resource(sizes)) > 0:
        raise InputError("sizes can be 0 in every resource")


def check_workload(workload: Workload) -> None:
    """Raise InputError unless tasks, servers, homes and arrivals go together."""
    jobs, servers = workload.jobs, workload.servers
    if servers.D != workload.D:
        raise InputError(f"tasks have {workload.D} resources, servers have {servers.D}")
    if workload.resources is not None and len(workload.resources) != workload.D:
        raise InputError(f"{len(workload.resources)} names of resources for {workload.D} resources")
    if servers.scale and (jobs is None or (workload.network is not None and workload.network.takes_resources)):
        what = "random sizes" if jobs is None else "a network that takes resources"
        raise InputError(
            f"capacities above {LARGEST_CAPACITY} do not go with {what}: count in a larger unit, GiB in place of MiB"
        )
    if jobs is not None and jobs.devices is not None:
        if servers.devices is None or (servers.devices[:, HOW_MANY] == UNKNOWN).any():
            raise InputError("tasks need devices, but the servers' devices are not known: use Servers.with_devices_of")
        if servers.D == 1:
            raise InputError("devices go with several resources: add cpu or memory")
    # Tasks fit the servers.
    check_fits(workload.demand_law, servers)
    if jobs is not None:
        check_gangs(jobs, servers)
        check_homes(jobs, len(servers))
    # The network goes with the table.
    if workload.network is not None:
        if jobs is None:
            raise InputError(f"workload {workload.name} is a stream: a network goes with a table of jobs")
        if jobs.home is None:
            raise InputError(f"workload {workload.name} has no column home: racks and a network need the data's servers")
        workload.network.rack_of(len(servers))
        if workload.network.takes_resources:
            check_reads(jobs, workload.network, servers.units)
    # A stream has arrivals and a finite service.
    if jobs is None:
        if not isinstance(workload.arrivals, Arrivals):
            raise InputError(f"arrivals must be an arrival process such as Poisson(), not {workload.arrivals!r}")
        if not math.isfinite(workload.mean_service):
            raise InputError("service has no finite mean")
        key, value = workload.given or ("", 0.0)
        if key in ("load", "intensity") and value > MOST_SHARE:
            raise InputError(f"{key} {value:g}: must be a share, such as 0.9, not per cent")
        if workload.given and key != "load":
            check_rate(workload)


def check_rate(workload: Workload) -> None:
    """Raise InputError for an impossible rate, or one above MOST_TASKS_PER_SLOT."""
    rate = workload.rate
    if workload.jobs is None and not rate <= MOST_TASKS_PER_SLOT:
        raise InputError(f"{rate:g} tasks per slot are too many: at most {MOST_TASKS_PER_SLOT:,}")
    workload.arrivals.check(rate / workload.arrivals.tasks_per_job())
