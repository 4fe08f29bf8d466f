"""A policy and servers before any task: the policy's needs, and the tasks that it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from packenv.cluster.loop import runner_for
from packenv.cluster.servers import scalar_capacity
from packenv.errors import InputError
from packenv.jobs import GPU, HOW_MANY, UNKNOWN, WHOLE
from packenv.policy import BY_QUEUE, UNLIMITED, Setting, name_of, needs_of
from packenv.simulation import setting_of
from packenv.units import MOST, UNIT
from packenv.workloads.network import Network
from packenv.workloads.plain_values import workload_arguments
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload


class UnknownTasks:
    """A workload whose servers alone are known. Other attributes raise InputError."""

    name, jobs, draw, processors, has_gangs, began = "the live cluster", None, None, None, False, 0.0

    def __init__(self, live: LiveSetting) -> None:
        servers, devices = live.servers, live.servers.devices
        self.policy, self.servers, self.resources, self.network = name_of(live.policy), servers, live.resources, live.network
        self.slot_seconds, self.D, self.has_devices = live.slot_seconds, servers.D, devices is not None
        self.most_devices = 0 if devices is None else int(devices[:, HOW_MANY].max())
        self.resource_names = tuple(live.resources or (f"resource {r}" for r in range(servers.D)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        like = "give a `workload` that is like them, by name or as a trace of yesterday"
        raise InputError(f"{self.policy} must know the law of the tasks: {like}")


class Unforeseen(Setting):
    """A setting without the types of tasks and the largest size."""

    @property
    def levels(self) -> int:
        return self.workload.default_levels()  # raises InputError

    @property
    def largest_size(self) -> int:
        return self.workload.largest_size()  # raises InputError


@dataclass
class LiveSetting:
    """Policy, servers and their network. Raises InputError for a policy that cannot run live.

    workload  like the tasks to come, if known. An agent without one gets the workload of its training
    """

    policy: Any
    servers: Servers
    resources: tuple[str, ...] | None
    network: Network | None
    workload: Workload | None
    slot_seconds: float
    seed: int

    def __post_init__(self) -> None:
        self.servers = self._with_number_of_devices()
        servers, name, law = self.servers, name_of(self.policy), self.workload or self._learned_on()
        unknown: Any = UnknownTasks(self)
        self.setting = (
            Unforeseen(servers.units, unknown, 0, 0)
            if law is None
            else setting_of(law if law.servers is servers else law.with_(servers=servers))
        )
        needs = needs_of(self.policy, self.setting)._replace(in_service=UNLIMITED)
        if needs.table:
            reason = "must know all jobs before the first one arrives"
            if hasattr(self.policy, "order"):
                reason = "computes its order from the table of all jobs"
            raise InputError(f"{name} {reason}: use packenv.simulate")
        if servers.devices is not None and not needs.devices:
            raise InputError(f"{name} does not look for room on devices, which these servers have")
        if self.network is not None and self.network.takes_resources and not needs.reads:
            raise InputError(f"{name} does not look for room for remote reads, which take resources in this network")
        self.needs = needs._replace(orders=needs.orders | BY_QUEUE) if needs.gangs else needs
        self.runner = runner_for(self.policy)
        # What decides whether a task fits: capacity, scalar size and devices of each kind of server, the largest first.
        units = servers.units[servers.examples]
        scalar = [UNLIMITED] * len(units) if needs.vectors else scalar_capacity(servers.units)[servers.examples].tolist()
        devices = [[0, 0, 0]] * len(units) if servers.devices is None else servers.devices[servers.examples].tolist()
        self._kinds = sorted(zip(units.tolist(), scalar, devices, strict=True), reverse=True)
        bounds = [int(needs.least.max())] if needs.room is not None and needs.least is not None else []
        bounds += [int(needs.types.max())] if needs.types is not None and needs.types.ndim == 1 else []
        self._largest, self._bound = servers.largest.tolist(), min(bounds, default=UNLIMITED)

    def _with_number_of_devices(self) -> Servers:
        """Return the servers with their number of devices, by default their capacity of GPU."""
        servers = self.servers
        if servers.devices is None or (servers.devices[:, HOW_MANY] != UNKNOWN).all():
            return servers
        if GPU not in (self.resources or ()):
            raise InputError(f"servers {servers}: give the number of GPUs, such as 4*A10, or a resource {GPU}")
        if self.workload is not None:
            servers = self.workload.with_(servers=servers).servers
        return servers.with_devices_of((*(self.resources or ()),).index(GPU), 1.0)

    def _learned_on(self) -> Workload | None:
        """Return the random workload of an agent's training, if known and suitable."""
        about = getattr(self.policy, "about", None)
        described = about.get("workload") if isinstance(about, dict) else None
        if not isinstance(described, dict) or "sizes" not in described:
            return None
        try:
            workload = Workload(**workload_arguments(described, "workload") | {"servers": self.servers})
        except InputError:  # its tasks fit on none of these servers
            return None
        return workload if workload.D == self.servers.D else None

    def units(self, sizes: list[float]) -> tuple[int, ...]:
        """Return (D,) units of a task's demands, as `packenv.units.to_units`."""
        return tuple(
            max(math.floor(min(math.ldexp(x, -scale), MOST) * UNIT + 1e-3), 1) if x > 0 else 0
            for x, scale in zip(sizes, self.servers.scale or (0,) * self.servers.D, strict=True)
        )

    def devices(self, where: str, amount: float, kinds: str) -> tuple[int, int, int]:
        """Return NUMBER, SHARE and KINDS of an amount of GPUs. Raises InputError."""
        servers, accepted = self.servers, 0
        if servers.devices is None:
            return 0, 0, 0
        for kind in filter(None, kinds.split("|")):
            if kind not in servers.device_kinds:
                raise InputError(f"{where}: no server has devices of kind {kind!r}")
            accepted |= 1 << servers.device_kinds.index(kind)
        if 0 < amount < 1:
            return 1, max(round(amount * int(servers.devices[:, WHOLE].max())), 1), accepted
        if amount != int(amount):
            raise InputError(f"{where}: {amount:g} GPUs: a part is of one GPU, several are whole ones")
        return int(amount), 0, accepted

    def takes(self, demand: tuple[int, ...], devices: tuple[int, int, int]) -> bool:
        """Return whether a task fits on an empty server, and the policy takes its size."""
        most, (number, share, kinds) = max(self._largest), devices
        size = max(-(-units * most // largest) for units, largest in zip(demand, self._largest, strict=True) if largest)
        return size <= self._bound and any(
            size <= scalar
            and all(units <= room for units, room in zip(demand, capacity, strict=True))
            and (how_many >= number and whole >= share and (not kinds or (model >= 0 and kinds >> model & 1)))
            for capacity, scalar, (how_many, whole, model) in self._kinds
        )
