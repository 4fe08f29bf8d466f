"""ShinkaEvolve: the task's `evaluate.py`.

    python -m packenv_score.adapters.shinka --program_path P --results_dir D [--suite NAME]

Writes `metrics.json` (combined_score, public, private, text_feedback) and `correct.json` (correct, error). The model does not see
`private`: the interval and the seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from packenv.extend import write_json
from packenv_score.score import score


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m packenv_score.adapters.shinka")
    parser.add_argument("--program_path", required=True)
    parser.add_argument("--results_dir", required=True)
    parser.add_argument("--suite", default="one-resource")
    parser.add_argument("--time", type=float, default=60.0)
    asked = parser.parse_args()
    result = score(asked.program_path, suite=asked.suite, time=asked.time)
    folder = Path(asked.results_dir)
    folder.mkdir(parents=True, exist_ok=True)
    metrics = {
        "combined_score": result.value,
        "public": {case.case: case.ratio.mean for case in result.cases},
        "private": {"low": result.score.low, "high": result.score.high, "seconds": result.seconds},
        "text_feedback": "\n".join(result.artifacts),
    }
    write_json(folder / "metrics.json", metrics)
    write_json(folder / "correct.json", {"correct": result.correct, "error": result.fault})


if __name__ == "__main__":
    main()
