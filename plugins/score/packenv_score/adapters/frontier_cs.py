"""Frontier-CS: the last line of a problem's `evaluate.sh`.

python -m packenv_score.adapters.frontier_cs solution.py [SUITE]

The score is the last number on standard output, from 0 to 100.
"""

from __future__ import annotations

import sys

from packenv.extend import InputError
from packenv_score.score import score


def main(program: str, suite: str = "one-resource") -> None:
    """Print the test score, and the table to standard error."""
    result = score(program, suite=suite, test=True)
    print(result.table(), file=sys.stderr)
    print(f"{max(0.0, result.value):.4f}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except InputError as problem:
        sys.exit(f"packenv: {problem}")
