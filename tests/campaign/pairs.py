"""Two processes at once on every file that commands share: the log of runs, the cache of machine code, one output."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.campaign.failures import Failures
from tests.campaign.kills import contents
from tests.campaign.processes import problems, run


class Shared(NamedTuple):
    """Two command lines, and the file that both write."""

    first: str
    second: str
    file: str
    own_cache: bool = False  # both compile into one new cache


PAIRS = {
    "log": Shared(
        "judge paper/fig3a -p bf-js --seeds 1 --width 0.2 --log log --json a.json",
        "judge paper/fig3a -p fifo-ff --seeds 1 --width 0.2 --log log --json b.json",
        "log",
    ),
    "the same runs in one log": Shared(
        "judge paper/fig3a -p bf-js --seeds 1 --width 0.2 --log log --json a.json",
        "judge paper/fig3a -p bf-js --seeds 1 --width 0.2 --log log --json b.json",
        "log",
    ),
    "output": Shared(
        "evaluate paper/fig4b -p bf-js --slots 2000 --processes 1 --json out.json",
        "evaluate paper/fig4b -p vqs --slots 2000 --processes 1 --json out.json",
        "out.json",
    ),
    "cache": Shared(
        "evaluate paper/fig4b -p bf-js --slots 2000 --processes 1 --json a.json",
        "evaluate paper/fig4b -p bf-js --slots 2000 --processes 1 --json b.json",
        "a.json",
        own_cache=True,
    ),
    "training": Shared(
        "train paper/fig3a --rate 0.014 --samples 3000 --horizon 500 --judge-every 0 --name run --resume",
        "train paper/fig3a --rate 0.014 --samples 3000 --horizon 500 --judge-every 0 --name run --resume",
        "runs/run/agent.json",
    ),
}


def run_pairs(rounds: int, seconds: float, out: Path) -> Counter[str]:
    """Run each pair side by side so many times, as far as the time goes. Returns counts."""
    counts, failures, ends = Counter[str](), Failures(out / "pairs-failures"), time.monotonic() + seconds
    for _ in range(rounds):
        for name, pair in PAIRS.items():
            if time.monotonic() > ends:
                return counts
            folder = out / "pair"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            variables = {"PACKENV_CACHE": str(folder / "cache")} if pair.own_cache else {}
            with ThreadPoolExecutor(2) as pool:
                both = [pool.submit(run, line.split(), folder, 600, **variables) for line in (pair.first, pair.second)]
            ended = [one.result() for one in both]
            found = [problem for one in ended for problem in problems(one)]
            found += damaged(folder / pair.file)
            found += _different(folder) if name in ("the same runs in one log", "cache") else []
            counts[name] += 1
            for problem in found:
                counts["failures"] += 1
                failures.add(f"two at once, {name}: {problem}", f"packenv {pair.first} & packenv {pair.second}", ended[0].said)
    return counts


def damaged(path: Path) -> list[str]:
    """What is wrong with a file of JSON, or of a line of JSON each."""
    try:
        text = path.read_text()
        for part in [text] if path.suffix == ".json" else text.splitlines():
            json.loads(part)
    except OSError:
        return [f"{path.name} is lost"]
    except ValueError:
        return [f"{path.name} is half-written"]
    return []


def _different(folder: Path) -> list[str]:
    return [] if contents(folder / "a.json") == contents(folder / "b.json") else ["two answers to the same question"]
