"""Single machine instructions, and short loops in registers, that numba does not generate itself. No bounds are checked."""

from __future__ import annotations

import math
import os
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic

from shoal.compiled import COLUMNS, COPIED, ENTRIES

_WORD, _INT, _DOUBLES = ir.IntType(64), ir.IntType(32), ir.VectorType(ir.DoubleType(), COLUMNS)


def _array(call: Any, number: int) -> Any:
    """An array argument; `call` holds the arguments of `build`: context, builder, signature, arguments."""
    context, builder, signature, arguments = call
    return context.make_array(signature.args[number])(context, builder, arguments[number])


def _pointer(call: Any, number: int, index: Any, kind: Any = None) -> Any:
    """A pointer to array[index], cast to a pointer to `kind` if given."""
    place = call[1].gep(_array(call, number).data, [index])
    return place if kind is None else call[1].bitcast(place, kind.as_pointer())


def _broadcast(builder: Any, value: Any, size: int) -> Any:
    """A vector with this value in every element."""
    first = builder.insert_element(ir.Constant(ir.VectorType(value.type, size), ir.Undefined), value, _INT(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(_INT, size), [0] * size))


def _at_most(builder: Any, kind: Any, left: Any, right: Any) -> Any:
    """left <= right, for numbers of this kind."""
    if isinstance(kind, types.Float):
        return builder.fcmp_ordered("<=", left, right)
    return (builder.icmp_signed if kind.signed else builder.icmp_unsigned)("<=", left, right)


@intrinsic
def popcount(typing_context: Any, bits: Any) -> Any:
    """The number of 1 bits in a 64-bit word."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.ctpop(arguments[0]), _WORD)

    return types.int64(types.uint64), build


@intrinsic
def first_one(typing_context: Any, bits: Any) -> Any:
    """The index of the lowest 1 bit in a 64-bit word, which must not be 0."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), build


@intrinsic
def float_of(typing_context: Any, bits: Any) -> Any:
    """The single-precision number with these 32 bits."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), build


@intrinsic
def up_to(typing_context: Any, array: Any, start: Any, limit: Any) -> Any:
    """Bit i: array[start + i] <= limit, for 64 entries."""

    def build(*call: Any) -> Any:
        context, builder, signature, (_, start, limit) = call
        kind = signature.args[0].dtype
        lanes = ir.VectorType(context.get_value_type(kind), ENTRIES)
        entries = builder.load(_pointer(call, 0, start, lanes), align=kind.bitwidth // 8)
        found = _at_most(builder, kind, entries, _broadcast(builder, limit, ENTRIES))
        return builder.bitcast(found, ir.IntType(ENTRIES))

    return types.uint64(array, types.int64, array.dtype), build


@intrinsic
def ends(typing_context: Any, table: Any, rows: Any, start: Any, low: Any, high: Any) -> Any:
    """low[start + i], high[start + i] = the least and the greatest table[row, start + i] over `rows`, for 8 columns. NaN
    is ignored. The results stay in registers; a plain loop would write and read them again for every row."""

    def build(*call: Any) -> Any:
        context, builder, _, (_, _, start, _, _) = call
        width = builder.extract_value(_array(call, 0).shape, 1)
        found = [cgutils.alloca_once_value(builder, ir.Constant(_DOUBLES, [end] * COLUMNS)) for end in (math.inf, -math.inf)]
        with cgutils.for_range(builder, builder.extract_value(_array(call, 1).shape, 0)) as loop:
            row = builder.load(_pointer(call, 1, loop.index))
            values = builder.load(_pointer(call, 0, builder.add(builder.mul(row, width), start), _DOUBLES), align=8)
            for end, beyond in zip(found, ("<", ">"), strict=True):
                known = builder.load(end)
                builder.store(builder.select(builder.fcmp_ordered(beyond, values, known), values, known), end)
        for end, number in zip(found, (3, 4), strict=True):
            builder.store(builder.load(end), _pointer(call, number, start, _DOUBLES), align=8)
        return context.get_dummy_value()

    return types.void(table, rows, types.int64, low, high), build


@intrinsic
def add_losses(typing_context: Any, low: Any, high: Any, loss: Any, weight: Any, values: Any, lost: Any) -> Any:
    """lost[i] += weight[q] * loss[q, i] for every q in turn, for 8 columns. The added loss is infinite if values[q] is not
    between low and high, and 0 if values[q] is NaN. The sums stay in registers, as in `ends`. Once all eight are infinite, the
    other quasi-identifiers are not read, and the result is False."""

    def build(*call: Any) -> Any:
        _, builder, _, _ = call

        def columns(number: int, row: Any) -> Any:
            return _pointer(call, number, builder.mul(row, row.type(COLUMNS)), _DOUBLES)

        def broadcast(number: int, row: Any) -> Any:
            return _broadcast(builder, builder.load(_pointer(call, number, row)), COLUMNS)

        def some_finite() -> Any:
            finite = builder.fcmp_ordered("<", builder.load(total), infinite)
            return builder.icmp_signed("!=", builder.bitcast(finite, ir.IntType(COLUMNS)), ir.Constant(ir.IntType(COLUMNS), 0))

        rows = builder.extract_value(_array(call, 0).shape, 0)
        infinite = ir.Constant(_DOUBLES, [math.inf] * COLUMNS)
        total = cgutils.alloca_once_value(builder, builder.load(columns(5, rows.type(0)), align=8))
        with cgutils.for_range(builder, rows) as loop:
            is_fourth = builder.icmp_signed("==", builder.and_(loop.index, loop.index.type(3)), loop.index.type(0))
            with builder.if_then(builder.and_(is_fourth, builder.not_(some_finite()))):
                loop.do_break()
            low, high, loss = (builder.load(columns(number, loop.index), align=8) for number in (0, 1, 2))
            weight, value = broadcast(3, loop.index), broadcast(4, loop.index)
            inside = builder.and_(builder.fcmp_ordered("<=", low, value), builder.fcmp_ordered("<=", value, high))
            more = builder.select(inside, builder.fmul(weight, loss), infinite)
            more = builder.select(builder.fcmp_ordered("ord", value, value), more, ir.Constant(_DOUBLES, [0.0] * COLUMNS))
            builder.store(builder.fadd(builder.load(total), more), total)
        builder.store(builder.load(total), columns(5, rows.type(0)), align=8)
        return some_finite()

    return types.boolean(low, high, loss, weight, values, lost), build


@intrinsic
def seized(typing_context: Any, flag: Any) -> Any:
    """Try to take a lock: set flag[0] to 1, and return whether it was 0. If so, writes before the last `give_back` are seen.

    Both are sequentially consistent: with acquire and release alone, workers with rounds of a few tuples were seen to fail.
    """

    def build(*call: Any) -> Any:
        found = call[1].cmpxchg(_array(call, 0).data, _WORD(0), _WORD(1), "seq_cst", "seq_cst")
        return call[1].extract_value(found, 1)

    return types.boolean(flag), build


@intrinsic
def give_back(typing_context: Any, flag: Any) -> Any:
    """Release a lock: set flag[0] to 0, after all earlier writes are visible to other threads."""

    def build(*call: Any) -> Any:
        call[1].store_atomic(_WORD(0), _array(call, 0).data, "seq_cst", 8)
        return call[0].get_dummy_value()

    return types.void(flag), build


@intrinsic
def step_aside(typing_context: Any) -> Any:
    """Let another thread run on this core, if one is ready."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        name = "SwitchToThread" if os.name == "nt" else "sched_yield"
        builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(_INT, []), name), [])
        return context.get_dummy_value()

    return types.void(), build


@intrinsic
def copy(typing_context: Any, source: Any, start: Any, target: Any, at: Any) -> Any:
    """Copy 32 bytes from source[start:] to target[at:], both arrays of bytes."""

    def build(*call: Any) -> Any:
        context, builder, _, (_, start, _, at) = call
        piece = ir.VectorType(ir.IntType(8), COPIED)
        builder.store(builder.load(_pointer(call, 0, start, piece), align=1), _pointer(call, 2, at, piece), align=1)
        return context.get_dummy_value()

    return types.void(source, types.int64, target, types.int64), build


@intrinsic
def word(typing_context: Any, array: Any, at: Any) -> Any:
    """The 8 bytes of an array of bytes from `at` on, as a little-endian word."""

    def build(*call: Any) -> Any:
        return call[1].load(_pointer(call, 0, call[3][1], _WORD), align=1)

    return types.uint64(array, types.int64), build


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask the processor to load array[index] into its cache, since it will be needed soon."""

    def build(*call: Any) -> Any:
        context, builder, _, (_, index) = call
        place = _pointer(call, 0, index, ir.IntType(8))
        kind = ir.FunctionType(ir.VoidType(), [place.type, _INT, _INT, _INT])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(instruction, [place, _INT(0), _INT(3), _INT(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, types.int64), build
