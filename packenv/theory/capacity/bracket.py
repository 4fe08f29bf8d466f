"""`Bracket`: proved bounds on ρ* (PAPERS §1.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

from packenv.content.showable import Showable
from packenv.content.tables import Column, Table, numbers
from packenv.content.text import counted
from packenv.errors import InputError
from packenv.theory.capacity.best_proofs import rounded_down, rounded_up
from packenv.theory.capacity.configuration_bounds import halving_bound, vqs_bound
from packenv.theory.capacity.one_resource.certificate import Attained, Bounded, Refuted, area_proof
from packenv.theory.capacity.one_resource.size_law import kinds_of, size_law
from packenv.theory.capacity.several_resources.certificate import Boxes, Priced, Scalarised, area_proofs
from packenv.theory.capacity.several_resources.demand_law import vector_kinds_of, vector_law
from packenv.workloads.workload import Workload

AttainedProof: TypeAlias = Attained | Boxes
BoundedProof: TypeAlias = Bounded | Scalarised | Priced


class Bounds(Showable):
    """Bounds on ρ*, in tasks in service, and whether the gap was `reached`."""

    lower: float
    upper: float
    reached: bool

    @property
    def gap(self) -> float:
        return (self.upper - self.lower) / self.upper

    @property
    def plain(self) -> dict[str, Any]:
        return self.to_dict()

    def bounds_of(self, workload: Workload) -> dict[str, Any]:
        """The bounds, of this workload, in plain values."""
        of = workload.record | {"servers": str(workload.servers)}
        return of | {"lower": self.lower, "upper": self.upper, "gap": self.gap, "reached": self.reached}


@dataclass(frozen=True, repr=False)
class Bracket(Bounds):
    """lower <= ρ* <= upper in tasks in service, proved.

    `reached`: whether (upper - lower) / upper came down to the requested gap within the time allowed.
    `history`: the bounds found on the way, each pair at least as tight as the one before.
    `workload`: None for a bracket from a file, until you call `of`. `proved_for`: the workload in words, from the file.
    """

    lower: float
    upper: float
    area_bound: float  # capacity / mean size, for the integer sizes that are simulated
    attained: AttainedProof
    bounded: BoundedProof
    reached: bool
    seconds: float
    history: tuple[tuple[float, float], ...]
    workload: Workload | None = field(default=None, compare=False)
    proved_for: str | None = field(default=None, compare=False)

    def of(self, workload: Workload) -> Bracket:
        """Return these bounds for this workload, unchecked (see `verify`)."""
        return replace(self, workload=workload)

    @property
    def title(self) -> str:
        where = "" if self.workload is None else f" of {self.workload.label}"
        reached = "" if self.reached else ", the best found in the time"
        return f"{self.lower:.6g} <= ρ*{where} <= {self.upper:.6g} tasks in service, a gap of {self.gap:.2%}{reached}"

    def tables(self) -> list[Table]:
        """Tabulate bounds as tasks, shares and rates; nothing without a workload."""
        if self.workload is None:
            return []
        workload = self.workload
        servers = f"{len(workload.servers):,} server{'' if len(workload.servers) == 1 else 's'}"
        title = f"{workload.label} on {servers}: ρ* with a gap of {self.gap:.2%}"
        table = Table(title, [Column(""), *numbers("tasks in service", "share of ρ*", "tasks per slot")])
        for name, value in self._bounds(workload).items():
            share = "" if name.startswith("ρ*") else f"{value / self.upper:.3f}"
            table.add(name, f"{value:.6g}", share, f"{workload.rate_for(value):.6g}")
        return [table]

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each bound."""
        workload = self._required_workload()
        return [
            {"bound": name, "tasks_in_service": value, "share": value / self.upper, "rate": workload.rate_for(value)}
            for name, value in self._bounds(workload).items()
        ]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [self.to_dict()]

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds (tasks in service) and rates."""
        workload = self._required_workload()
        rates = {"lower_rate": workload.rate_for(self.lower), "upper_rate": workload.rate_for(self.upper)}
        both = self.bounds_of(workload) | {"area_bound": self.area_bound} | rates
        return both | {"seconds": self.seconds} | guaranteed(workload)

    def _required_workload(self) -> Workload:
        if self.workload is None:
            raise InputError("the bounds have no workload: use `bracket.of(workload)`")
        return self.workload

    def _bounds(self, workload: Workload) -> dict[str, float]:
        """The bounds by name, in tasks in service."""
        bounds = {"ρ* at least": self.lower, "ρ* at most": self.upper, "area bound": self.area_bound}
        if lower := guaranteed(workload):
            J = workload.default_levels()
            bounds |= {f"VQS at least (J = {J})": lower["vqs_bound"], f"cuts at 2^-m only (J = {J})": lower["halving_bound"]}
        return bounds

    def verify(self, workload: Workload) -> None:
        """Check both proofs exactly. Raises Refuted."""
        law, kinds = law_and_kinds(workload)
        if isinstance(self.attained, Attained) != (workload.D == 1) or isinstance(self.bounded, Bounded) != (workload.D == 1):
            raise Refuted(f"certificate: it is not for {workload.D} resources")
        if not 0 <= self.lower <= self.upper < math.inf:
            raise Refuted(f"certificate: [{self.lower}, {self.upper}] is no interval")
        attained, bounded = self.attained.value(law, kinds), self.bounded.value(law, kinds)
        if attained < Fraction(self.lower):
            raise Refuted(f"certificate: the configurations do not attain {self.lower}")
        if bounded > Fraction(self.upper):
            raise Refuted(f"certificate: the prices do not bound ρ* by {self.upper}")
        if self.reached and (self.lower, self.upper) != (rounded_down(attained), rounded_up(bounded)):
            raise Refuted("certificate: the gap is marked as reached, but the bounds are wider than the proofs")
        if area_bound(law, kinds) != self.area_bound:
            raise Refuted(f"certificate: the area bound is not {self.area_bound}")


def guaranteed(workload: Workload) -> dict[str, float]:
    """Return bounds for VQS and halving (equal servers, one resource)."""
    if workload.D > 1 or len(workload.servers.kinds) > 1:
        return {}
    return {"vqs_bound": vqs_bound(workload), "halving_bound": halving_bound(workload)}


def law_and_kinds(workload: Workload) -> tuple[Any, Any]:
    """Return the law of demands, and server kinds."""
    if workload.D == 1:
        return size_law(workload), kinds_of(workload)
    return vector_law(workload), vector_kinds_of(workload)


def area_bound(law: Any, kinds: Any) -> float:
    """Return the least capacity / mean demand of a resource."""
    proofs = area_proofs(law, kinds) if kinds.capacity.ndim > 1 else [area_proof(law)]
    return min(rounded_up(proof.value(law, kinds)) for proof in proofs)


def place_of(workload: Workload, at_intensity: bool = False) -> str:
    """Name a proof's workload, servers and, for queues, intensity."""
    where = f"{workload.name} on {counted(len(workload.servers), 'server')}"
    return f"{where} at intensity {workload.intensity:.4g}" if at_intensity else where
