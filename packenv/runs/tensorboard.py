"""Runs for TensorBoard: an event file for each workload and policy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from packenv.errors import InputError
from packenv.files import atomic_path, check_folder_writable, make_folder
from packenv.results.event_file import INSTALL, EventFile, new_event_path, tensorboard_is_installed
from packenv.runs.measured import Measured, mean_path, scalar_measures

MISSING = f"--tensorboard: TensorBoard is not installed; {INSTALL}"
Scalar = tuple[str, int, float]  # name, step (slot), value


def check_tensorboard(folder: str | None) -> None:
    """Raise InputError unless TensorBoard and the folder can be used.

    None: no folder is wanted.
    """
    if folder is None:
        return
    if not tensorboard_is_installed():
        raise InputError(MISSING)
    check_folder_writable(folder)


def write_tensorboard(folder: str, workload: str, policy: str, runs: Sequence[Measured]) -> Path:
    """Write a policy's means as a TensorBoard run, return its folder."""
    place = free_folder(Path(folder) / plain_name(workload.split("/")[-1]) / plain_name(policy))
    make_folder(place)
    try:
        write_events(place, [*scalars_of(runs)])
    except InputError:
        place.rmdir()
        raise
    return place


def scalars_of(runs: Sequence[Measured]) -> Iterator[Scalar]:
    """Yield the queue over time, then means of whole runs at the last slot.

    Training uses the same names.
    """
    for end, queue, size in zip(*mean_path(runs), strict=True):
        yield "cluster/mean queue", int(end), float(queue)
        yield "cluster/waiting size", int(end), float(size)
    last = max(run.slots for run in runs)
    for measure in scalar_measures():
        values = [run.values[measure.key] for run in runs]
        if not isinstance(values[0], list):
            yield from _mean(measure.scalar, last, values)
            continue
        for r, column in enumerate(zip(*values, strict=True)):
            yield from _mean(measure.scalar + (f" of resource {r}" if len(values[0]) > 1 else ""), last, column)


def _mean(name: str, step: int, values: Sequence[float | None]) -> Iterator[Scalar]:
    sample = [value for value in values if value is not None]
    if sample:
        yield name, step, float(np.mean(sample))


def write_events(folder: Path, scalars: Sequence[Scalar]) -> None:
    """Write one event file, visible when complete."""
    with atomic_path(new_event_path(folder)) as temporary, EventFile(temporary) as events:
        for name, step, value in scalars:
            events.scalar(name, value, step)


def free_folder(folder: Path) -> Path:
    """Return the folder, or the first new one of NAME-2, NAME-3, …"""
    place, number = folder, 1
    while place.exists():
        number += 1
        place = folder.with_name(f"{folder.name}-{number}")
    return place


def plain_name(text: str) -> str:
    """Return a folder's name: `vqs J=4` for `vqs:J=4`, hyphens for slashes."""
    return re.sub(r"\s+", " ", re.sub(r'[:*?"<>|]', " ", re.sub(r"[/\\]+", "-", text))).strip(" .-") or "run"
