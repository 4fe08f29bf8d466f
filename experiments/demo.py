"""`make demo`: three policies on large jobs at 92 % of the area bound. VQS falls behind, best fit holds, an agent does better.

Eight seeds of 10^6 slots, the same jobs for all three.
"""

import shlex
from collections.abc import Sequence

from experiments.script_options import options_of
from packenv.cli.main import main as packenv

POLICIES = ("vqs", "bf-js", "agent:fig4b")
SLOTS, QUICK_SLOTS = 1_000_000, 100_000


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    command = ["evaluate", "paper/fig4b", "--intensity", "0.92", *(word for name in POLICIES for word in ("-p", name))]
    command += ["--slots", str(QUICK_SLOTS if options.quick else SLOTS), "--seeds", "8"]
    if options.processes:
        command += ["--processes", str(options.processes)]
    picture = options.folder / "demo.png"
    command += ["--plot", str(picture)]
    print(f"$ packenv {shlex.join(command)}", flush=True)
    packenv(command)
    print(f"The picture: {picture}")
    print("Next: source .venv/bin/activate; packenv evaluate TRACE.csv --servers 10 (your own trace), or packenv list")


if __name__ == "__main__":
    main()
