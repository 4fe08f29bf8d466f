"""GPU needs of a trace's rows, from amounts and accepted kinds.

A row needs a part of one GPU, or whole ones.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.numbers import quantity_of
from packenv.jobs import MILLI, MOST_DEVICES, NO_MODEL
from packenv.workloads.traces.columns import Columns, decimals

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NEAR = 1e-6  # of a thousandth


def can_be_devices(gpus: Floats) -> NDArray[np.bool_]:
    """Mark amounts (n,) that are thousandths of one GPU, or whole ones."""
    milli = np.nan_to_num(gpus) * MILLI
    return np.asarray((np.abs(milli - np.rint(milli)) < NEAR) & ((milli <= MILLI) | (np.rint(milli) % MILLI == 0)))


def gpu_needs(columns: Columns, amounts: str, kinds: str) -> tuple[Ints, tuple[str, ...]]:
    """Return `Jobs.devices` (n, 3) and kind names, from two columns.

    Empty amounts are 0, empty kinds all. Raises InputError.
    """
    gpus = np.nan_to_num(decimals(columns, amounts, quantity_of))
    columns.require(gpus >= 0, amounts, "{} is negative")
    columns.require(can_be_devices(gpus), amounts, "{} GPUs: a part is of one GPU, in thousandths; several are whole ones")
    accepted, names = columns.kinds(kinds) if kinds in columns else (np.zeros(len(gpus), np.int64), ())
    return np.column_stack([of_gpus(gpus), accepted]), names


def of_gpus(gpus: Floats) -> Ints:
    """Return numbers and shares (n, 2), 0 for whole GPUs."""
    milli = np.rint(np.nan_to_num(gpus) * MILLI).astype(np.int64)
    return np.stack([np.where(milli < MILLI, np.sign(milli), milli // MILLI), np.where(milli < MILLI, milli, 0)], axis=1)


def gpus_of_nodes(columns: Columns, number: str, model: str) -> tuple[Ints, tuple[str, ...]]:
    """Return `Servers.devices` (L, 3) and kind names, or raise InputError."""
    gpus = columns.whole(number)
    columns.require(gpus >= 0, number, "{} is negative")
    columns.require(gpus <= MOST_DEVICES, number, f"{{}} are more GPUs than a server can have, {MOST_DEVICES}")
    kind, names = columns.texts(model) if model in columns else (np.full(len(gpus), NO_MODEL), ())
    if len(names) > MOST_DEVICES:
        raise InputError(f"{columns.path}: column {model}: {len(names)} kinds; at most {MOST_DEVICES} are possible")
    return np.stack([gpus, np.full(len(gpus), MILLI), np.where(gpus > 0, kind, NO_MODEL)], axis=1), names


def names_of_nodes(columns: Columns, name: str) -> tuple[str, ...]:
    """Return a column of unique names (L,), () without one."""
    names = tuple(columns.column(name).cast(pa.string()).to_pylist()) if name in columns else ()
    return () if None in names or len({*names}) < len(names) else names
