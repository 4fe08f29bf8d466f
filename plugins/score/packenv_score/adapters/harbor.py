"""Harbor: the last line of a task's `tests/test.sh`.

    python -m packenv_score.adapters.harbor /app/policy.py [SUITE] [/logs/verifier]

It writes the reward of the agent's program to `reward.txt` and `reward.json`. The reward is the score as a share: 0 for the
reference and anything worse, 1 for the bound. Harbor copies the tests in after the agent ends, so the test side is scored.
"""

from __future__ import annotations

import sys
from pathlib import Path

from packenv.extend import InputError, atomic_path, write_json
from packenv_score.score import score


def main(program: str, suite: str = "one-resource", folder: str = "/logs/verifier") -> None:
    """Score the program on the test side. Write the reward."""
    result = score(program, suite=suite, test=True)
    Path(folder).mkdir(parents=True, exist_ok=True)
    reward = max(0.0, result.value / 100)
    write_json(Path(folder) / "reward.json", {"reward": reward})
    with atomic_path(Path(folder) / "reward.txt") as path:
        path.write_text(f"{reward:.6f}\n")
    print(result.table())


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except InputError as problem:
        sys.exit(f"packenv: {problem}")
