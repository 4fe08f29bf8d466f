"""The table of fields: shape and handling of each array.

    class Cluster(Frame):
        fresh: Annotated[NDArray[np.int32], Field("clusters", "places")]  # one row of the table

Each array of a state declares its row in its annotation: dimensions, first value, the orders (packenv.policy) without which it
stays empty, and whether it survives growth and resets. `allocate`, `resized`, `reset_rows` and `one_row` read the rows. So a
new array of a state takes one line in its class.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.frame import Frame
from packenv.compiled.intrinsics import aligned_zeros

Sizes = Mapping[str, int]
"""The length of each named dimension."""

Start = int | float | Mapping[str, int] | Callable[[NDArray[Any]], None]
"""A value, values of a record's fields (0 for the others), or a function that writes the first values into zeros."""

AnyFrame = TypeVar("AnyFrame", bound=Frame)


class Field:
    """The row of one array, "clusters" first if per cluster."""

    def __init__(
        self,
        *shape: str | int,
        start: Start = 0,
        records: np.dtype[Any] | None = None,  # the type of a structured array
        orders: int = 0,  # without these its second dimension is 0
        rebuilt: bool = False,  # when the pool grows, it is made new and then refilled; otherwise its contents are kept
        scratch: bool = False,  # holds nothing from one call to the next, so a reset leaves it alone
    ) -> None:
        self.shape, self.start, self.records, self.orders = shape, start, records, orders
        self.rebuilt, self.scratch = rebuilt, scratch

    @property
    def of_cluster(self) -> bool:
        return bool(self.shape) and self.shape[0] == "clusters"

    def is_absent(self, orders: int) -> bool:
        return orders & self.orders != self.orders

    def shape_for(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(size if isinstance(size, int) else sizes[size] for size in self.shape)

    def make(self, kind: Any, sizes: Sizes, orders: int) -> NDArray[Any]:
        shape = self.shape_for(sizes)
        if self.is_absent(orders):
            shape = (shape[0], 0, *shape[2:])
        array = aligned_zeros(shape, self.records or _dtype_of(kind))
        if callable(self.start):
            self.start(array)
        elif isinstance(self.start, Mapping):
            for name, value in self.start.items():
                array[name] = value
        elif self.start != 0:
            array[...] = self.start
        return array


@functools.cache
def _dtype_of(kind: Any) -> np.dtype[Any]:
    """Return the dtype, the innermost argument of an NDArray annotation."""
    while arguments := get_args(kind):
        kind = arguments[-1]
    return np.dtype(kind)


class Part:
    """The row of a frame within a state.

    sizes     computes its dimensions from the state's dimensions and the orders; default: the state's dimensions
    of_table  whether it belongs to the table of jobs, which may differ between the clusters of a batch
    """

    def __init__(self, sizes: Callable[[Sizes, int], Sizes] | None = None, of_table: bool = False) -> None:
        self.own_sizes, self.of_table = sizes, of_table

    def sizes(self, around: Sizes, orders: int) -> Sizes:
        return around if self.own_sizes is None else self.own_sizes(around, orders)


def table_of(kind: type[Frame]) -> dict[str, tuple[Any, Field | Part]]:
    """Return the type and row of each array and part."""
    key: Any = kind  # mypy does not accept a class as hashable
    return _table_of(key)


@functools.cache
def _table_of(kind: Any) -> dict[str, tuple[Any, Field | Part]]:
    hints = get_type_hints(kind, include_extras=True)
    rows = {name: (get_args(hint)[0], get_args(hint)[1]) for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    return {name: row for name, row in rows.items() if isinstance(row[1], Field | Part)}


def allocate(kind: type[AnyFrame], sizes: Sizes, orders: int = 0, /, **values: Any) -> AnyFrame:
    """Return a state of the given values and new arrays."""
    for name, (hint, row) in table_of(kind).items():
        if name not in values:
            if isinstance(row, Field):
                values[name] = row.make(hint, sizes, orders)
            else:
                values[name] = allocate(hint, row.sizes(sizes, orders), orders)
    return kind(**values)


def sizes_of(frame: Frame, orders: int = 0) -> dict[str, int]:
    """Return the named dimensions that a state's arrays show."""
    sizes: dict[str, int] = {}
    for name, (_, row) in table_of(type(frame)).items():
        if isinstance(row, Field):
            for k, (dimension, size) in enumerate(zip(row.shape, getattr(frame, name).shape, strict=True)):
                if isinstance(dimension, str) and not (k == 1 and row.is_absent(orders)):
                    sizes[dimension] = size
        elif row.own_sizes is None:
            sizes |= sizes_of(getattr(frame, name), orders)
    return sizes


def resized(frame: AnyFrame, orders: int = 0, **sizes: int) -> AnyFrame:
    """Return a larger state, with `rebuilt` arrays empty."""
    return _resized(frame, sizes_of(frame, orders) | sizes, orders)


def _resized(frame: AnyFrame, sizes: Sizes, orders: int) -> AnyFrame:
    changes: dict[str, Any] = {}
    for name, (hint, row) in table_of(type(frame)).items():
        old = getattr(frame, name)
        if isinstance(row, Part):
            part = _resized(old, row.sizes(sizes, orders), orders)
            if part is not old:
                changes[name] = part
        elif not row.is_absent(orders) and (row.rebuilt or row.shape_for(sizes) != old.shape):
            changes[name] = row.make(hint, sizes, orders)
            if not row.rebuilt:
                changes[name][tuple(slice(size) for size in old.shape)] = old
    return frame.replace(**changes) if changes else frame


def row_arrays(frame: Frame) -> list[NDArray[Any]]:
    """Return the arrays that determine a cluster's future, in order."""
    arrays = []
    for name, (_, row) in table_of(type(frame)).items():
        value = getattr(frame, name)
        if isinstance(row, Part):
            arrays += row_arrays(value)
        elif row.of_cluster and not row.scratch:
            arrays.append(value)
    return arrays


def reset_rows(frame: Frame, rows: Any, fresh: Frame) -> None:
    """Copy the single cluster of `fresh` to these rows."""
    for array, first in zip(row_arrays(frame), row_arrays(fresh), strict=True):
        array[rows] = first[0]


def one_row(frame: AnyFrame, row: int, of_table: AnyFrame) -> AnyFrame:
    """Return a cluster as views, with shared fields from `of_table`."""
    changes: dict[str, Any] = {}
    for name, (_, entry) in table_of(type(frame)).items():
        value = getattr(frame, name)
        if isinstance(entry, Part):
            if not entry.of_table:
                changes[name] = one_row(value, row, value)
        elif entry.of_cluster:
            changes[name] = value[row : row + 1]
    return of_table.replace(**changes)
