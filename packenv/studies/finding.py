"""What the reproduction of a figure finds: tables, claims that are shown or not shown, and a picture of them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from packenv.files import atomic_path
from packenv.workloads.traces import SlotTrace, Trace

Row = dict[str, Any]


class Claim(NamedTuple):
    """A sentence of the paper, whether the figures at hand show it, and those figures."""

    figure: str
    claim: str
    shown: bool
    figures: str

    @property
    def verdict(self) -> str:
        return "shown" if self.shown else "not shown"

    def __str__(self) -> str:
        return f"{self.figure:<6} {self.verdict:<9}  {self.claim}: {self.figures}"

    def record(self) -> Row:
        return {"figure": self.figure, "claim": self.claim, "verdict": self.verdict, "figures": self.figures}


@dataclass(frozen=True)
class Settings:
    """How long and how often; None: the figure's own default."""

    seeds: int | None = None
    slots: int | None = None
    quick: bool = False
    trace: Trace | SlotTrace | None = None
    trace_name: str = ""
    servers: int | None = None
    processes: int | None = None

    def seeds_or(self, usual: int, quick: int) -> int:
        return self.seeds or (quick if self.quick else usual)

    def slots_or(self, usual: int) -> int:
        return self.slots or (usual // 10 if self.quick else usual)

    @property
    def remark(self) -> str:
        """What a title says of a shortened run."""
        return " (quick: shorter runs, fewer seeds)" if self.quick else ""


@dataclass(frozen=True)
class Finding:
    """A figure: `tables` by what is added to its name ("" for the figure's own), and `draw` that writes the picture."""

    figure: str
    title: str
    claims: list[Claim]
    tables: dict[str, list[Row]]
    draw: Callable[[Path], None]
    notes: list[str] = field(default_factory=list)
    kept: Any = None  # what a claim across figures needs

    def files(self) -> list[str]:
        return [f"{self.figure}.png", *(f"{self.figure}{part}.csv" for part in self.tables), f"{self.figure}_claims.csv"]


def write_finding(finding: Finding, folder: Path) -> None:
    """The picture, the tables and the claims of a figure: all of them appear, or none."""
    with ExitStack() as whole:
        picture, *tables, told = [whole.enter_context(atomic_path(folder / name)) for name in finding.files()]
        finding.draw(picture)
        for path, rows in zip(tables, finding.tables.values(), strict=True):
            write_csv(path, rows)
        write_csv(told, [claim.record() for claim in finding.claims])


def write_csv(path: Path, rows: list[Row]) -> None:
    """Numbers with eight digits, nothing where there is none."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({key: f"{value:.8g}" if isinstance(value, float) else value for key, value in row.items()})
