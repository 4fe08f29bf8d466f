"""The tables of judgments: supported fractions of ρ*, and the verdicts behind them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from packenv.report.tables import Column, Table, numbers, table_of
from packenv.theory.stability.judge import Judgment

LEFT_OUT = ("VQS at least", "guarantee")
"""Columns that a narrow terminal does without, the first of them first."""

STATUS_COLOURS = {"held": "green", "broken": "red", "undecided": "yellow", "not claimed": "dim"}


def judgments_table(judgments: Sequence[Judgment]) -> Table:
    """A line for each judgment."""
    heads = numbers("supported", "≥ ½", "≥ ⅔", "guarantee", "VQS at least")
    table = Table("fractions of ρ* that are supported", [Column("workload"), Column("policy"), *heads])
    above: Judgment | None = None
    for judgment in judgments:
        same = above is not None and above.played is judgment.played and above.workload == judgment.workload
        table.add(
            "" if same else judgment.workload,
            judgment.policy,
            f"{judgment.low:.3f} – {judgment.high:.3f}",
            *(Text(status, STATUS_COLOURS[status]) for status in (judgment.half, judgment.two_thirds)),
            f"{judgment.claimed:.3f}" if judgment.claimed else "–",
            "" if judgment.proved is None else f"{judgment.proved:.3f}",
        )
        above = judgment
    return table


def evidence_table(judgment: Judgment) -> Table:
    """A line for each load that was tried."""
    records = [
        {
            "load (share of ρ*)": tried.load,
            "verdict": str(tried.verdict),
            "seeds": tried.seeds,
            "slots": tried.slots,
            "mean queue": tried.mean_queue,
        }
        for tried in sorted(judgment.evidence, key=lambda tried: tried.load)
    ]
    return table_of(f"{judgment.policy} on {judgment.workload}", records)
