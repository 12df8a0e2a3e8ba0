"""Routing: the split tree of a query, and the keys of its lanes. Both are saved, and used again after a restart."""

from __future__ import annotations

import hashlib
import io
from typing import NamedTuple

import numpy as np

from shoal.anonymizer import SplitTree

_SEED, _BITS = 42, 0xFFFFFFFF


class Routing(NamedTuple):
    tree: SplitTree | None  # None if there is one lane for all tuples, or if lanes are chosen by item
    keys: tuple[int, ...]  # of the lanes, and of the common lane

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def to_bytes(self) -> bytes:
        out = io.BytesIO()
        tree = self.tree._asdict() if self.tree else {}
        for name, column in [*tree.items(), ("keys", np.array(self.keys))]:
            out.write(f"{name}\n".encode())
            np.lib.format.write_array(out, column, allow_pickle=False)
        return out.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Routing:
        """
        >>> routing = Routing(SplitTree(np.array([0]), np.array([5.0]), np.array([[-1, -2, -2]])), (0, 1, 3))
        >>> Routing.from_bytes(routing.to_bytes()).digest == routing.digest
        True
        """
        source, found = io.BytesIO(data), {}
        while name := source.readline().decode().strip():
            found[name] = np.lib.format.read_array(source, allow_pickle=False)
        keys = tuple(found.pop("keys").tolist())
        return Routing(SplitTree(**found) if found else None, keys)


def keys(lanes: int, partitions: int) -> tuple[int, ...]:
    """Keys for the lanes and the common lane, chosen so that Spark spreads them evenly over the partitions.

    >>> [_hash(key) % 4 for key in keys(5, 4)]
    [0, 1, 2, 3, 0, 1]
    """
    places, each = min(partitions, lanes + 1), -(-(lanes + 1) // partitions)
    found: dict[int, list[int]] = {place: [] for place in range(places)}
    number = 0
    while any(len(numbers) < each for numbers in found.values()):
        found.get(_hash(number) % partitions, []).append(number)
        number += 1
    return tuple(found[i % places][i // places] for i in range(lanes + 1))


def _hash(number: int) -> int:
    """Spark's hash of a 32-bit number (Murmur3), as a signed number."""
    k = _rotated(number * 0xCC9E2D51 & _BITS, 15) * 0x1B873593 & _BITS
    h = (_rotated(_SEED ^ k, 13) * 5 + 0xE6546B64) & _BITS
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & _BITS
    h = (h ^ h >> 13) * 0xC2B2AE35 & _BITS
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _BITS
