"""Mutated files through the readers, thousands a second, in processes of their own that are watched from outside."""

from __future__ import annotations

import argparse
import json
import os
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
from types import FrameType
from typing import Any

from packenv.errors import InputError
from tests.campaign.corpus import Kind, kinds_in, make_corpus
from tests.campaign.failures import Failures, place_of
from tests.campaign.mutations import CANARY, Edit, draw_edits, mutate, smallest
from tests.campaign.processes import GB, LONGEST_SILENCE, MOST_MEMORY, environment, processor_time
from tests.campaign.tables import odd_table

UNPICKLED = "pickle.find_class"
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect", UNPICKLED)
EXECUTED = "executed"
ODD_TABLES = 0.3  # share of Parquet inputs that are tables with other columns, and not damaged bytes
REPORT_EVERY = 100
STATE = "state.json"


class Executed(BaseException):
    """Reading a file did something that only a command of the user's may do."""


def watch(seconds: float, processes: int, seed: int, out: Path) -> Counter[str]:
    """Run `processes` readers for so long, and one anew in place of any that hangs or ends. Returns counts."""
    make_corpus(out / "corpus")
    failures, counts, ends = Failures(out / "files"), Counter[str](), time.monotonic() + seconds
    running: list[Watched] = []
    while time.monotonic() < ends or running:
        while len(running) < processes and time.monotonic() < ends:
            running.append(Watched(out, seed, ends - time.monotonic(), failures.folder))
            seed += 1
        time.sleep(1)
        for reader in [*running]:
            if reader.hangs():
                reader.process.kill()
                failures.add(f"a reader hangs: {reader.said()['reading']}", "see the folder of the reader", str(reader.folder))
            elif reader.process.poll():
                failures.add(f"a reader ended with status {reader.process.returncode}", "see what it said", str(reader.folder))
            if reader.process.poll() is not None:
                counts += Counter(reader.said()["counts"])
                running.remove(reader)
    return counts


class Watched:
    """A process that reads mutated files in a folder of its own."""

    def __init__(self, out: Path, seed: int, seconds: float, failures: Path) -> None:
        self.folder = out / f"reader-{seed}"
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(out / "corpus", self.folder / "corpus")
        self.state = self.folder / STATE
        words = [str(word) for word in (self.folder, seed, seconds, failures)]
        with (self.folder / "said.txt").open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.campaign.readers", *words],
                env=environment(self.folder),
                stderr=said,
                start_new_session=True,
            )
        self.last, self.used = 0.0, 0.0

    def said(self) -> dict[str, Any]:
        """What the process has written about itself."""
        return json.loads(self.state.read_text()) if self.state.exists() else {"reading": "nothing yet", "counts": {}}

    def hangs(self) -> bool:
        """Whether it has used more processor time for its last REPORT_EVERY files than it may use for one."""
        changed = self.state.stat().st_mtime if self.state.exists() else 0.0
        if changed != self.last:
            self.last, self.used = changed, processor_time(self.process.pid)
        return self.last > 0 and processor_time(self.process.pid) - self.used > LONGEST_SILENCE


def read_mutated(folder: Path, seed: int, seconds: float, kept: Path) -> None:
    """Read mutated files below `folder` for so long. Ends early where the memory is above its limit."""
    kinds = kinds_in(folder / "corpus")
    original = {kind.name: kind.path.read_bytes() for kind in kinds}
    failures, counts, state = Failures(kept), Counter[str](), folder / STATE
    forbid_execution()
    ends, n = time.monotonic() + seconds, 0
    parent = os.getppid()
    while time.monotonic() < ends and os.getppid() == parent:
        chance = random.Random(f"{seed} {n}")
        kind = chance.choice(kinds)
        if n % REPORT_EVERY == 0:
            state.write_text(json.dumps({"reading": kind.name, "counts": counts}))
        n += 1
        edits = _write_mutated(kind, original[kind.name], chance)
        problem = attempt(kind)
        counts["read" if problem == "" else "refused" if problem is None else "failures"] += 1
        if problem:
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
        if event.startswith(FORBIDDEN) and not (event == UNPICKLED and _reads_cache()):
            raise Executed(f"{event} {arguments!r}")

    sys.addaudithook(hook)


def _reads_cache() -> bool:
    """Whether machine code of the user's own cache is being read."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not frame.f_code.co_filename.endswith(("numba/core/caching.py", "packenv/compiled/cache.py")):
        frame = frame.f_back
    return frame is not None


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
