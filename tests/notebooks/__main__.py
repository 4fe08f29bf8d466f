"""`python -m tests.notebooks examples/NAME.ipynb …`: run notebooks anew, and store what they print and draw."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import nbformat

from packenv.files import atomic_path
from tests.notebooks.running import cleaned, executed, read


def main() -> int:
    """Store the outputs of the notebooks named; the status is 1 if a cell of one fails, which is then left as it is."""
    words = argparse.ArgumentParser(prog="python -m tests.notebooks", description=__doc__)
    words.add_argument("notebooks", nargs="+", type=Path)
    failed = False
    for path in words.parse_args().notebooks:
        with tempfile.TemporaryDirectory() as folder:
            found = executed(read(path), Path(folder))
        outputs = [(n, output) for n, cell in enumerate(found.cells, 1) for output in cell.get("outputs", [])]
        errors = [f"{path}, cell {n}: {o.ename}: {o.evalue}" for n, o in outputs if o.output_type == "error"]
        if errors:
            failed = True
            print(*errors, sep="\n", file=sys.stderr)
            continue
        with atomic_path(path) as temporary:
            nbformat.write(cleaned(found), temporary)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
