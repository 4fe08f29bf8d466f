"""Workload: arriving tasks and servers. A policy completes a run's setting."""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.content.showable import Showable
from packenv.content.tables import form
from packenv.content.text import counted_by_reason
from packenv.errors import InputError, RowError, UnknownArgument
from packenv.files import write_json
from packenv.inputs.json_files import read_json
from packenv.jobs import FIRST, GPU, HOW_MANY, Jobs, gang_spans
from packenv.options.shared import INTENSITIES as INTENSITIES
from packenv.workloads import demand as demands
from packenv.workloads.checks import check_parts, check_rate, check_workload
from packenv.workloads.demand import Sizes
from packenv.workloads.devices import devices_in_words, devices_of
from packenv.workloads.gangs import gangs_in_words
from packenv.workloads.laws.arrivals import Arrivals, Batch, Poisson
from packenv.workloads.laws.encoding import Builder, Laws
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.laws.law import Law, positive, set_fields
from packenv.workloads.network import Network, locality
from packenv.workloads.plain_values import to_plain, workload_arguments
from packenv.workloads.provenance import Provenance
from packenv.workloads.servers import Servers, as_servers
from packenv.workloads.windows import Windows, spread, spread_draw

if TYPE_CHECKING:  # the compiler, which takes half a second to load, is needed only where rows are drawn
    from packenv.content.page import Charts
    from packenv.workloads.source import Source

Floats = NDArray[np.float64]
MOST_ROWS = 50_000_000
MOST_KINDS = 4  # of servers, and FACT_LETTERS of a text, in a `repr`
FACT_LETTERS = 100
PLOTTED_TASKS = 10_000


@dataclass(frozen=True, init=False, repr=False)
class Workload(Showable):
    """Servers, and the tasks that arrive at them.

    Tasks are random, drawn from laws, or those of a finite Jobs table.

    sizes     law of the demand in units of capacity; a tuple of laws for several independent resources, or a Joint law
    service   law of the service in slots (rounded up, at least 1); Conditional if it depends on a Joint demand
    servers   anything for `as_servers`: 5, "3x1,2x0.5", capacities (L,) or (L, D), Servers
    arrivals  the arrival process, Poisson by default; exactly one of the next three sets the number of tasks
    rate        mean number of tasks per slot
    intensity   rate · mean service / area bound (the papers' α)
    load        rate · mean service / ρ*, a share of the maximum supportable workload (`packenv.resolved` finds the rate)
    jobs      a Jobs table, or a function from a seed to one; only `servers` and the arguments below go with it
    resources, slot_seconds   names of the resources, and length of a slot in seconds, if known
    processors  number that capacity 1 stands for, if tasks are parallel jobs and the first resource is a share of a machine
    began       time of slot 0 by the clock of the log, in seconds
    network   cost of running a task of the table away from its data (packenv.Network)

    Raises InputError if something is missing, contradicts itself, or if a possible task fits no server.
    """

    servers: Servers
    sizes: Sizes | None
    service: Law | Conditional | None
    arrivals: Arrivals
    given: tuple[str, float] | None  # which of load, intensity and rate was given, and its value
    jobs: Jobs | None = field(repr=False, hash=False)
    draw: Callable[[int], Jobs] | None = field(repr=False)
    """The function from a seed to its table, if any (`at`); `jobs` is then the table of seed 0."""
    name: str
    resources: tuple[str, ...] | None
    slot_seconds: float | None
    network: Network | None
    processors: float | None
    began: float
    provenance: Provenance = field(compare=False)
    """The trace that the workload comes from: omissions, notes, and its clock."""
    rho: tuple[float, float] | None = field(compare=False)
    """Lower and upper bound on ρ* (tasks in service), once `packenv.resolved` has found them."""

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
        processors: float | None = None,
        began: float = 0.0,
    ) -> None:
        # The tasks: laws, or a table, perhaps the first of many.
        laws = tuple(sizes) if isinstance(sizes, Sequence) else sizes
        table = jobs if jobs is None or isinstance(jobs, Jobs) else jobs(0)
        draw = None if table is jobs else jobs
        rates = [(key, value) for key, value in zip(INTENSITIES, (load, intensity, rate), strict=True) if value is not None]
        check_parts(laws, service, table, [key for key, _ in rates])
        demand: Any = laws if table is None else table
        # The servers, and the table in their units.
        cluster = as_servers(servers, demands.resources_of(demand), None if resources is None else tuple(resources))
        if table is not None and table.resources == cluster.D:
            table = table.scaled(cluster.scale)
        if table is not None and cluster.devices is not None:
            table = table.with_kinds(cluster.device_kinds)
        set_fields(
            self,
            servers=cluster,
            sizes=laws,
            service=service,
            arrivals=Poisson() if arrivals is None else arrivals,
            given=(rates[0][0], positive(rates[0][0], rates[0][1])) if rates else None,
            jobs=table,
            draw=draw,
            name=name.encode(errors="replace").decode(),  # of a file whose name is no UTF-8
            resources=None if resources is None else tuple(resources),
            slot_seconds=None if slot_seconds is None else positive("slot_seconds", slot_seconds),
            network=network,
            processors=None if processors is None else positive("processors", processors),
            began=began,
            provenance=Provenance(dict(cluster.left_out)),
            rho=None,
        )
        check_workload(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        mine, its = vars(self), vars(other)
        same_table = self.jobs is other.jobs or (self.draw is not None and self.draw == other.draw)
        return same_table and all(mine[key] == its[key] for key in self._fields() if key != "jobs")

    def facts(self) -> list[tuple[str, str]]:
        """Return a few lines for people: names and texts."""
        shown = self.amounts
        kinds, counts = np.unique(self.servers.capacity[:, shown], axis=0, return_counts=True)
        few = [f"{count:,} of {' : '.join(f'{amount:g}' for amount in kind)}" for kind, count in zip(kinds, counts, strict=True)]
        servers_text = ", ".join(few) if len(few) <= MOST_KINDS else f"{len(self.servers):,} of {len(few):,} kinds"
        facts = [("servers", servers_text + (f" ({' : '.join(self.resources[r] for r in shown)})" if self.resources else ""))]
        if self.has_devices:
            facts.append(("devices", shortened(devices_in_words(self.servers))))
        if self.jobs is not None and self.jobs.gang is not None:
            facts.append(("gangs", gangs_in_words(self.jobs.gang)))
        if self.jobs is not None:
            by_seed = ", drawn for each seed" if self.draw is not None else ""
            jobs = "" if self.jobs.job is None else f" of {len(np.unique(self.jobs.job)):,} jobs"
            facts.append(("tasks", f"{len(self.jobs):,}{jobs}, arriving in slots 0 to {int(self.jobs.arrival[-1]):,}{by_seed}"))
            sizes = " : ".join(f"{self.mean_size[r]:.4g}" for r in shown)
            facts.append(("mean size and service", f"{sizes}, {self.mean_service:.4g} slots"))
        else:
            facts += [("sizes", shortened(str(self.sizes))), ("service in slots", shortened(str(self.service)))]
            facts.append(("arrivals", shortened(str(self.arrivals))))
        if self.load is not None and self.rho is None:
            facts.append(("load", f"{self.load:g} of ρ*"))
        elif not self.at_once:
            facts.append(("rate", f"{self.rate:.4g} tasks per slot, intensity {self.intensity:.3f}"))
        if self.slot_seconds is not None:
            facts.append(("slot", f"{self.slot_seconds:g} s"))
        facts += [("note", note) for note in self.provenance.notes]
        if left_out := counted_by_reason(self.left_out):
            facts.append(("left out", left_out))
        return facts

    @property
    def title(self) -> str:
        return f"Workload {self.label}"

    @property
    def label(self) -> str:
        """Name for titles, with named partitions and large shares left out."""
        return f"{self.name}{self.provenance.in_titles}"

    @property
    def left_out(self) -> dict[str, int]:
        """Number of a trace's rows that are no tasks of the workload, by reason."""
        return self.provenance.left_out

    @property
    def much_left_out(self) -> bool:
        """Whether a twentieth of a trace's tasks or work fits nowhere."""
        return self.provenance.much_left_out

    @property
    def caveats(self) -> list[str]:
        """Lines for every result, on servers and omissions."""
        return self.provenance.caveats

    @property
    def bound_caveats(self) -> list[str]:
        """Lines for bounds on policies: what these do not count."""
        return ["bounds let each task of a gang start alone: whole gangs may support less"] if self.has_gangs else []

    @property
    def record(self) -> dict[str, Any]:
        """Fields of records: name, and shares of tasks and work left out."""
        of = self.provenance
        return {"workload": self.name, "left_out_share": of.left_out_share, "left_out_work": of.left_out_work}

    def charts(self, seed: int = 0, tasks: int = PLOTTED_TASKS) -> Charts:
        """Chart sizes, services and arrivals of the first tasks."""
        charts: Charts = form("charts_of_workload")(self, seed, tasks)
        return charts

    def to_frame(self, library: str = "arrow", seed: int = 0, tasks: int = PLOTTED_TASKS) -> Any:
        """Return the Jobs table, or a seed's `tasks`, as a frame.

        It is for "arrow", "pandas" or "polars". Columns are those of traces in slots: arrival, size (or one per resource),
        service, and the table's other columns. Raises InputError for a library that is not installed.
        """
        from packenv.workloads.traces.read import table_of

        jobs = self.at(seed).jobs
        return form("frame")(table_of(jobs if jobs is not None else self.jobs_table(seed, tasks), self.resources), library)

    @staticmethod
    def _fields() -> list[str]:
        return [key for key, field in Workload.__dataclass_fields__.items() if field.compare]

    @property
    def demand_law(self) -> Sizes | Jobs:
        """Source of the tasks' demands: the law of sizes, or the table."""
        demand = self.sizes if self.jobs is None else self.jobs
        assert demand is not None
        return demand

    @property
    def has_devices(self) -> bool:
        """Whether tasks need devices of servers, such as GPUs."""
        return self.jobs is not None and self.jobs.devices is not None

    @property
    def has_gangs(self) -> bool:
        """Whether tasks are in gangs: they start together or not at all."""
        if self.jobs is None:
            return isinstance(self.arrivals, Batch) and self.arrivals.gang
        return self.jobs.gang is not None

    @property
    def most_devices(self) -> int:
        """Most devices of a server, 0 if tasks need none."""
        return int(self.servers.devices[:, HOW_MANY].max()) if self.has_devices and self.servers.devices is not None else 0

    @property
    def resource_names(self) -> tuple[str, ...]:
        """Names of a trace's resources, or numbers."""
        return tuple(self.resources or (f"resource {r}" for r in range(self.D)))

    @property
    def D(self) -> int:
        """Number of resources."""
        return demands.resources_of(self.demand_law)

    @property
    def mean_size(self) -> Floats:
        """(D,) mean demand of a task, in units of capacity, before rounding."""
        return demands.mean_demand(self.demand_law)

    @property
    def mean_service(self) -> float:
        """Mean service of a task, in slots."""
        return demands.mean_service(self.demand_law, self.service)

    @property
    def mean_residual(self) -> float:
        """Mean remaining slots of a task in service, infinite without variance."""
        return demands.mean_residual(self.demand_law, self.service)

    @property
    def mean_size_in_service(self) -> Floats:
        """(D,) mean demand of a task in service, weighted by dependent services."""
        return demands.mean_demand_in_service(self.demand_law, self.service)

    @property
    def area_bound(self) -> float:
        """Most mean tasks in service, capacity / mean demand (PAPERS §1.1: L/R̄)."""
        capacity, demand = self.servers.capacity.sum(axis=0), self.mean_size_in_service
        return float(min(capacity[demand > 0] / demand[demand > 0]))

    def rate_for(self, in_service: float) -> float:
        """Return the rate of tasks for a mean number in service."""
        return in_service / self.mean_service

    def knowing(self, lower: float, upper: float) -> Workload:
        """Return the workload with bounds on ρ*, the lower for `load`."""
        copied = copy.copy(self)
        set_fields(copied, rho=(lower, upper))
        check_rate(copied)
        return copied

    def recorded(self, provenance: Provenance) -> Workload:
        """Return the workload with the trace that it comes from."""
        copied = copy.copy(self)
        set_fields(copied, provenance=provenance)
        return copied

    @property
    def origin(self) -> datetime | None:
        """Date of slot 0, if the trace has dates."""
        records = self.provenance.file_records
        began = None if records is None else records.began
        return began if isinstance(began, datetime) else None

    @property
    def load(self) -> float | None:
        """Share of the maximum supportable workload, if that was given."""
        return self.given[1] if self.given and self.given[0] == "load" else None

    @property
    def overloaded(self) -> bool:
        """Whether arrivals, over time, exceed any policy's capacity."""
        return (self.intensity >= 1 or self.above_rho) and not self.at_once

    @property
    def above_rho(self) -> bool:
        """Whether the load is proved to exceed ρ*: more work than its upper bound."""
        return self.rho is not None and self.rate * self.mean_service > self.rho[1] * (1 + 1e-9)

    @property
    def overload(self) -> str:
        """A line on arrivals that no policy can carry."""
        return f"{self._too_much}: no policy is stable in the long run"

    @property
    def overload_lost(self) -> str:
        """The same line where tasks that cannot start are rejected."""
        return f"{self._too_much}: every policy turns tasks away in the long run"

    @property
    def _too_much(self) -> str:
        return "intensity is 1 or more" if self.intensity >= 1 else "load is above ρ*"

    @property
    def amounts(self) -> list[int]:
        """Numbers of the resources to show. A name that begins with `.` is a plug-in's rule."""
        return [r for r in range(self.D) if not (self.resources and self.resources[r].startswith("."))]

    @property
    def at_once(self) -> bool:
        """Whether all arrive in slot 0, so that runs end with them."""
        return self.jobs is not None and bool(self.jobs.arrival[-1] == 0)

    @property
    def intensity(self) -> float:
        """rate · mean service / area bound, above 1 never stable."""
        if self.given and self.given[0] == "intensity":
            return self.given[1]
        return self.rate * self.mean_service / self.area_bound

    @property
    def rate(self) -> float:
        """Mean tasks per slot (of a table, to its last arrival).

        Raises InputError for a `load` without ρ*.
        """
        if self.jobs is not None:
            return len(self.jobs) / (int(self.jobs.arrival[-1]) + 1)
        assert self.given is not None
        key, value = self.given
        if key == "load":
            if self.rho is None:
                raise InputError("load is a share of rho*: packenv.resolved(workload) computes the rate")
            return self.rate_for(value * self.rho[0])
        return value if key == "rate" else self.rate_for(value * self.area_bound)

    def with_(self, **changes: Any) -> Workload:
        """Return the workload with some arguments changed.

        One of load, intensity and rate replaces the previous one. For a table, `intensity` or `rate` spreads the arrivals of the
        tasks.
        """
        parameters = [*inspect.signature(Workload.__init__).parameters][1:]
        for key in changes:
            if key not in parameters:
                raise UnknownArgument(key, parameters)
        # A spread table keeps its records, but not their clock.
        records = None if "jobs" in changes else self.provenance.file_records
        if self.jobs is not None and changes.get("jobs") is None:
            changes = self._spread(**changes)
        if records is not None and {"jobs", "slot_seconds"} & {*changes}:  # tasks come at other times than in the file
            records = replace(records, began=None)
        # The arguments of this workload, replaced by the changes.
        arguments = {key: value for key, value in vars(self).items() if key in self._fields() and key != "given"}
        if self.given and not any(changes.get(key) is not None for key in INTENSITIES):
            arguments[self.given[0]] = self.given[1]
        arguments["jobs"] = arguments.pop("draw") or arguments["jobs"]
        if changes.get("servers") is not None and (self.has_devices or self.provenance.partitions):
            changes["servers"] = self._with_devices(
                as_servers(changes["servers"], self.D, self.resources, self.provenance.partitions)
            )
        try:
            changed = Workload(**arguments | changes)
        except RowError as error:
            if records is None or records.rows is None:
                raise
            raise InputError(f"{self.name}: row {records.rows[error.row]}: {error.problem}") from None
        # The trace's omissions and notes, as far as they still hold.
        others = {reason: n for reason, n in self.left_out.items() if reason not in dict(self.servers.left_out)}
        provenance = replace(self.provenance, left_out=others | changed.left_out, file_records=records)
        if "servers" in changes:
            provenance = replace(provenance, notes=())
        if "jobs" in changes:
            provenance = replace(provenance, estimates=None, recorded_waits=None)
        return changed.recorded(provenance)

    def _spread(self, intensity: float | None = None, rate: float | None = None, **changes: Any) -> dict[str, Any]:
        """Replace `intensity` or `rate` by a spread table, from seed 0."""
        if changes.get("load") is not None:
            raise InputError(f"{self.name} is a table: give its intensity or rate in place of a load")
        rates = [(key, value) for key, value in (("intensity", intensity), ("rate", rate)) if value is not None]
        if not rates:
            return changes
        if len(rates) > 1:
            raise InputError("give one of intensity and rate, not both")
        target = positive(*rates[0])
        assert self.jobs is not None
        if self.jobs.arrival[-1] == 0:
            raise InputError(f"{self.name}: all tasks arrive in slot 0, so their rate cannot change")
        servers = self.with_(servers=changes["servers"]) if changes.get("servers") is not None else self
        times = (servers.intensity if rate is None else self.rate) / target
        return changes | {"jobs": spread(self.jobs, times) if self.draw is None else spread_draw(self.draw, times)}

    def _with_devices(self, servers: Servers) -> Servers:
        """Give servers the workload's devices per GPU, unless they have numbers."""
        mine = self.servers.devices
        if mine is None or self.resources is None or GPU not in self.resources:
            return servers
        r = self.resources.index(GPU)
        return servers.with_devices_of(r, float(mine[:, HOW_MANY].sum() / self.servers.capacity[:, r].sum()))

    def default_levels(self) -> int:
        """Return J = min{J ≥ 2: F(2^−J) ≤ 0.01} ≤ 16 (PAPERS §1.3)."""
        return demands.default_levels(self.demand_law, self.servers)

    def largest_size(self) -> int:
        """Return the largest possible scalar size of a task, in integer units."""
        return int(demands.scalar_size(demands.largest_demands(self.demand_law), self.servers).max())

    def laws(self) -> Laws:
        """Return the laws for the compiled sampler, for random workloads only."""
        builder = Builder()
        if isinstance(self.sizes, Joint):
            self.sizes.encode(builder)
        elif self.sizes is not None:
            builder.sizes([law.encode(builder) for law in demands.per_resource(self.sizes)])
        assert self.service is not None
        builder.plan["service"] = self.service.encode(builder)
        self.arrivals.encode(builder)
        return builder.laws()

    def source(self, seeds: Sequence[int], chunk: int | None = None) -> Source:
        """Return the rows of one cluster per seed below 2^63.

        They are drawn `chunk` at a time. A table is one chunk for all clusters. Row i depends on the seed alone, not on the
        length of the chunk or the place in the batch.
        """
        from packenv.workloads.source import random_source, table_source

        if self.jobs is not None:
            places = locality(self.jobs, self.network or Network(), len(self.servers), self.slot_seconds or 1.0)
            return table_source(self.jobs, places, devices_of(self.jobs, self.servers, self.resources))
        jobs_per_slot = self.rate / self.arrivals.tasks_per_job()
        return random_source(self.laws(), seeds, jobs_per_slot, isinstance(self.arrivals, Batch), chunk)

    def jobs_table(self, seed: int, n: int) -> Jobs:
        """Return the first n tasks of a run with this seed."""
        from packenv.workloads.source import refill

        if n < 1:
            raise InputError(f"a Jobs table needs at least 1 row, not {n}")
        if self.jobs is not None:
            raise InputError(f"workload {self.name} is a Jobs table already: use its jobs")
        source = self.source([seed], chunk=n)
        refill(source, 0)
        job, service = source.job[0] if source.job.shape[1] else None, source.service[0]
        if not self.has_gangs or job is None:
            return Jobs(source.arrival[0], source.demand[0], service, job)
        return Jobs(source.arrival[0], source.demand[0], service[gang_spans(job)[:, FIRST]], job, gang=job)

    def played_jobs(self, seed: int, tasks: int) -> Jobs:
        """Return a seed's first `tasks` tasks, at least one."""
        jobs = self.at(seed).jobs
        return self.jobs_table(seed, max(tasks, 1)) if jobs is None else jobs.first(max(tasks, 1))

    def at(self, seed: int) -> Workload:
        """Return the workload with this seed's Jobs table, if tables are drawn."""
        if self.draw is None:
            return self
        jobs, began = self.draw.window(seed) if isinstance(self.draw, Windows) else (self.draw(seed), self.began)
        of_seed, records = self.with_(jobs=jobs, began=began), self.provenance.file_records
        return of_seed.recorded(replace(of_seed.provenance, file_records=records))  # of a log, only the places of data are drawn

    def windows(self, jobs: int, between: tuple[float, float] = (0.0, 1.0)) -> Workload:
        """Return a workload of windows: `jobs` consecutive jobs for every seed.

        A window begins at a random job, on an empty machine, by the clock of the log. `between` are shares of the table's jobs:
        agents learn on (0, 0.5), and (0.5, 1) tests them. Raises InputError for a stream, tasks that belong to jobs, and a part
        with fewer jobs.
        """
        return self.with_(jobs=Windows(self, jobs, between))

    def tabulated(self, seed: int, slots: int) -> Workload:
        """Return the workload with a table of a seed's first `slots` slots."""
        if self.jobs is not None:
            return self.at(seed)
        # Draw longer tables until one covers the slots.
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
            processors=self.processors,
            began=self.began,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, or raise InputError for tables."""
        if self.jobs is not None:
            raise InputError(f"workload {self.name} is a Jobs table: save it as a trace, not as JSON")
        key, value = self.given or ("", None)
        plain = {
            "name": self.name,
            "sizes": to_plain(self.sizes),
            "service": to_plain(self.service),
            "servers": str(self.servers),
            "arrivals": to_plain(self.arrivals),
            key: value,
            "resources": to_plain(self.resources),
            "slot_seconds": self.slot_seconds,
        }
        return {key: value for key, value in plain.items() if value is not None}

    @staticmethod
    def from_dict(plain: Any, where: str = "workload") -> Workload:
        """Return the workload that `to_dict` described."""
        arguments = workload_arguments(plain, where)
        try:
            return Workload(**arguments)
        except InputError as problem:
            raise InputError(f"{where}: {problem}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write JSON for `load_workload`, whole or not at all."""
        write_json(path, self.to_dict())


def load_workload(path: str | Path) -> Workload:
    """Return the workload in a JSON file, or under its key "workload".

    Raises InputError, naming the file and the key, for a file that cannot be read or describes no workload.
    """
    path = Path(path)
    plain = read_json(path)
    if isinstance(plain, dict) and "workload" in plain:
        plain = plain["workload"]
    return Workload.from_dict(plain, str(path))


def shortened(text: str) -> str:
    """Shorten a text to a line of a `repr`."""
    return text if len(text) <= FACT_LETTERS else f"{text[: FACT_LETTERS - 2]} …"
