"""The setting of a live policy: servers, and a law of tasks if given."""

from __future__ import annotations

from typing import Any

from packenv.errors import InputError
from packenv.jobs import HOW_MANY
from packenv.policy import Setting, name_of
from packenv.simulation import setting_of
from packenv.workloads.network import Network
from packenv.workloads.plain_values import workload_arguments
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload

NO_LAW = (
    *("sizes", "service", "arrivals", "demand_law", "rate", "intensity", "load", "mean_size", "mean_service", "area_bound"),
    *("mean_size_in_service", "default_levels", "largest_size", "capacity", "shares", "poisson"),
)
"""Attributes of a workload about future tasks."""


class UnknownTasks:
    """A workload of which only the servers are known.

    Raises InputError for other attributes.
    """

    name = "the live cluster"
    jobs = draw = processors = shown_slot = None
    has_gangs, began = False, 0.0

    def __init__(
        self, policy: str, servers: Servers, resources: tuple[str, ...] | None, network: Network | None, slot_seconds: float
    ) -> None:
        self.policy, self.servers, self.resources, self.network = policy, servers, resources, network
        self.slot_seconds = slot_seconds
        self.D = servers.D
        self.has_devices = servers.devices is not None
        self.most_devices = int(servers.devices[:, HOW_MANY].max()) if servers.devices is not None else 0
        self.resource_names = tuple(resources or (f"resource {r}" for r in range(servers.D)))

    def __getattr__(self, name: str) -> Any:
        if name in NO_LAW:
            raise InputError(f"{self.policy} must know the law of the tasks: give a `workload` that is like them, {LIKE}")
        raise AttributeError(name)


LIKE = "by name or as a trace of yesterday"


class Unforeseen(Setting):
    """A setting without the types of tasks and the largest size."""

    @property
    def levels(self) -> int:
        return self.workload.default_levels()  # raises InputError

    @property
    def largest_size(self) -> int:
        return self.workload.largest_size()  # raises InputError


def setting_for(
    policy: Any,
    servers: Servers,
    resources: tuple[str, ...] | None,
    network: Network | None,
    workload: Workload | None,
    slot_seconds: float,
) -> Setting:
    """Return the setting of a live cluster.

    An agent without a workload gets the workload of its training.
    """
    if workload is None:
        workload = _learned_on(policy, servers)
    if workload is not None:
        return setting_of(workload if workload.servers is servers else workload.with_(servers=servers))
    unknown: Any = UnknownTasks(name_of(policy), servers, resources, network, slot_seconds)
    return Unforeseen(servers.units, unknown, 0, 0)


def _learned_on(policy: Any, servers: Servers) -> Workload | None:
    """Return the random workload of an agent's training, if known and suitable."""
    about = getattr(policy, "about", None)
    described = about.get("workload") if isinstance(about, dict) else None
    if not isinstance(described, dict) or "sizes" not in described:
        return None
    try:
        workload = Workload(**workload_arguments(described, "workload") | {"servers": servers})
    except InputError:  # its tasks fit on none of these servers
        return None
    return workload if workload.D == servers.D else None
