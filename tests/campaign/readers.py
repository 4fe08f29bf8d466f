"""Mutated files through the readers, thousands a second, in processes of their own that are watched from outside."""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from packenv.errors import InputError
from tests.campaign.corpus import Kind, kinds_in, make_corpus
from tests.campaign.failures import Failures, place_of
from tests.campaign.mutations import CANARY, Edit, draw_edits, mutate, smallest
from tests.campaign.processes import GB, LONGEST_SILENCE, MOST_MEMORY, environment
from tests.campaign.tables import odd_table

FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect", "pickle.find_class")
EXECUTED = "executed"
ODD_TABLES = 0.3  # share of Parquet inputs that are tables with other columns, and not damaged bytes
REPORT_EVERY = 100


class Executed(BaseException):
    """Reading a file did something that only a command of the user's may do."""


def watch(seconds: float, processes: int, seed: int, out: Path) -> Counter[str]:
    """Run `processes` readers for so long, and one anew in place of any that hangs or ends. Returns counts."""
    make_corpus(out / "corpus")
    ends = time.monotonic() + seconds
    failures, running, started, counts = Failures(out / "files"), {}, 0, Counter[str]()
    while time.monotonic() < ends or running:
        while len(running) < processes and time.monotonic() < ends:
            folder = out / f"reader-{seed}-{started}"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(out / "corpus", folder / "corpus")
            words = [
                sys.executable,
                "-m",
                "tests.campaign.readers",
                str(folder),
                str(seed + started),
                str(ends - time.monotonic()),
            ]
            running[folder] = subprocess.Popen([*words, str(failures.folder)], env=environment(folder), start_new_session=True)
            started += 1
        time.sleep(1)
        for folder, process in [*running.items()]:
            state = folder / "state.json"
            silent = state.exists() and time.time() - state.stat().st_mtime > LONGEST_SILENCE + REPORT_EVERY / 10
            if silent and process.poll() is None:
                process.kill()
                process.wait()
                failures.add(
                    f"a reader hangs: {json.loads(state.read_text())['reading']}", "see the folder of the reader", str(folder)
                )
            if process.poll() is not None:
                counts += Counter(json.loads(state.read_text())["counts"]) if state.exists() else Counter(died=1)
                if process.returncode and not silent:
                    failures.add(f"a reader ended with status {process.returncode}", "see what it said", str(folder))
                del running[folder]
    return counts


def read_mutated(folder: Path, seed: int, seconds: float, kept: Path) -> None:
    """Read mutated files below `folder` for so long. Ends early where the memory is above its limit."""
    kinds = kinds_in(folder / "corpus")
    original = {kind.name: kind.path.read_bytes() for kind in kinds}
    failures, counts, state = Failures(kept), Counter[str](), folder / "state.json"
    forbid_execution()
    ends, n = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        chance = random.Random(f"{seed} {n}")
        kind = chance.choice(kinds)
        if n % REPORT_EVERY == 0:
            state.write_text(json.dumps({"reading": kind.name, "counts": counts}))
        n += 1
        edits = _write_mutated(kind, original[kind.name], chance)
        problem = attempt(kind)
        counts[problem or "refused" if problem != "" else "read"] += 1
        if problem:
            counts["failures"] += 1
            _keep(failures, kind, original[kind.name], edits, problem)
        for path in (kind.path, kind.path.with_suffix(".json")):
            if (name := path.name) in original:
                path.write_bytes(original[name])
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > MOST_MEMORY:
            failures.add(f"{kind.name}: more than {MOST_MEMORY / GB:g} GB", kind.command, repr(edits))
            break
    state.write_text(json.dumps({"reading": "", "counts": counts}))


def attempt(kind: Kind) -> str | None:
    """Read the file: "" if it was read, None if it was refused with an InputError, otherwise what went wrong."""
    try:
        kind.read(kind.path)
    except InputError:
        found = None
    except (Exception, Executed, SystemExit) as error:
        return f"{kind.name}: {place_of(error)}\n{traceback.format_exc()}"
    else:
        found = ""
    return f"{kind.name}: {EXECUTED}" if Path(CANARY).exists() else found


def forbid_execution() -> None:
    """From now on raise Executed where this process starts another one, connects to one, or unpickles anything."""

    def hook(event: str, arguments: Sequence[Any]) -> None:
        if event.startswith(FORBIDDEN):
            raise Executed(f"{event} {arguments!r}")

    sys.addaudithook(hook)


def _write_mutated(kind: Kind, data: bytes, chance: random.Random) -> list[Edit]:
    if kind.path.suffix == ".parquet" and chance.random() < ODD_TABLES:
        kind.path.write_bytes(data)
        odd_table(kind.path, chance, kind.path)
        return []
    edits = draw_edits(chance)
    kind.path.write_bytes(mutate(data, edits, kind.path.suffix == ".gz"))
    return edits


def _keep(failures: Failures, kind: Kind, data: bytes, edits: list[Edit], problem: str) -> None:
    """Keep a failure with as few edits as show it."""
    what, _, details = problem.partition("\n")
    if what in failures.seen:
        return

    def fails(fewer: Sequence[Edit]) -> bool:
        kind.path.write_bytes(mutate(data, fewer, kind.path.suffix == ".gz"))
        return (attempt(kind) or "").partition("\n")[0] == what

    if edits:
        fails(edits := smallest(edits, fails))
    failures.add(what, kind.command, f"{edits}\n{details}", kind.path)


if __name__ == "__main__":
    words = argparse.ArgumentParser()
    words.add_argument("folder", type=Path)
    words.add_argument("seed", type=int)
    words.add_argument("seconds", type=float)
    words.add_argument("kept", type=Path)
    given = words.parse_args()
    read_mutated(given.folder, given.seed, given.seconds, given.kept)
