"""A workload: what arrives, and the servers it arrives at — the whole setting of a run but the policy."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.errors import InputError, nearest
from packenv.jobs import Jobs
from packenv.units import UNIT
from packenv.workloads.demand import Sizes, check_fits, default_levels, largest_demands, mean_demand, per_resource, resources_of
from packenv.workloads.demand import scalar_size as scalar_size_of
from packenv.workloads.laws.arrivals import Arrivals, Batch, Poisson
from packenv.workloads.laws.encoding import Builder, Laws
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.laws.law import Law, positive
from packenv.workloads.laws.services import Fixed
from packenv.workloads.laws.sizes import Constant, Discrete
from packenv.workloads.network import Network, check_homes, locality
from packenv.workloads.servers import Servers, as_servers

if TYPE_CHECKING:  # they bring the compiler with them, which takes half a second to load
    from packenv.workloads.source import Source

Floats = NDArray[np.float64]
INTENSITIES = ("load", "intensity", "rate")
MOST_ROWS = 50_000_000


@dataclass(frozen=True, init=False)
class Workload:
    """Random jobs from laws, or a finite Jobs table, and the servers.

    sizes     law of the demand in units of capacity; a tuple of laws for several independent resources, or a Joint law
    service   law of the service in slots (rounded up, at least 1); Conditional if it depends on a Joint demand
    servers   anything that `as_servers` takes: 5, "3x1,2x0.5", capacities (L,) or (L, D), Servers
    arrivals  shape of the arrival process; how often is said by exactly one of
    rate        mean tasks per slot
    intensity   rate · mean service / area bound (the papers' α)
    load        the same as a share of the maximum supportable workload ρ* (packenv.resolved turns it into a rate)
    jobs      instead of all of the above but servers: a Jobs table, or a function that draws one for every seed
    resources, slot_seconds   names of the resources, and the length of a slot, where they are known
    network   what it costs to run a task of the table away from its data (packenv.Network)

    Raises InputError if something is missing, contradicts itself, or a task could come that fits in no server.
    """

    servers: Servers
    sizes: Sizes | None
    service: Law | Conditional | None
    arrivals: Arrivals
    given: tuple[str, float] | None  # which of load, intensity and rate was given, and its value
    jobs: Jobs | None = field(repr=False, hash=False)
    draw: Callable[[int], Jobs] | None = field(repr=False)
    """What makes the table of a seed (`at`); `jobs` is that of seed 0."""
    name: str
    resources: tuple[str, ...] | None
    slot_seconds: float | None
    network: Network | None
    rho: tuple[float, float] | None = field(compare=False)
    """Lower and upper bound on ρ*, once `packenv.resolved` has found them."""

    def __init__(
        self,
        *,
        servers: Servers | int | str | ArrayLike,
        sizes: Law | Sequence[Law] | Joint | None = None,
        service: Law | Conditional | None = None,
        arrivals: Arrivals | None = None,
        load: float | None = None,
        intensity: float | None = None,
        rate: float | None = None,
        jobs: Jobs | Callable[[int], Jobs] | None = None,
        name: str = "custom",
        resources: Sequence[str] | None = None,
        slot_seconds: float | None = None,
        network: Network | None = None,
    ) -> None:
        kept = tuple(sizes) if isinstance(sizes, Sequence) else sizes
        table = jobs if jobs is None or isinstance(jobs, Jobs) else jobs(0)
        draw = None if table is jobs else jobs
        given = [(key, value) for key, value in zip(INTENSITIES, (load, intensity, rate), strict=True) if value is not None]
        _check_parts(kept, service, table, [key for key, _ in given])
        demand: Any = kept if table is None else table
        checked: dict[str, Any] = {
            "servers": as_servers(servers, resources_of(demand), None if resources is None else tuple(resources)),
            "sizes": kept,
            "service": service,
            "arrivals": Poisson() if arrivals is None else arrivals,
            "given": (given[0][0], positive(given[0][0], given[0][1])) if given else None,
            "jobs": table,
            "draw": draw,
            "name": name,
            "resources": None if resources is None else tuple(resources),
            "slot_seconds": None if slot_seconds is None else positive("slot_seconds", slot_seconds),
            "network": network,
            "rho": None,
        }
        for key, value in checked.items():
            object.__setattr__(self, key, value)
        self._check()

    def _check(self) -> None:
        if self.servers.D != self.D:
            raise InputError(f"tasks have {self.D} resources, servers have {self.servers.D}")
        if self.resources is not None and len(self.resources) != self.D:
            raise InputError(f"{len(self.resources)} names of resources for {self.D} resources")
        check_fits(self.demand_law, self.servers)
        if self.jobs is not None:
            check_homes(self.jobs, len(self.servers))
        if self.network is not None:
            if self.jobs is None:
                raise InputError(f"workload {self.name} is a stream: a network goes with a table of jobs")
            self.network.rack_of(len(self.servers))
        if self.jobs is None:
            if not isinstance(self.arrivals, Arrivals):
                raise InputError(f"arrivals must be an arrival process such as Poisson(), not {self.arrivals!r}")
            if not math.isfinite(self.mean_service):
                raise InputError("service has no finite mean")
            if self.given and self.given[0] != "load":
                self.arrivals.check(self.rate / self.arrivals.tasks_per_job())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        mine, its = vars(self), vars(other)
        same_table = self.jobs is other.jobs or (self.draw is not None and self.draw == other.draw)
        return same_table and all(mine[key] == its[key] for key in self._fields() if key != "jobs")

    @staticmethod
    def _fields() -> list[str]:
        """What says which workload it is."""
        return [key for key, field in Workload.__dataclass_fields__.items() if field.compare]

    @property
    def demand_law(self) -> Sizes | Jobs:
        """What says the tasks' demands: the law of sizes, or the Jobs table."""
        demand = self.sizes if self.jobs is None else self.jobs
        assert demand is not None
        return demand

    @property
    def D(self) -> int:
        """Number of resources."""
        return resources_of(self.demand_law)

    @property
    def mean_size(self) -> Floats:
        """(D,) mean demand of a task, in units of capacity (before rounding to integer units)."""
        return mean_demand(self.demand_law)

    @property
    def mean_service(self) -> float:
        """Mean service of a task, in slots."""
        if self.jobs is not None:
            return float(self.jobs.service.mean())
        if isinstance(self.service, Conditional):
            assert isinstance(self.sizes, Joint)
            return float(self.sizes.atoms()[1] @ self.service.means())
        assert self.service is not None
        return self.service.mean_slots()

    @property
    def mean_size_in_service(self) -> Floats:
        """(D,) mean demand weighted by service: that of a task in service. The plain mean unless service depends on it."""
        if self.jobs is not None:
            return np.asarray(self.jobs.service @ self.jobs.demand / UNIT / self.jobs.service.sum())
        if isinstance(self.service, Conditional) and isinstance(self.sizes, Joint):
            vectors, weights = self.sizes.atoms()
            return np.asarray((weights * self.service.means()) @ vectors / self.mean_service)
        return self.mean_size

    @property
    def area_bound(self) -> float:
        """Most tasks in service on average: the least, over resources, of capacity / mean demand (PAPERS §1.1: L/R̄)."""
        capacity, demand = self.servers.capacity.sum(axis=0), self.mean_size_in_service
        return float(min(capacity[demand > 0] / demand[demand > 0]))

    def rate_for(self, in_service: float) -> float:
        """Tasks per slot that keep this many in service on average: how a workload ρ becomes a rate."""
        return in_service / self.mean_service

    def knowing(self, lower: float, upper: float) -> Workload:
        """The same workload with a bracket on ρ*: a load is a share of its lower end."""
        known = copy.copy(self)
        object.__setattr__(known, "rho", (lower, upper))
        known.arrivals.check(known.rate / known.arrivals.tasks_per_job())
        return known

    @property
    def load(self) -> float | None:
        """Share of the maximum supportable workload, if that is what was given."""
        return self.given[1] if self.given and self.given[0] == "load" else None

    @property
    def intensity(self) -> float:
        """rate · mean service / area bound; above 1 no policy is stable."""
        if self.given and self.given[0] == "intensity":
            return self.given[1]
        return self.rate * self.mean_service / self.area_bound

    @property
    def rate(self) -> float:
        """Mean tasks per slot. Of a table: up to its last arrival. InputError for a `load` while ρ* is not known."""
        if self.jobs is not None:
            return len(self.jobs) / (int(self.jobs.arrival[-1]) + 1)
        assert self.given is not None
        how, value = self.given
        if how == "load":
            if self.rho is None:
                raise InputError("load is a share of rho*: packenv.resolved(workload) finds it, and the rate with it")
            return self.rate_for(value * self.rho[0])
        return value if how == "rate" else self.rate_for(value * self.area_bound)

    def with_(self, **changes: Any) -> Workload:
        """The same workload but for some arguments; one of load, intensity and rate takes the place of the others."""
        known = [*inspect.signature(Workload.__init__).parameters][1:]
        for key in changes:
            if key not in known:
                raise InputError(f"a workload has no {key!r}{nearest(key, known)}")
        arguments = {key: value for key, value in vars(self).items() if key in self._fields() and key != "given"}
        if self.given and not any(changes.get(key) is not None for key in INTENSITIES):
            arguments[self.given[0]] = self.given[1]
        arguments["jobs"] = arguments.pop("draw") or arguments["jobs"]
        return Workload(**arguments | changes)

    def default_levels(self) -> int:
        """J of PAPERS §1.3 for this law of sizes: the smallest J ≥ 2 with F(2^−J) ≤ 0.01, at most 16."""
        return default_levels(self.demand_law, self.servers)

    def largest_size(self) -> int:
        """The largest scalar size that a task can have, in integer units."""
        return int(scalar_size_of(largest_demands(self.demand_law), self.servers).max())

    def laws(self) -> Laws:
        """The laws as the compiled sampler reads them; for random workloads."""
        builder = Builder()
        if isinstance(self.sizes, Joint):
            self.sizes.encode(builder)
        elif self.sizes is not None:
            builder.sizes([law.encode(builder) for law in per_resource(self.sizes)])
        assert self.service is not None
        builder.plan["service"] = self.service.encode(builder)
        self.arrivals.encode(builder)
        return builder.laws()

    def source(self, seeds: Sequence[int], chunk: int | None = None) -> Source:
        """Rows for one cluster per seed (0 ≤ seed < 2^63), made `chunk` at a time; a table is one chunk for all of them.

        Neither the chunk's length nor the place in the batch changes a row.
        """
        from packenv.workloads.source import random_source, table_source

        if self.jobs is not None:
            places = locality(self.jobs, self.network or Network(), len(self.servers), self.slot_seconds or 1.0)
            return table_source(self.jobs, places)
        jobs_per_slot = self.rate / self.arrivals.tasks_per_job()
        return random_source(self.laws(), seeds, jobs_per_slot, isinstance(self.arrivals, Batch), chunk)

    def jobs_table(self, seed: int, n: int) -> Jobs:
        """The first n rows as a Jobs table: those that a run with this seed sees."""
        from packenv.workloads.source import refill

        if n < 1:
            raise InputError(f"a Jobs table needs at least 1 row, not {n}")
        if self.jobs is not None:
            raise InputError(f"workload {self.name} is a Jobs table already: use its jobs")
        source = self.source([seed], chunk=n)
        refill(source, 0)
        job = source.job[0] if source.job.shape[1] else None
        return Jobs(source.arrival[0], source.demand[0], source.service[0], job)

    def at(self, seed: int) -> Workload:
        """The workload with the Jobs table of this seed, where every seed has its own; else this one."""
        return self if self.draw is None else self.with_(jobs=self.draw(seed))

    def tabulated(self, seed: int, slots: int) -> Workload:
        """The same jobs, those that a run with this seed sees in its first `slots` slots, as a Jobs table."""
        if self.jobs is not None:
            return self.at(seed)
        n, last = max(16, int(1.1 * self.rate * slots)), -1
        while last < slots:
            if n > MOST_ROWS:
                raise InputError(f"workload {self.name}: more than {MOST_ROWS} tasks in {slots} slots are too many for a table")
            table = self.jobs_table(seed, n)
            last, n = int(table.arrival[-1]), 2 * n
        return Workload(
            servers=self.servers,
            jobs=table.first(max(1, int(np.searchsorted(table.arrival, slots)))),  # a table has a row, if a later one
            name=self.name,
            resources=self.resources,
            slot_seconds=self.slot_seconds,
        )

    def to_dict(self) -> dict[str, Any]:
        """The workload in plain values, ready for JSON (`packenv.workloads.files`)."""
        from packenv.workloads.files import to_dict

        return to_dict(self)

    @staticmethod
    def from_dict(plain: dict[str, Any], where: str = "workload") -> Workload:
        """The workload that `to_dict` described; InputErrors begin with `where` and name the key."""
        from packenv.workloads.files import from_dict

        return from_dict(plain, where)

    def save(self, path: str | Path) -> None:
        """Write the workload as JSON; the file appears whole or not at all."""
        from packenv.workloads.files import save_workload

        save_workload(self, path)


def _check_parts(sizes: Any, service: Any, jobs: Jobs | None, given: list[str]) -> None:
    """The arguments are a table or laws, not both, and complete."""
    if jobs is not None:
        extra = [key for key, value in (("sizes", sizes), ("service", service)) if value is not None] + given
        if extra:
            raise InputError(f"a Jobs table leaves no place for {', '.join(extra)}")
        if len(jobs) == 0:
            raise InputError("the Jobs table has no rows")
        return
    if not (isinstance(sizes, (Law, Joint)) or (isinstance(sizes, tuple) and sizes and all(isinstance(s, Law) for s in sizes))):
        raise InputError(f"sizes must be a law, a tuple of laws or a Joint law, not {sizes!r}")
    if not isinstance(service, (Law, Conditional)):
        raise InputError(f"service must be a law such as Geometric(100), not {service!r}")
    if len(given) != 1:
        raise InputError(f"give exactly one of load, intensity and rate, not {' and '.join(given) or 'none'}")
    if isinstance(service, Conditional) and not (isinstance(sizes, Joint) and len(sizes.vectors) == len(service.laws)):
        raise InputError("a Conditional service needs Joint sizes with one demand vector for each of its laws")
    if not isinstance(service, (Fixed, Constant, Discrete)) and service.support()[1] <= 1 and service.support()[0] < 1:
        raise InputError(f"service {service} never takes more than 1 slot; services are in slots (high=inf: not cut off)")
    if not isinstance(sizes, Joint) and math.prod(float(law.cdf(0.0)) for law in per_resource(sizes)) > 0:
        raise InputError("sizes can be 0 in every resource")
