"""Asking memory for the next cluster's rows while this one is stepped: in a large batch most of a step is waiting for them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from packenv.compile import inlined
from packenv.envs.state import Batch

CACHE_LINE = 64  # bytes


def _fetching(lines: int) -> Any:
    """A compiled function (array, row) that has the first cache lines of a row of an array brought near."""

    def fetch(typing_context: Any, array: Any, row: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            found = context.make_array(array)(context, builder, args[0])
            stride = cgutils.unpack_tuple(builder, found.strides)[0]
            start = cgutils.pointer_add(builder, found.data, builder.mul(stride, args[1]), cgutils.voidptr_t)
            word = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
            prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            for n in range(lines):
                line = cgutils.pointer_add(builder, start, n * CACHE_LINE, cgutils.voidptr_t)
                builder.call(prefetch, [line, word(1), word(3), word(1)])  # to be written, to be kept, data
            return context.get_dummy_value()

        return types.void(array, types.intp), codegen

    return intrinsic(fetch)


one_line, two_lines, four_lines, eight_lines = (_fetching(lines) for lines in (1, 2, 4, 8))


@inlined
def prefetch(b: Batch, e: int) -> None:
    """Ask for what every step of a small cluster touches. A hint: for other clusters it is merely incomplete."""
    c = b.c
    four_lines(c.head, e)
    two_lines(b.turn, e)
    two_lines(b.passage, e)
    four_lines(c.server, e)
    two_lines(c.wheel_bits, e)
    one_line(c.source.stream, e if c.source.stream.shape[0] > 1 else 0)
    eight_lines(c.sizes.keys, e)
    four_lines(c.sizes.items, e)
    one_line(c.sizes.count, e)
    one_line(c.sizes.storage, e)
    four_lines(c.types.queue, e)
    one_line(c.types.bound, e)
    four_lines(c.types.in_service, e)
    one_line(c.due, e)
    one_line(c.fresh, e)
