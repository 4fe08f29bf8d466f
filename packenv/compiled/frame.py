"""Frames: many arrays passed to compiled code as one pointer.

Numba passes a tuple of arrays field by field: for the sixty arrays of a cluster, hundreds of arguments at every call. That takes
microseconds from Python, and most of the compile time. A Frame has a buffer with the data, shape and strides of each array, one
64-bit word each. Compiled code gets the buffer's address, and reads a field when it uses it. The compiler may assume that
arrays do not move. Compiled code can assign to integer fields, which must not be negative.

The words of a frame with an array (rows, places), an integer, and another frame, in the order of its fields:

    | 0 | 0 | items | item size | data | rows | places | row stride | place stride | integer | words of the other frame … |
    '--------- array, HEADER ---------' '---- shape ---' '-------- strides -------' '-- 1 --'
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.numpy_support import as_dtype, from_dtype
from numpy.typing import NDArray

WORD = 8  # bytes
HEADER = 5  # words of an array before its shape and strides: owner, parent, items, item size, data


class Frame:
    """Named arrays, integers and frames (or NamedTuples), in annotated order."""

    def __init__(self, **fields: Any) -> None:
        kind: Any = type(self)  # mypy does not accept a class as hashable
        self._fields = _names_of(kind)
        if fields.keys() != set(self._fields):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self._fields)}")
        words: list[int] = []
        layout = []
        for name in self._fields:
            setattr(self, name, fields[name])
            layout.append(_append_words(fields[name], words))
        self._words = np.array(words, dtype=np.int64)
        self._address = int(self._words.ctypes.data)
        self._numba_type_ = _type_of_layout(kind, tuple(layout))  # Numba looks here first
        _remember(kind, self._numba_type_)

    def replace(self, **changes: Any) -> Self:
        return type(self)(**self._now() | changes)

    def point(self, name: str, array: NDArray[Any], address: int | None = None) -> None:
        """Replace an array field, from the next compiled call on.

        array    of the same shape and type, else TypeError
        address  of its data, if known
        """
        old = getattr(self, name)
        if array.shape != old.shape or array.dtype != old.dtype or not array.flags.c_contiguous:
            raise TypeError(f"{name} must be a contiguous array like the one that it replaces")
        setattr(self, name, array)
        self._words[self._numba_type_.fields[name][1] + 4] = array.ctypes.data if address is None else address

    def assign(self, name: str, value: int) -> None:
        """Set an integer field everywhere, or raise ValueError if negative."""
        setattr(self, name, value)
        self._words[self._numba_type_.fields[name][1]] = _natural_number(value)

    def assigned(self, name: str) -> int:
        """Return an integer field as compiled code assigned it."""
        return int(self._words[self._numba_type_.fields[name][1]])

    def __reduce__(self) -> Any:
        """Pickle and copy by fields, since a copy's arrays move."""
        return _frame_of, (type(self), self._now())

    def _now(self) -> dict[str, Any]:
        """Return the fields, with integers from compiled code."""
        kinds = self._numba_type_.fields
        return {name: _as_in_words(getattr(self, name), *kinds[name], self._words) for name in self._fields}


def _frame_of(kind: type[Frame], fields: dict[str, Any]) -> Frame:
    return kind(**fields)


class FrameType(types.Type):
    """Numba's frame type: field types, and offsets in words."""

    def __init__(self, fields: tuple[tuple[str, types.Type, int], ...]) -> None:
        self.fields = {name: (kind, offset) for name, kind, offset in fields}
        self.has_integers = any(kind is types.int64 or getattr(kind, "has_integers", False) for _, kind, _ in fields)
        super().__init__(name=f"Frame({hashlib.sha256(repr(fields).encode()).hexdigest()[:16]})")


@functools.cache
def _names_of(kind: Any) -> tuple[str, ...]:
    return tuple(name for base in reversed(kind.__mro__) for name in vars(base).get("__annotations__", {}))


def _append_words(value: Any, words: list[int]) -> Hashable:
    """Append a value's words to a buffer, and return its layout."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise TypeError("arrays of a frame must be contiguous")
        words += [0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides]
        return value.dtype, value.ndim
    if isinstance(value, Frame):
        words += value._words.tolist()
        return value._numba_type_, len(value._words)
    if hasattr(value, "_fields"):
        before = len(words)
        kind: Any = type(value)
        numba_type = _type_of_layout(kind, tuple([_append_words(part, words) for part in value]))
        _remember(kind, numba_type)
        return numba_type, len(words) - before
    words.append(_natural_number(value))
    return None


@functools.cache
def _type_of_layout(kind: Any, layout: tuple[Any, ...]) -> FrameType:
    """Return a frame's or NamedTuple's type from its layout.

    Per field: None for an integer, (dtype, dimensions) for an array, (type, length in words) for a part.
    """
    fields, offset = [], 0
    names = _names_of(kind) if issubclass(kind, Frame) else kind._fields
    for name, field in zip(names, layout, strict=True):
        if field is None:
            field_type, length = types.int64, 1
        elif isinstance(field[0], FrameType):
            field_type, length = field
        else:
            dtype, dimensions = field
            field_type, length = types.Array(from_dtype(dtype), dimensions, "C", aligned=True), HEADER + 2 * dimensions
        fields.append((name, field_type, offset))
        offset += length
    return _type_of_fields(tuple(fields))


def _as_in_words(value: Any, kind: types.Type, offset: int, words: NDArray[np.int64]) -> Any:
    """Return a field's value with integers from `words`."""
    if kind is types.int64:
        return int(words[offset])
    if not getattr(kind, "has_integers", False):
        return value
    fields = {name: _as_in_words(getattr(value, name), part, offset + k, words) for name, (part, k) in kind.fields.items()}
    return type(value)(**fields)


def _natural_number(value: int) -> int:
    if value < 0:
        raise ValueError(f"integers of a frame are never negative, to compiled code: {value}")
    return int(value)


_types: dict[type, set[types.Type]] = {}


_settled: set[type] = set()
"""Classes for which functions have been compiled that take every value of theirs to be of one type."""


def _remember(kind: type, numba_type: types.Type) -> None:
    remembered = _types.setdefault(kind, set())
    if kind in _settled and numba_type not in remembered:
        raise TypeError(f"{kind.__name__} is compiled with other fields, or fields of other types, than this one has")
    remembered.add(numba_type)


def compiled_type(kind: type) -> types.Type:
    """Fix and return this class's one type, or raise TypeError."""
    candidates = _types.get(kind, set())
    if len(candidates) != 1:
        raise TypeError(f"{kind.__name__} has {len(candidates)} compiled types, not one")
    _settled.add(kind)
    return next(iter(candidates))


def only_type(kind: type) -> types.Type | None:
    """Return this class's one type so far, or None."""
    candidates = _types.get(kind, set())
    return next(iter(candidates)) if len(candidates) == 1 else None


@functools.cache
def _type_of_fields(fields: tuple[tuple[str, types.Type, int], ...]) -> FrameType:
    return FrameType(fields)


@typeof_impl.register(Frame)
def _type_of_frame(frame: Frame, context: Any) -> types.Type:
    return frame._numba_type_


register_model(FrameType)(models.OpaqueModel)


@unbox(FrameType)
def _unbox_frame(typ: Any, frame: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(frame, "_address")
    word = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    return NativeValue(c.builder.inttoptr(word, cgutils.voidptr_t))


@infer_getattr
class FrameAttributes(AttributeTemplate):
    key = FrameType

    def generic_resolve(self, frame: Any, name: str) -> types.Type | None:
        return frame.fields[name][0] if name in frame.fields else None


@lower_getattr_generic(FrameType)
def _get_field(context: Any, builder: Any, typ: Any, frame: Any, name: str) -> Any:
    kind, offset = typ.fields[name]
    if isinstance(kind, FrameType):
        return cgutils.pointer_add(builder, frame, offset * WORD, cgutils.voidptr_t)
    if not isinstance(kind, types.Array):
        return _natural(builder, builder.load(_word_at(builder, frame, offset, ir.IntType(64))))
    array = context.make_array(kind)(context, builder)
    data = array.data.type
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    array.nitems = _constant_word(builder, frame, offset + 2)
    array.itemsize = context.get_constant(types.intp, as_dtype(kind.dtype).itemsize)
    array.data = builder.inttoptr(_constant_word(builder, frame, offset + 4), data)
    extents = [_constant_word(builder, frame, offset + HEADER + k) for k in range(2 * kind.ndim)]
    array.shape = cgutils.pack_array(builder, extents[: kind.ndim])
    array.strides = cgutils.pack_array(builder, extents[kind.ndim :])
    return array._getvalue()


@lower_setattr_generic(FrameType)
def _set_field(context: Any, builder: Any, signature: Any, args: Any, name: str) -> None:
    typ, value_type = signature.args
    kind, offset = typ.fields[name]
    word = context.cast(builder, args[1], value_type, kind)
    builder.store(word, _word_at(builder, args[0], offset, ir.IntType(64)))


def _natural(builder: Any, word: Any) -> Any:
    """Mark a word as >= 0, to avoid negative-index code."""
    word.set_metadata("range", builder.module.add_metadata([word.type(0), word.type(2**63 - 1)]))
    return word


def _word_at(builder: Any, frame: Any, offset: int, kind: Any) -> Any:
    return cgutils.pointer_add(builder, frame, offset * WORD, kind.as_pointer())


def _constant_word(builder: Any, frame: Any, offset: int) -> Any:
    """Load a word that stays constant, into a register."""
    word = _natural(builder, builder.load(_word_at(builder, frame, offset, ir.IntType(64))))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word
