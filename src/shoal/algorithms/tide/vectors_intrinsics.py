"""The machine code of `algorithms.tide.vectors`. It loads the compiler."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic

from shoal.algorithms.tide.vectors import ENTRIES

_LANES = 32


def _vector(call: Any, start: Any, lanes: int) -> Any:
    """The entries of the first argument from `start` on, and their type."""
    context, builder, signature, arguments = call
    kind = context.get_value_type(signature.args[0].dtype)
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    place = builder.bitcast(builder.gep(array.data, [start]), ir.VectorType(kind, lanes).as_pointer())
    return builder.load(place, align=signature.args[0].dtype.bitwidth // 8)


def _broadcast(builder: Any, value: Any, lanes: int) -> Any:
    int32 = ir.IntType(32)
    first = builder.insert_element(ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined), value, int32(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(int32, lanes), [0] * lanes))


def _at_most(builder: Any, kind: Any, left: Any, right: Any) -> Any:
    if isinstance(kind, types.Float):
        return builder.fcmp_ordered("<=", left, right)
    return (builder.icmp_signed if kind.signed else builder.icmp_unsigned)("<=", left, right)


@intrinsic
def up_to(typing_context: Any, array: Any, start: Any, limit: Any) -> Any:
    """Bit i: array[start + i] <= limit, for 64 entries."""

    def build(*call: Any) -> Any:
        _, builder, signature, (_, start, limit) = call
        found = _at_most(builder, signature.args[0].dtype, _vector(call, start, ENTRIES), _broadcast(builder, limit, ENTRIES))
        return builder.bitcast(found, ir.IntType(ENTRIES))

    return types.uint64(array, types.int64, array.dtype), build


@intrinsic
def least(typing_context: Any, array: Any, entries: Any) -> Any:
    """The smallest of the first `entries` numbers, a multiple of 32 and not 0; none is NaN."""

    def build(*call: Any) -> Any:
        _, builder, signature, (_, entries) = call
        kind = signature.args[0].dtype
        word, int32 = ir.IntType(64), ir.IntType(32)

        def smaller(left: Any, right: Any) -> Any:
            return builder.select(_at_most(builder, kind, left, right), left, right)

        found = cgutils.alloca_once_value(builder, _vector(call, word(0), _LANES))
        with cgutils.for_range(builder, builder.sdiv(entries, word(_LANES))) as loop:
            known = builder.load(found)
            builder.store(smaller(_vector(call, builder.mul(loop.index, word(_LANES)), _LANES), known), found)
        lanes = builder.load(found)
        half = _LANES // 2
        while half:
            order = [(i + half) % _LANES for i in range(_LANES)]
            turned = builder.shuffle_vector(lanes, lanes, ir.Constant(ir.VectorType(int32, _LANES), order))
            lanes, half = smaller(lanes, turned), half // 2
        return builder.extract_element(lanes, int32(0))

    return array.dtype(array, types.int64), build
