"""The machine code of `columns.sha256`. It loads the compiler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.extending import intrinsic

from shoal.columns.sha256 import LANES, ROUNDS, WORDS


def _compression(fixed: Mapping[int, int], rows: int) -> Any:
    """The compression of one block in all lanes: (state, block, out), arrays of 8, 16 and `rows` rows with one word per lane.
    Bounds are not checked.

    `fixed` gives the words of the block that are always the same, so that the compiler treats them as constants.
    """

    @intrinsic
    def compress(typing_context: Any, state: Any, block: Any, out: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = ir.IntType(32)
            lanes = ir.VectorType(word, LANES)

            def place(array: int, row: int) -> Any:
                data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
                return builder.bitcast(builder.gep(data, [ir.IntType(64)(row * LANES)]), lanes.as_pointer())

            def constant(value: int) -> Any:
                return ir.Constant(lanes, [value] * LANES)

            def turned(x: Any, bits: int) -> Any:
                return builder.or_(builder.lshr(x, constant(bits)), builder.shl(x, constant(32 - bits)))

            def mixed(x: Any, first: int, second: int, third: Any) -> Any:
                return builder.xor(builder.xor(turned(x, first), turned(x, second)), third)

            def total(*parts: Any) -> Any:
                found = parts[0]
                for part in parts[1:]:
                    found = builder.add(found, part)
                return found

            w = [constant(fixed[row]) if row in fixed else builder.load(place(1, row), align=4) for row in range(WORDS)]
            before = [builder.load(place(0, row), align=4) for row in range(8)]
            a, b, c, d, e, f, g, h = before
            for t in range(64):
                if t >= WORDS:
                    low = mixed(w[1], 7, 18, builder.lshr(w[1], constant(3)))
                    high = mixed(w[14], 17, 19, builder.lshr(w[14], constant(10)))
                    w = [*w[1:], total(w[0], low, w[9], high)]
                choice = builder.xor(g, builder.and_(e, builder.xor(f, g)))
                one = total(h, mixed(e, 6, 11, turned(e, 25)), choice, constant(ROUNDS[t]), w[t] if t < WORDS else w[-1])
                majority = builder.or_(builder.and_(a, b), builder.and_(c, builder.or_(a, b)))
                two = builder.add(mixed(a, 2, 13, turned(a, 22)), majority)
                a, b, c, d, e, f, g, h = builder.add(one, two), a, b, c, builder.add(d, one), e, f, g
            after = (a, b, c, d, e, f, g, h)
            for row in range(rows):
                builder.store(builder.add(before[row], after[row]), place(2, row), align=4)
            return context.get_dummy_value()

        return types.void(state, block, out), build

    return compress


compress = _compression({}, 8)
compress_short = _compression(dict.fromkeys(range(5, WORDS - 1), 0), 8)
compress_digest = _compression({8: 0x80000000, **dict.fromkeys(range(9, WORDS - 1), 0), WORDS - 1: 8 * (4 * WORDS + 32)}, 4)


@intrinsic
def hexadecimal(typing_context: Any, digest: Any, text: Any) -> Any:
    """The hexadecimal digits of the four words of every lane, as bytes: `text` has four words of 64 bits per lane."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        half = ir.VectorType(ir.IntType(8), 4 * LANES)
        words = ir.VectorType(ir.IntType(64), LANES)

        def data(array: int) -> Any:
            return context.make_array(signature.args[array])(context, builder, arguments[array]).data

        def constant(value: int) -> Any:
            return ir.Constant(half, [value] * half.count)

        def ordered(one: Any, two: Any, order: list[int]) -> Any:
            return builder.shuffle_vector(one, two, ir.Constant(ir.VectorType(ir.IntType(32), len(order)), order))

        def letter(digit: Any) -> Any:
            first = builder.select(builder.icmp_unsigned("<", digit, constant(10)), constant(ord("0")), constant(ord("a") - 10))
            return builder.add(digit, first)

        def letters(row: int) -> Any:
            place = builder.gep(data(0), [ir.IntType(64)(row * LANES)])
            byte = builder.load(builder.bitcast(place, half.as_pointer()), align=4)
            high, low = letter(builder.lshr(byte, constant(4))), letter(builder.and_(byte, constant(15)))
            order = [4 * lane + at + which for lane in range(LANES) for at in (3, 2, 1, 0) for which in (0, half.count)]
            return builder.bitcast(ordered(high, low, order), words)

        def alternating(one: Any, two: Any, run: int) -> Any:
            """A run of one vector, a run of the other, and so on."""
            size = one.type.count
            return ordered(one, two, [which + at + i for at in range(0, size, run) for which in (0, size) for i in range(run)])

        front, back = alternating(letters(0), letters(1), 1), alternating(letters(2), letters(3), 1)
        whole = alternating(front, back, 2)
        builder.store(whole, builder.bitcast(data(1), whole.type.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(digest, text), build
