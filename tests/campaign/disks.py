"""Full disks and folders that cannot be written to: one line says so, and nothing half-written is left."""

from __future__ import annotations

import shlex
import shutil
import time
from collections import Counter
from pathlib import Path

from tests.campaign.failures import Failures
from tests.campaign.processes import problems, run

READ_ONLY = "/sys"  # for everybody, root included
SIZES = (0, 100, 1_000, 20_000)  # bytes after which the disk is full
EVALUATE = "evaluate paper/fig4b -p bf-js --slots 2000 --processes 1"
WRITING = {
    "schedule": f"{EVALUATE} --schedule {{}}/out.parquet",
    "json": f"{EVALUATE} --json {{}}/out.json",
    "plot": f"{EVALUATE} --plot {{}}/out.png",
    "tensorboard": f"{EVALUATE} --tensorboard {{}}/board",
    "log": "judge paper/fig3a -p bf-js --seeds 1 --width 0.3 --log {}/log",
    "convert": "trace convert slots.csv {}/out.parquet",
    "convert csv": "trace convert slots.csv {}/out.csv.gz",
    "profile": "trace profile seconds.csv --out {}/out.json",
    "certificate": "capacity paper/fig3a --certificate {}/out.json",
    "bound": "bound paper/fig3a --certificate {}/out.json",
    "plan": "plan slots.csv -g 'p50 wait <= 9' -p bf-js --servers 9 --json {}/out.json --plot {}/out.png",
    "optimal-policy": "optimal-policy small/fig3a --most 2 --slots 1000 --seeds 1 --out {}/own --json {}/out.json",
    "reproduce": "reproduce fig2 --out {}/out",
    "logdir": "train paper/fig3a --rate 0.014 --samples 2000 --horizon 500 --judge-every 0 --logdir {}/runs",
}
ROWS = "".join(f"{n},0.{n % 9 + 1},{n % 50 + 1}\n" for n in range(3000))
TIMED = "".join(f"{n},{n % 50 + 1},0.{n % 9 + 1}\n" for n in range(300))


def fill_disks(seconds: float, out: Path) -> Counter[str]:
    """Every option that writes, on full disks and in a folder that is read-only; the cache of machine code too."""
    counts, failures, ends = Counter[str](), Failures(out / "disks-failures"), time.monotonic() + seconds
    cases: list[tuple[str, int | None]] = [(name, size) for size in (None, *SIZES) for name in WRITING]
    for name, size in cases:
        if time.monotonic() > ends:
            break
        folder = out / "disk"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "slots.csv").write_text(f"arrival,size,service\n{ROWS}")
        (folder / "seconds.csv").write_text(f"submit_time_s,duration_s,cpu\n{TIMED}")
        line = WRITING[name].format(READ_ONLY if size is None else ".")
        ended = run(shlex.split(line), folder, 120, largest_file=size)
        found = [*problems(ended), *_half_written(folder)]
        found += ["no word about a folder that is read-only"] if size is None and ended.status == 0 else []
        counts["read-only" if size is None else "full"] += 1
        for problem in found:
            counts["failures"] += 1
            where = "a folder that is read-only" if size is None else f"a disk that is full after {size} bytes"
            failures.add(f"{name} on {where}: {problem}", f"packenv {line}", ended.said[-3000:])
    for cache in (READ_ONLY, "/dev/null", "/proc/none"):
        ended = run(EVALUATE.split(), _folder(out), 300, PACKENV_CACHE=cache)
        counts["cache"] += 1
        for problem in problems(ended):
            counts["failures"] += 1
            failures.add(f"cache in {cache}: {problem}", f"PACKENV_CACHE={cache} packenv {EVALUATE}", ended.said[-3000:])
    return counts


def _folder(out: Path) -> Path:
    (out / "disk").mkdir(parents=True, exist_ok=True)
    return out / "disk"


def _half_written(folder: Path) -> list[str]:
    """Temporary files that were left, and results that are cut short."""
    found = [f"{path.name} is left" for path in folder.rglob(".*") if path.is_file()]
    for path in folder.rglob("out.*"):
        data = path.read_bytes()
        whole = {".json": data.endswith(b"\n"), ".parquet": data.endswith(b"PAR1"), ".png": data.endswith(b"IEND\xaeB`\x82")}
        if not whole.get(path.suffix, len(data) > 0):
            found.append(f"{path.name} is half-written")
    return found
