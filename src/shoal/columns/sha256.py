"""SHA-256 of several short messages at a time, one in each lane of a vector (FIPS 180-4)."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from shoal.compiled import Instruction

LANES = 16
"""Messages that are digested together."""

WORDS = 16
"""Words of 32 bits in a block."""

_PRIMES = [n for n in range(2, 312) if all(n % d for d in range(2, isqrt(n) + 1))]


def _root(number: int, power: int) -> int:
    """The first 32 bits of the fractional part of a root."""
    scaled, root = number << (32 * power), 0
    for bit in range(40, -1, -1):
        if (root | 1 << bit) ** power <= scaled:
            root |= 1 << bit
    return root & 0xFFFFFFFF


START: NDArray[np.uint32] = np.array([_root(prime, 2) for prime in _PRIMES[:8]], np.uint32)
ROUNDS = [_root(prime, 3) for prime in _PRIMES]

_INTRINSICS = "shoal.columns.sha256_intrinsics"

compress = Instruction(_INTRINSICS, "compress")
"""Any block."""

compress_short = Instruction(_INTRINSICS, "compress_short")
"""A block that is zero between its fifth word and the last one, which is the length."""

compress_digest = Instruction(_INTRINSICS, "compress_digest")
"""A block that holds a digest and follows another block, as in HMAC; only the first half of the result is written."""

hexadecimal = Instruction(_INTRINSICS, "hexadecimal")
