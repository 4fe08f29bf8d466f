"""Judgments as a table, as JSON, and in words."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from packenv.policy import find_policy
from packenv.report.tables import Column, Table, numbers
from packenv.results.stability import Verdict
from packenv.theory.capacity.configuration_bounds import vqs_bound
from packenv.theory.stability.judge import Judgment
from packenv.workloads.workload import Workload

LEFT_OUT = ("VQS at least", "guarantee")
"""Columns that a narrow terminal does without, the first of them first."""

STATUS_COLOURS = {"held": "green", "broken": "red", "undecided": "yellow", "not claimed": "dim"}


def open_loads(judgment: Judgment, workload: Workload) -> str:
    """What it would take to decide the loads that stayed undecided."""
    said = f"{judgment.policy} on {judgment.workload}: some loads stay undecided, about {judgment.needed:.2g} slots would decide"
    if workload.jobs is None:
        return said
    return f"{said}; too short for that, the table has {int(workload.jobs.arrival[-1]) + 1:.2g} at its own rate"


def record_of(judgment: Judgment) -> dict[str, Any]:
    """The JSON of a judgment."""
    record = {key: value for key, value in vars(judgment).items() if key != "evidence"} | {"rho": list(judgment.rho)}
    evidence = [seen._asdict() | {"verdict": _verdict_record(seen.verdict)} for seen in judgment.evidence]
    return record | {"needed": judgment.needed, "evidence": evidence}


def judgments_table(workloads: list[Workload], judged: list[Judgment]) -> Table:
    """A line for each judgment; `workloads` are theirs."""
    heads = numbers("supported", "≥ ½", "≥ ⅔", "guarantee", "VQS at least")
    table = Table("fractions of ρ* that are supported", [Column("workload"), Column("policy"), *heads])
    above = None
    for workload, judgment in zip(workloads, judged, strict=True):
        bound = proved(judgment, workload)
        marks = [Text(mark, STATUS_COLOURS[mark]) for mark in (judgment.half, judgment.two_thirds)]
        interval = f"{judgment.low:.3f} – {judgment.high:.3f}"
        claim = f"{judgment.claimed:.3f}" if judgment.claimed else "–"
        table.add(
            "" if workload is above else judgment.workload,
            judgment.policy,
            interval,
            *marks,
            claim,
            "" if bound is None else f"{bound:.3f}",
        )
        above = workload
    return table


def proved(judgment: Judgment, workload: Workload) -> float | None:
    """The share of ρ* that VQS supports at least, by the program over K_RED; None for other policies and settings."""
    if judgment.policy.split(":")[0] != "vqs" or workload.D > 1 or len(workload.servers.kinds) > 1:
        return None
    levels = getattr(find_policy(judgment.policy), "J", 0) or None
    return vqs_bound(workload, levels) / judgment.rho[1]


def _verdict_record(verdict: Verdict) -> dict[str, Any]:
    return {"kind": verdict.kind, "confidence": verdict.confidence, "drift": verdict.drift, "level": verdict.level}
