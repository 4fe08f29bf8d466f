"""SkyDiscover: `evaluate.sh PROGRAM train|test` prints one JSON object.

#!/bin/sh
exec python -m packenv_score.adapters.skydiscover "$@"
"""

from __future__ import annotations

import json
import sys

from packenv.extend import InputError
from packenv_score.score import score


def main(program: str, side: str = "train", suite: str = "one-resource") -> None:
    """Score the program on one side of the suite."""
    result = score(program, suite=suite, test=side == "test")
    metrics = {"combined_score": result.value, "low": result.score.low, "high": result.score.high, "seconds": result.seconds}
    print(
        json.dumps(
            {
                "status": "success" if result.correct else "error",
                "combined_score": result.value,
                "metrics": {key: value for key, value in metrics.items() if value is not None},
                "artifacts": {"feedback": "\n".join(result.artifacts), "error": result.fault or ""},
            }
        )
    )


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except (InputError, TypeError) as problem:
        sys.exit(f"packenv: {problem}" if isinstance(problem, InputError) else "evaluate.sh PROGRAM [train|test] [SUITE]")
