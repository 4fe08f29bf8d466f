"""A leaderboard open to all, by replays on fresh seeds.

    python -m packenv_score.submissions submissions [--time 60] [--only NAME]

A submission is NAME.json next to its program or agent. Agents are data: their weights are read, and none of their code runs.

    {"candidate": "pairs.py", "suite": "one-resource", "score": 12.1, "half": 1.4, "by": "who", "link": "where it is described"}

`score` and `half` come from `packenv score pairs.py --test`. The replay uses the suite's test side with unseen jobs. A submission
is refused if it has a fault, or if its replayed score is worse by more than both half-widths together. The table has the
replayed scores. Ends with 1 if one is refused.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

from packenv.extend import InputError, estimate, finite_number, number, read_json
from packenv_score.result import Score
from packenv_score.score import score

KEYS = {"candidate": str, "suite": str, "by": str}


class Submission(NamedTuple):
    """A candidate's submitted score."""

    name: str
    candidate: str
    suite: str
    score: float
    half: float
    by: str


def read_submission(path: Path) -> Submission:
    """Read a submission. Raises InputError, naming file and key."""
    plain = read_json(path)
    for key, kind in KEYS.items():
        if not isinstance(plain, dict) or not isinstance(plain.get(key), kind):
            raise InputError(f"{path}: a submission has {', '.join(KEYS)}, score and half; {key} is a text")
    try:
        value, half = (finite_number(plain.get(key)) for key in ("score", "half"))
    except ValueError as problem:
        raise InputError(f"{path}: score and half are numbers: {problem}") from None
    text = plain["candidate"]
    file = path.parent / text.removeprefix("agent:")
    if text.endswith(".py") and file.is_file():
        candidate = str(file)
    elif text.startswith("agent:") and file.with_suffix(".safetensors").is_file():
        candidate = f"agent:{file}"
    else:
        raise InputError(f"{path}: candidate must be a .py file, or agent: and saved weights, in its folder, not {text!r}")
    return Submission(path.stem, candidate, plain["suite"], value, half, plain["by"])


def refusal(submission: Submission, replayed: Score) -> str | None:
    """Return why the submission is refused, or None."""
    if replayed.fault is not None:
        return replayed.fault
    allowed = ((replayed.half or 0.0) ** 2 + submission.half**2) ** 0.5
    if submission.score - replayed.value > allowed:
        claimed = estimate(submission.score, submission.half)
        return f"{claimed} was submitted, {estimate(replayed.value, replayed.half)} comes out"
    return None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--time", type=float, default=60.0, metavar="S", help="seconds for each")
    parser.add_argument("--only", metavar="NAME", help="this submission alone")
    options = parser.parse_args(arguments)
    files = sorted(options.folder.glob("*.json" if options.only is None else f"{options.only}.json"))
    if not files:
        print(f"submissions: no submission in {options.folder}", file=sys.stderr)
        return 2
    rows: list[tuple[Any, ...]] = []
    for path in files:
        try:
            submission = read_submission(path)
            replayed = score(submission.candidate, suite=submission.suite, test=True, time=options.time)
        except InputError as problem:
            print(f"submissions: {problem}", file=sys.stderr)
            return 2
        rows.append((submission, replayed, refusal(submission, replayed)))
    rows.sort(key=lambda row: (row[0].suite, row[2] is not None, -row[1].value))
    print("| suite | submission | by | score | lines | |\n|---|---|---|--:|--:|---|")
    for submission, replayed, why in rows:
        shown = estimate(replayed.value, replayed.half) if replayed.fault is None else number(replayed.value)
        lines = "–" if replayed.lines is None else replayed.lines
        cells = (submission.suite, submission.name, submission.by, shown, lines, f"refused: {why}" if why else "")
        print(f"| {' | '.join(map(str, cells))} |")
    return 1 if any(why for *_, why in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
