"""Every long command is killed at random moments: what it wrote is whole, and started again it gives the same answer."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tests.campaign.failures import Failures
from tests.campaign.processes import problems, run


class Long(NamedTuple):
    """A command, and what it writes: JSON that is compared (without times), and a log of what it has done."""

    line: str
    result: str = "out.json"


SHORT_RUN = "--evaluation-slots 1000 --evaluation-seeds 1 --checkpoint-every 1000 --judge-every 0"
LONG = {
    "evaluate": Long("evaluate paper/fig4b -p bf-js -p vqs --slots 100000 --seeds 4 --json out.json"),
    "judge": Long("judge paper/fig3a -p bf-js --seeds 2 --width 0.2 --log log --json out.json"),
    "leaderboard": Long(
        "leaderboard -w paper/fig4b@0.8 -p bf-js -p vqs --slots 50000 --seeds 4 --no-judge --log log --json out.json"
    ),
    "train": Long(
        f"train paper/fig3a --rate 0.014 --samples 4000 --horizon 500 {SHORT_RUN} --name run --resume", "runs/run/agent.json"
    ),
    "optimum": Long("optimum paper/fig4b --slots 150 --limit 2 --workers 1 -p bf-js --json out.json"),
    "reproduce": Long("reproduce fig3a --quick --slots 2000 --seeds 1 --json out.json"),
}
ANYTIME = ("seconds", "tasks_per_second", "command", "commit", "measured", "samples_per_second", "progress", "history")
"""Keys whose values depend on the machine's speed."""
TIMED = ("optimum", "train")  # what is found within a time limit, or by threads, may differ


def kill_commands(kills: int, seconds: float, number: int, out: Path, names: tuple[str, ...] = tuple(LONG)) -> Counter[str]:
    """Kill each long command so many times, as far as the time goes; compare what it gives when it is left alone at last."""
    chance, counts, failures = random.Random(number), Counter[str](), Failures(out / "kills-failures")
    whole: dict[str, tuple[float, Any]] = {}
    ends = time.monotonic() + seconds
    for n in range(kills):
        for name in names:
            if time.monotonic() > ends:
                return counts
            if name not in whole:
                whole[name] = _alone(name, out, failures)
            counts[name] += 1
            counts["failures"] += _kill(name, n, chance, whole[name], out, failures)
    return counts


def _alone(name: str, out: Path, failures: Failures) -> tuple[float, Any]:
    """How long the command takes, and what it writes, when nothing happens to it."""
    folder = _empty(out / f"alone-{name}")
    ended = run(LONG[name].line.split(), folder, 600)
    for problem in problems(ended):
        failures.add(f"{name}, left alone: {problem}", f"packenv {LONG[name].line}", ended.said[-3000:])
    return ended.seconds, contents(folder / LONG[name].result)


def _kill(name: str, n: int, chance: random.Random, whole: tuple[float, Any], out: Path, failures: Failures) -> int:
    folder, words = out / f"kill-{name}", LONG[name].line.split()
    if n % 4 == 0 or not folder.exists():
        _empty(folder)
    how = chance.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
    after = chance.random() * whole[0]
    found = problems(run(words, folder, 600, (after, how)), killed=True)
    found += [f"{path.name} is half-written" for path in folder.rglob("*.json") if contents(path) is None]
    if n % 4 == 3:
        ended = run(words, folder, 600)
        found += [f"again: {problem}" for problem in problems(ended)]
        same = name in TIMED or contents(folder / LONG[name].result) == whole[1]
        found += [] if same else ["another answer after a kill"]
    for problem in found:
        failures.add(f"{name}, {how.name}: {problem}", f"packenv {LONG[name].line}", f"{how.name} after {after:.2f} s")
    return len(found)


def contents(path: Path) -> Any:
    """The JSON in a file without what depends on the machine's speed; None if there is none, or it is damaged."""
    try:
        return _timeless(json.loads(path.read_text()))
    except (OSError, ValueError):
        return None


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key not in ANYTIME}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
