"""Frames: many arrays passed to compiled code as one pointer.

Numba passes a tuple of arrays field by field: for the sixty arrays of a cluster that is hundreds of arguments at every
call, microseconds from Python, and most of the compile time. A Frame has a buffer with what compiled code needs of each array
(data, shape, strides: one 64-bit word each), and compiled code gets the buffer's address. It reads a field when it uses it;
the compiler may assume that arrays do not move. Compiled code can assign to integer fields, which must not be negative.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from itertools import pairwise
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
    """A value of named arrays, integers and other frames (or NamedTuples), made from its annotated fields in order."""

    def __init__(self, **fields: Any) -> None:
        names = [name for kind in reversed(type(self).__mro__) for name in vars(kind).get("__annotations__", {})]
        if set(names) != set(fields):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(names)}")
        self._fields = tuple(names)
        for name in names:
            setattr(self, name, fields[name])
        self._words = np.array([word for name in names for word in _words(fields[name])], dtype=np.int64)
        self._address = int(self._words.ctypes.data)
        self._numba_type_ = _frame_type(self)  # Numba looks here first

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return type(self)(**self._now() | changes)

    def point(self, name: str, array: NDArray[Any], address: int | None = None) -> None:
        """Replace an array field by another array of the same shape and type, from the next compiled call on.

        `address` is the address of its data, if known. Raises TypeError for another shape or type.
        """
        old = getattr(self, name)
        if array.shape != old.shape or array.dtype != old.dtype or not array.flags.c_contiguous:
            raise TypeError(f"{name} must be a contiguous array like the one that it replaces")
        setattr(self, name, array)
        self._words[self._numba_type_.fields[name][1] + 4] = array.ctypes.data if address is None else address

    def assign(self, name: str, value: int) -> None:
        """Set an integer field, for Python and for compiled code. Raises ValueError if negative."""
        setattr(self, name, value)
        self._words[self._numba_type_.fields[name][1]] = _natural_number(value)

    def assigned(self, name: str) -> int:
        """The value of an integer field in compiled code, which may have assigned to it without changing Python's attribute."""
        return int(self._words[self._numba_type_.fields[name][1]])

    def __reduce__(self) -> Any:
        """Pickle and copy by the fields: a copy's arrays have other addresses."""
        return _frame_of, (type(self), self._now())

    def _now(self) -> dict[str, Any]:
        """The fields, with integers as compiled code has assigned them."""
        return {name: _as_in_words(getattr(self, name), iter(words)) for name, words in self._words_by_field()}

    def _words_by_field(self) -> list[tuple[str, list[int]]]:
        offsets = [self._numba_type_.fields[name][1] for name in self._fields] + [len(self._words)]
        return [(name, self._words[a:b].tolist()) for name, (a, b) in zip(self._fields, pairwise(offsets), strict=True)]


def _frame_of(kind: type[Frame], fields: dict[str, Any]) -> Frame:
    return kind(**fields)


class FrameType(types.Type):
    """Numba's type of a frame: the fields' types and their offsets, in words."""

    def __init__(self, fields: tuple[tuple[str, types.Type, int], ...]) -> None:
        self.fields = {name: (kind, offset) for name, kind, offset in fields}
        super().__init__(name=f"Frame({hashlib.sha256(repr(fields).encode()).hexdigest()[:16]})")


def _parts(value: Any) -> list[tuple[str, Any]] | None:
    """The named fields of a frame or NamedTuple; None for other values."""
    names = getattr(value, "_fields", None)
    return None if names is None else [(name, getattr(value, name)) for name in names]


def _words(value: Any) -> list[int]:
    """The words of a value in the buffer."""
    if isinstance(value, Frame):
        return value._words.tolist()
    parts = _parts(value)
    if parts is not None:
        return [word for _, part in parts for word in _words(part)]
    if isinstance(value, np.ndarray):
        return [0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides]
    return [_natural_number(value)]


def _as_in_words(value: Any, words: Iterator[int]) -> Any:
    """A value with the integers that the next words have in their places."""
    parts = _parts(value)
    if parts is not None:
        fields = {name: _as_in_words(part, words) for name, part in parts}
        return type(value)(**fields)
    if isinstance(value, np.ndarray):
        for _ in range(HEADER + 2 * value.ndim):
            next(words)
        return value
    return next(words)


def _natural_number(value: int) -> int:
    if value < 0:
        raise ValueError(f"integers of a frame are never negative, to compiled code: {value}")
    return int(value)


def _frame_type(value: Any) -> types.Type:
    known: types.Type | None = getattr(value, "_numba_type_", None)
    if known is not None:
        return known
    parts = _parts(value)
    if parts is not None:
        fields, offset = [], 0
        for name, part in parts:
            fields.append((name, _frame_type(part), offset))
            offset += part._words.size if isinstance(part, Frame) else len(_words(part))
        found = _type_of_fields(tuple(fields))
        _remember(type(value), found)
        return found
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise TypeError("arrays of a frame must be contiguous")
        return _array_type(value.dtype, value.ndim)
    return types.int64


_types: dict[type, set[types.Type]] = {}


_settled: set[type] = set()
"""Classes for which functions have been compiled that take every value of theirs to be of one type."""


def _remember(kind: type, found: types.Type) -> None:
    known = _types.setdefault(kind, set())
    if kind in _settled and found not in known:
        raise TypeError(f"{kind.__name__} is compiled with other fields, or fields of other types, than this one has")
    known.add(found)


def compiled_type(kind: type) -> types.Type:
    """The type of all values of this class, from now on too. Raises TypeError if those so far are not of one type."""
    found = _types.get(kind, set())
    if len(found) != 1:
        raise TypeError(f"{kind.__name__} has {len(found)} compiled types, not one")
    _settled.add(kind)
    return next(iter(found))


@functools.cache
def _type_of_fields(fields: tuple[tuple[str, types.Type, int], ...]) -> types.Type:
    return FrameType(fields)


@functools.cache
def _array_type(dtype: np.dtype[Any], dimensions: int) -> types.Type:
    return types.Array(from_dtype(dtype), dimensions, "C", aligned=True)


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
    """Mark a word as never negative, so that no code is made for indices counted from the end."""
    word.set_metadata("range", builder.module.add_metadata([word.type(0), word.type(2**63 - 1)]))
    return word


def _word_at(builder: Any, frame: Any, offset: int, kind: Any) -> Any:
    return cgutils.pointer_add(builder, frame, offset * WORD, kind.as_pointer())


def _constant_word(builder: Any, frame: Any, offset: int) -> Any:
    """Load a word that never changes while compiled code runs, so that the compiler may keep it in a register."""
    word = _natural(builder, builder.load(_word_at(builder, frame, offset, ir.IntType(64))))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word
