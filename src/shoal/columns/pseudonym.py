"""Pseudonyms: who a user is called within one period, and never again after it."""

from __future__ import annotations

import hmac
import struct

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

DIGITS = 32  # of a pseudonym: 128 bits


def pseudonym(secret: bytes, period: int, person: str) -> str:
    """The first 128 bits of HMAC-SHA256(secret, period in 8 bytes, person in UTF-8), as hexadecimal digits.

    >>> pseudonym(b"a secret of some length", 472222, "ann")
    '2b5be4d2a5d3d6a8d1f2a2d1a7a5b6f1'
    """
    return hmac.digest(secret, struct.pack(">q", period) + person.encode(), "sha256").hex()[:DIGITS]


class Pseudonyms:
    """Gives pseudonyms under one secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def of(self, person: pa.Array, period: NDArray[np.int64]) -> pa.Array:
        """`person` is canonical text, without nulls."""
        pairs = zip(period.tolist(), person.to_pylist(), strict=True)
        return pa.array([pseudonym(self._secret, *pair) for pair in pairs], pa.string())
