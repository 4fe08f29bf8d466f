"""Options that the scripts of this folder share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PICTURES = Path(__file__).resolve().parent / "pictures"
QUICK_OUT = "out"


@dataclass(frozen=True)
class Options:
    """Of a script."""

    quick: bool
    folder: Path
    processes: int | None
    figures: tuple[str, ...] = ()


def options_of(about: str | None, arguments: Sequence[str] | None = None, figures: Sequence[str] = ()) -> Options:
    """Read --quick, --out and --processes, and names of `figures` where there are any; make the folder of the picture."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    if figures:
        parser.add_argument("figures", nargs="+", choices=figures, metavar="FIGURE", help=", ".join(figures))
    parser.add_argument("--quick", action="store_true", help="shorter runs and fewer seeds: a first look, not a result")
    where = f"folder of the picture (default: experiments/pictures; {QUICK_OUT} with --quick)"
    parser.add_argument("--out", type=Path, metavar="DIR", help=where)
    parser.add_argument("--processes", type=int, metavar="N", help="runs side by side (default: one per core)")
    options = parser.parse_args(arguments)
    folder = options.out or (Path(QUICK_OUT) if options.quick else PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    return Options(options.quick, folder, options.processes, tuple(options.figures if figures else ()))
