"""`make demo`: three policies on large jobs at 92 % of the area bound. VQS falls behind, best fit holds, an agent does better.

Eight seeds of 10^6 slots, the same jobs for all three.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

from experiments.script_options import options_of
from packenv.cli.main import main as packenv

POLICIES = ("vqs", "bf-js", "agent:fig4b")
SLOTS, QUICK_SLOTS = 1_000_000, 100_000


def command(quick: bool, picture: str | Path) -> list[str]:
    """The words of the comparison behind `packenv`."""
    words = ["evaluate", "paper/fig4b", "--intensity", "0.92", *(word for name in POLICIES for word in ("-p", name))]
    return [*words, "--slots", str(QUICK_SLOTS if quick else SLOTS), "--seeds", "8", "--plot", str(picture)]


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    picture = options.folder / "demo.png"
    words = command(options.quick, picture) + (["--processes", str(options.processes)] if options.processes else [])
    print(f"$ packenv {shlex.join(words)}", flush=True)
    packenv(words)
    print(f"The picture: {picture}")
    print("Next: source .venv/bin/activate; packenv evaluate TRACE.csv --servers 10 (your own trace), or packenv list")


if __name__ == "__main__":
    main()
