"""What the scripts of this folder have in common: options, and one picture written where it belongs."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packenv.files import atomic_path
from packenv.runs.runner import RunOptions
from packenv.studies import reproduce
from packenv.studies.finding import Settings

PICTURES = Path(__file__).resolve().parent / "pictures"
QUICK_OUT = "out"


@dataclass(frozen=True)
class Options:
    """Of a script."""

    quick: bool
    folder: Path
    processes: int | None


def options_of(about: str | None, arguments: Sequence[str] | None = None) -> Options:
    """Read --quick, --out and --processes; make the folder of the picture."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter runs and fewer seeds: a first look, not a result")
    where = f"folder of the picture (default: experiments/pictures; {QUICK_OUT} with --quick)"
    parser.add_argument("--out", type=Path, metavar="DIR", help=where)
    parser.add_argument("--processes", type=int, metavar="N", help="runs side by side (default: one per core)")
    found = parser.parse_args(arguments)
    folder = found.out or (Path(QUICK_OUT) if found.quick else PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    return Options(found.quick, folder, found.processes)


def draw_figure(figure: str, about: str | None, arguments: Sequence[str] | None = None) -> None:
    """Reproduce a figure of `packenv.studies`, print its claims, and write FIGURE.png."""
    options = options_of(about, arguments)
    began = time.perf_counter()
    finding = reproduce(figure, Settings(quick=options.quick, runs=RunOptions(options.processes)))
    picture = options.folder / f"{figure}.png"
    with atomic_path(picture) as temporary:
        finding.draw(temporary)
    print(finding.title)
    for line in (*finding.notes, *map(str, finding.claims)):
        print(line)
    print(f"{os.path.relpath(picture)}, {time.perf_counter() - began:.0f} s")
