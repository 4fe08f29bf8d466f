"""Conditions of the theorems (PAPERS §1.5).

They hold in the paper's model with geometric service, or with any service and stalling.
"""

from __future__ import annotations

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
