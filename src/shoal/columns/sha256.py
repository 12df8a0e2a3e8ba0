"""SHA-256 of many short messages at a time: each lane of a vector holds one (FIPS 180-4)."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.extending import intrinsic
from numpy.typing import NDArray

LANES = 16
"""Messages that are digested together."""

WORDS = 16
"""Words of 32 bits in a block."""

_PRIMES = [n for n in range(2, 312) if all(n % d for d in range(2, isqrt(n) + 1))]


def _root(number: int, power: int) -> int:
    """The first 32 bits of the fraction of a root."""
    scaled, root = number << (32 * power), 0
    for bit in range(40, -1, -1):
        if (root | 1 << bit) ** power <= scaled:
            root |= 1 << bit
    return root & 0xFFFFFFFF


START: NDArray[np.uint32] = np.array([_root(prime, 2) for prime in _PRIMES[:8]], np.uint32)
_ROUNDS = [_root(prime, 3) for prime in _PRIMES]


@intrinsic
def compress(typing_context: Any, state: Any, block: Any, out: Any) -> Any:
    """One block further, in all lanes: `state` and `out` have 8 rows, `block` 16, of a word a lane. Nothing is checked."""

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

        w = [builder.load(place(1, row), align=4) for row in range(WORDS)]
        before = [builder.load(place(0, row), align=4) for row in range(8)]
        a, b, c, d, e, f, g, h = before
        for t in range(64):
            if t >= WORDS:
                low = mixed(w[1], 7, 18, builder.lshr(w[1], constant(3)))
                high = mixed(w[14], 17, 19, builder.lshr(w[14], constant(10)))
                w = [*w[1:], total(w[0], low, w[9], high)]
            choice = builder.xor(g, builder.and_(e, builder.xor(f, g)))
            one = total(h, mixed(e, 6, 11, turned(e, 25)), choice, constant(_ROUNDS[t]), w[t] if t < WORDS else w[-1])
            majority = builder.or_(builder.and_(a, b), builder.and_(c, builder.or_(a, b)))
            two = builder.add(mixed(a, 2, 13, turned(a, 22)), majority)
            a, b, c, d, e, f, g, h = builder.add(one, two), a, b, c, builder.add(d, one), e, f, g
        for row, (old, new) in enumerate(zip(before, (a, b, c, d, e, f, g, h), strict=True)):
            builder.store(builder.add(old, new), place(2, row), align=4)
        return context.get_dummy_value()

    return types.void(state, block, out), build
