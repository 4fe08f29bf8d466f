"""Pictures of the papers' figures as the docs show them, with the claims that their runs show.

`packenv reproduce` writes the tables too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from experiments.finding import Settings
from experiments.reproduce import FIGURES, finding_of
from experiments.script_options import options_of
from packenv.files import atomic_path
from packenv.runs.runner import RunOptions


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments, [*FIGURES])
    for figure in options.figures:
        began = time.perf_counter()
        finding = finding_of(figure, Settings(quick=options.quick, runs=RunOptions(options.processes)))
        picture = options.folder / f"{figure}.png"
        with atomic_path(picture) as temporary:
            finding.save_picture(temporary)
        print(finding.title)
        for line in (*finding.notes, *map(str, finding.claims)):
            print(line)
        print(f"{os.path.relpath(picture)}, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
