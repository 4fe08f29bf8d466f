"""Past durations of pods by owner, from CSV or JSON.

CSV has the columns `owner` and `seconds`, JSON a list of objects with both.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from packenv.extend import InputError, Law, Memory, counted, excerpt, first_bytes, lines_of, read_json, read_number, reading
from packenv_kubernetes.objects import Pod
from packenv_kubernetes.owners import OwnerTimes, central

Floats = NDArray[np.float64]

COLUMNS = "owner", "seconds"
PER_ROW = 300  # bytes of memory
BORDER = re.compile(r"[-/]")
FEWEST, MOST_CHECKED = 40, 200
"""Least number of rows for a check, and largest number of rows checked."""


@dataclass(frozen=True, eq=False)
class Durations:
    """Rows of a file in its order, the earliest first."""

    source: str
    owners: tuple[str, ...]  # (K,) names: of a namespace, a controller or a pod, or how it begins
    owner: NDArray[np.int64]  # (rows,) number of the owner
    seconds: Floats  # (rows,)

    @cached_property
    def number(self) -> dict[str, int]:
        return {name: n for n, name in enumerate(self.owners)}

    def owner_of(self, pod: Pod) -> int | None:
        """Return the longest owner to begin a pod's or its controller's name.

        The namespace may be missing.
        """
        texts = [text for name in (pod.owner, pod.name) if name for text in (name, name.partition("/")[2])]
        # Each name, and its beginnings up to hyphens or slashes.
        starts = [start for text in texts for start in (text, *(text[: border.start()] for border in BORDER.finditer(text)))]
        owners = [start for start in starts if start in self.number]
        return self.number[max(owners, key=len)] if owners else None

    def times(self, waiting: Sequence[Pod], running: Sequence[Pod], age: Floats, slot_seconds: float) -> OwnerTimes:
        """Return assumed times in service of these pods, `age` (running,) in slots."""
        pods = [*waiting, *running]
        numbers = [self.owner_of(pod) for pod in pods]
        name = [pod.owner or pod.name if n is None else self.owners[n] for pod, n in zip(pods, numbers, strict=True)]
        groups = {owner: n for n, owner in enumerate(dict.fromkeys(name))}
        number_of = dict(zip(name, numbers, strict=True))
        group = np.array([-1 if pod.endless else groups[owner] for pod, owner in zip(pods, name, strict=True)], np.int64)
        slots = self.seconds / slot_seconds
        return OwnerTimes(
            values=tuple(np.sort(slots[self.owner == n]) for n in range(len(self.owners))),
            waiting=group[: len(waiting)],
            running=group[len(waiting) :],
            age=age,
            owner=tuple(number_of.values()),
            keys=tuple(crc32(owner.encode()) for owner in groups),
        )

    def notes(self, pods: Sequence[Pod]) -> tuple[str, ...]:
        """Return lines on sources and accuracy of durations, for ending pods."""
        owned = sum(self.owner_of(pod) is not None for pod in pods if not pod.endless)
        strange = sum(not pod.endless for pod in pods) - owned
        name = Path(self.source).name
        line = f"{name}: {counted(len(self.seconds), 'duration')} of {counted(len(self.owners), 'owner')}; "
        have = "has" if owned == 1 else "have"
        line += f"{counted(owned, 'pod')} {have} those of {'its' if owned == 1 else 'their'} owner, "
        return line + f"{strange} those of an owner that is drawn", self.trust()

    def trust(self) -> str:
        """Return later rows in earlier ones' 80 % interval, of MOST_CHECKED."""
        rows = len(self.seconds)
        if rows < FEWEST:
            return f"{Path(self.source).name}: too few durations for a check; with {FEWEST} there is one"
        checked = np.unique(np.linspace(rows // 2, rows - 1, MOST_CHECKED).astype(np.int64))
        held = 0
        for row in checked:
            before = self.seconds[:row]
            low, high = central(np.sort(before[self.owner[:row] == self.owner[row]]), np.sort(before))
            held += bool(low <= self.seconds[row] <= high)
        share = held / len(checked)
        return f"of {len(checked)} held-back durations {share:.0%} fell in the 80% interval that earlier ones give"


def are_drawn(service: Law | Sequence[Law] | Durations | None) -> bool:
    """Return whether times in service differ between seeds."""
    if isinstance(service, Durations):
        return True
    laws = () if service is None else (service,) if isinstance(service, Law) else service
    return len({end for law in laws for end in law.support()}) > 1


def is_durations(path: str) -> bool:
    """Return whether a JSON or CSV file has durations by owner.

    Every trace has three columns or more.
    """
    if path.endswith(".json"):
        return not Path(path).is_file() or first_bytes(Path(path), 64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    if not path.endswith((".csv", ".csv.gz")) or not Path(path).is_file():
        return False
    header = next(csv.reader(lines_of(Path(path))), [])
    return set(COLUMNS) <= set(header) or 0 < len(header) < 3


def read_durations(path: str) -> Durations:
    """Read a file's durations. Raises InputError, naming file and row."""
    rows = _of_json(path) if path.endswith(".json") else _of_csv(path)
    owners: dict[str, int] = {}
    owner, seconds = [], []
    for where, name, text in rows:
        try:
            amount = read_number(text)
        except InputError as problem:
            raise InputError(f"{path}: {where}: seconds: {problem}") from None
        if not (name and amount > 0):
            raise InputError(f"{path}: {where}: " + ("seconds must be above 0" if name else "owner is empty"))
        owner.append(owners.setdefault(name, len(owners)))
        seconds.append(amount)
    if not seconds:
        raise InputError(f"{path}: no durations in it")
    return Durations(path, tuple(owners), np.array(owner, np.int64), np.array(seconds))


def _of_csv(path: str) -> Iterable[tuple[str, str, str]]:
    memory = Memory(path)
    with reading(path):
        rows = csv.DictReader(lines_of(Path(path)))
        names = rows.fieldnames or ()
        if not set(COLUMNS) <= set(names):
            raise InputError(f"{path}: columns {', '.join(names)}; durations need the columns {', '.join(COLUMNS)}")
        for number, row in enumerate(rows, 2):
            memory.reserve(PER_ROW)
            yield f"row {number}", (row["owner"] or "").strip(), row["seconds"] or ""


def _of_json(path: str) -> Iterable[tuple[str, str, str]]:
    rows: Any = read_json(path)
    if not isinstance(rows, list):
        raise InputError(f'{path}: a list of objects such as {{"owner": "team/train", "seconds": 3600}} is expected')
    for number, row in enumerate(rows, 1):
        if not (isinstance(row, dict) and isinstance(row.get("owner"), str) and isinstance(row.get("seconds"), (int, float))):
            raise InputError(f"{path}: item {number}: {excerpt(str(row))} has no owner, a text, and seconds, a number")
        yield f"item {number}", row["owner"].strip(), str(row["seconds"])
