"""`python -m tests.campaign`: all parts, or those named, for so many seconds in all."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.campaign.commands import try_commands
from tests.campaign.disks import fill_disks
from tests.campaign.kills import LONG, kill_commands
from tests.campaign.large import read_large
from tests.campaign.pairs import run_pairs
from tests.campaign.readers import watch

SHARES = {"files": 0.3, "commands": 0.25, "kills": 0.3, "disks": 0.1, "pairs": 0.05, "large": 0.0}
"""Parts, and the share of the time that each may take; `large` takes as long as it takes and runs only when it is named."""


def main() -> int:
    """Run the campaign; the status is 1 if anything failed."""
    words = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    words.add_argument("parts", nargs="*", metavar="|".join(SHARES), help="default: all but large")
    words.add_argument("--seconds", type=float, default=600)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--processes", type=int, default=2, help="of the readers")
    words.add_argument("--commands", type=int, default=100_000, help="random command lines at most")
    words.add_argument("--kills", type=int, default=100_000, help="of each long command at most")
    words.add_argument("--only", nargs="*", default=tuple(LONG), choices=tuple(LONG), help="long commands to kill")
    words.add_argument("--size", type=float, default=1.0, help="of the large inputs: 0.01 is a hundredth")
    words.add_argument("--out", type=Path, default=Path("out/campaign"))
    given = words.parse_args()
    out = given.out.resolve()
    run: dict[str, Callable[[float], object]] = {
        "files": lambda seconds: watch(seconds, given.processes, given.seed, out),
        "commands": lambda seconds: try_commands(given.commands, seconds, given.seed, out),
        "kills": lambda seconds: kill_commands(given.kills, seconds, given.seed, out, tuple(given.only)),
        "disks": lambda seconds: fill_disks(seconds, out),
        "pairs": lambda seconds: run_pairs(1, seconds, out),
        "large": lambda seconds: read_large(out, given.size),
    }
    parts = given.parts or [part for part, share in SHARES.items() if share]
    if unknown := [part for part in parts if part not in run]:
        words.error(f"unknown part {unknown[0]}")
    whole = sum(SHARES[part] for part in parts) or 1.0
    for part in parts:
        begun = time.monotonic()
        print(f"{part}: {dict(run[part](given.seconds * SHARES[part] / whole))}", flush=True)  # type: ignore[call-overload]
        print(f"  in {time.monotonic() - begun:.0f} s", flush=True)
    failed = len([*out.glob("*failures/*.txt"), *out.glob("files/*.txt")])
    print(f"{failed} failures below {out}" if failed else "nothing failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
