"""The machine code of `algorithms.tide.vectors`. It loads the compiler."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic

from shoal.algorithms.tide.vectors import COLUMNS, LANES
from shoal.compiled import ENTRIES


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


@intrinsic
def least(typing_context: Any, array: Any, entries: Any) -> Any:
    """The smallest of the first `entries` numbers, a multiple of 32 and not 0; none is NaN."""

    def build(*call: Any) -> Any:
        _, builder, signature, (_, entries) = call
        kind = signature.args[0].dtype
        word, int32 = ir.IntType(64), ir.IntType(32)

        ordered = builder.icmp_signed if getattr(kind, "signed", False) else builder.icmp_unsigned
        compared = builder.fcmp_ordered if isinstance(kind, types.Float) else ordered

        def smaller(left: Any, right: Any) -> Any:
            return builder.select(compared("<=", left, right), left, right)

        found = cgutils.alloca_once_value(builder, _vector(call, word(0), LANES))
        with cgutils.for_range(builder, builder.sdiv(entries, word(LANES))) as loop:
            known = builder.load(found)
            builder.store(smaller(_vector(call, builder.mul(loop.index, word(LANES)), LANES), known), found)
        lanes = builder.load(found)
        half = LANES // 2
        while half:
            order = [(i + half) % LANES for i in range(LANES)]
            turned = builder.shuffle_vector(lanes, lanes, ir.Constant(ir.VectorType(int32, LANES), order))
            lanes, half = smaller(lanes, turned), half // 2
        return builder.extract_element(lanes, int32(0))

    return array.dtype(array, types.int64), build


class _Lanes:
    """Reads and writes entries of the arrays of a call as vectors."""

    def __init__(self, call: Any, lanes: int = ENTRIES) -> None:
        self.context, self.builder, self.signature, self.arguments = call
        self.lanes = lanes

    def load(self, number: int, *index: Any) -> Any:
        pointer, align = self._place(number, *index)
        return self.builder.load(pointer, align=align)

    def store(self, value: Any, number: int, *index: Any) -> None:
        pointer, align = self._place(number, *index)
        self.builder.store(value, pointer, align=align)

    def one(self, number: int, index: Any) -> Any:
        """A single entry."""
        return self.builder.load(self.builder.gep(self._array(number).data, [index]))

    def all(self, value: Any) -> Any:
        return _broadcast(self.builder, value, self.lanes)

    def none(self, kind: Any) -> Any:
        return ir.Constant(ir.VectorType(kind, self.lanes), [0] * self.lanes)

    def larger(self, left: Any, right: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed(">", left, right), left, right)

    def smaller(self, left: Any, right: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed("<", left, right), left, right)

    def _array(self, number: int) -> Any:
        return self.context.make_array(self.signature.args[number])(self.context, self.builder, self.arguments[number])

    def _place(self, number: int, *index: Any) -> tuple[Any, int]:
        array, kind = self._array(number), self.signature.args[number].dtype
        at = index[0]
        if len(index) > 1:  # row and column
            at = self.builder.add(self.builder.mul(at, self.builder.extract_value(array.shape, 1)), index[1])
        vector = ir.VectorType(self.context.get_value_type(kind), self.lanes)
        return self.builder.bitcast(self.builder.gep(array.data, [at]), vector.as_pointer()), kind.bitwidth // 8


@intrinsic
def wider_intervals(typing_context: Any, wider: Any, start: Any, low: Any, high: Any, q: Any, first: Any, place: Any) -> Any:
    """wider[start + i] = the width of an interval with a place, for 64 groups."""

    def build(*call: Any) -> Any:
        context, builder, _, (_, start, _, _, q, first, place) = call
        lanes = _Lanes(call)
        own = lanes.all(place)
        low, high = lanes.load(2, q, first), lanes.load(3, q, first)
        lanes.store(builder.sub(lanes.larger(high, own), lanes.smaller(low, own)), 0, start)
        return context.get_dummy_value()

    return types.void(wider, types.int64, low, high, types.int64, types.int64, types.int32), build


@intrinsic
def wider_nodes(
    typing_context: Any, wider: Any, start: Any, low: Any, high: Any, q: Any, first: Any, leaf: Any,
    parent: Any, first_leaf: Any, last_leaf: Any, unit: Any,
) -> Any:  # fmt: skip
    """wider[start + i] = the loss of the lowest node over a leaf and a box, for 64 groups. The sums stay in registers."""

    def build(*call: Any) -> Any:
        context, builder, _, (_, start, _, _, q, first, leaf, *_) = call
        lanes, int32 = _Lanes(call), ir.IntType(32)
        low, high = lanes.load(2, q, first), lanes.load(3, q, first)
        node = cgutils.alloca_once_value(builder, leaf)
        total = cgutils.alloca_once_value(builder, lanes.all(lanes.one(10, leaf)))
        head, body, end = (builder.append_basic_block(name) for name in ("climb", "up", "top"))
        builder.branch(head)
        builder.position_at_end(head)
        current = builder.load(node)
        above = lanes.one(7, current)
        builder.cbranch(builder.icmp_signed("!=", above, current), body, end)
        builder.position_at_end(body)
        more = builder.sub(lanes.one(10, above), lanes.one(10, current))
        least, most = (lanes.all(builder.fptosi(lanes.one(number, current), int32)) for number in (8, 9))
        outside = builder.or_(builder.icmp_signed("<", low, least), builder.icmp_signed(">", high, most))
        more = builder.select(outside, lanes.all(more), lanes.none(int32))
        builder.store(builder.add(builder.load(total), more), total)
        builder.store(above, node)
        builder.branch(head)
        builder.position_at_end(end)
        lanes.store(builder.load(total), 0, start)
        return context.get_dummy_value()

    arrays = parent, first_leaf, last_leaf, unit
    return types.void(wider, types.int64, low, high, types.int64, types.int64, types.int64, *arrays), build


@intrinsic
def add_rises(
    typing_context: Any, rise: Any, start: Any, wider: Any, loss: Any, heavy: Any, q: Any, first: Any, weight: Any
) -> Any:
    """rise[start + i] += what the box gets wider times the weight that it then has, for 64 groups."""

    def build(*call: Any) -> Any:
        context, builder, _, (_, start, _, _, _, q, first, weight) = call
        lanes = _Lanes(call)
        more = builder.sub(lanes.load(2, start), lanes.load(3, q, first))
        more = lanes.larger(more, lanes.none(ir.IntType(32)))
        heavy = builder.fadd(lanes.load(4, q, first), lanes.all(weight))
        rise = builder.fmul(builder.sitofp(more, heavy.type), heavy)
        lanes.store(builder.fadd(lanes.load(0, start), rise), 0, start)
        return context.get_dummy_value()

    return types.void(rise, types.int64, wider, loss, heavy, types.int64, types.int64, types.float32), build


@intrinsic
def widen_box(typing_context: Any, low: Any, high: Any, weight: Any, start: Any, place: Any, t: Any, own: Any) -> Any:
    """Let a box include a tuple, for 16 quasi-identifiers; where it grew, and where it was empty."""

    def build(*call: Any) -> Any:
        _, builder, _, (_, _, _, start, _, t, own) = call
        lanes, word = _Lanes(call, COLUMNS), ir.IntType(64)
        low, high, weight, place = lanes.load(0, start), lanes.load(1, start), lanes.load(2, start), lanes.load(4, t, start)
        has = builder.icmp_signed(">=", place, lanes.none(ir.IntType(32)))
        beyond = builder.or_(builder.icmp_signed("<", place, low), builder.icmp_signed(">", place, high))
        found = builder.zext(builder.bitcast(builder.and_(has, beyond), ir.IntType(COLUMNS)), word)
        empty = builder.and_(has, builder.icmp_signed(">", low, high))
        empty = builder.zext(builder.bitcast(empty, ir.IntType(COLUMNS)), word)
        lanes.store(builder.select(has, lanes.smaller(low, place), low), 0, start)
        lanes.store(lanes.larger(high, place), 1, start)
        lanes.store(builder.fadd(weight, builder.select(has, lanes.all(own), lanes.none(ir.DoubleType()))), 2, start)
        return builder.or_(found, builder.shl(empty, word(COLUMNS)))

    return types.uint64(low, high, weight, types.int64, place, types.int64, types.float64), build
