"""Persons as 128-bit fingerprints: SipHash with a key that is drawn anew for every anonymizer.

The engine needs to know who is the same person, not who they are. Without the key nobody can tell whose fingerprint one
is by trying names, nor choose two names that collide.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.compiled import inlined, kernel


def fingerprints(texts: pa.Array, key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Two words a text (a large_string array without regard to nulls)."""
    out = np.empty((len(texts), 2), np.uint64)
    if len(texts):
        _fingerprint(*bytes_of(texts), key, out)
    return out


def one_word(texts: pa.Array, key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One word a text, which is not 0; 0 where it is null."""
    words = np.maximum(fingerprints(texts, key)[:, 0], np.uint64(1))
    if texts.null_count:
        words[texts.is_null().to_numpy(zero_copy_only=False)] = 0
    return words


def bytes_of(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of a large_string array, and where each text begins and the last one ends."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets if len(texts) else bytes(8), np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data if data is not None else b"", np.uint8), bounds


@inlined
def _rotate(x, bits):
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@inlined
def _round(a, b, c, d):
    a += b
    c += d
    b = _rotate(b, 13) ^ a
    d = _rotate(d, 16) ^ c
    a = _rotate(a, 32)
    c += b
    a += d
    b = _rotate(b, 17) ^ c
    d = _rotate(d, 21) ^ a
    c = _rotate(c, 32)
    return a, b, c, d


@inlined
def siphash(content, first, last, key):
    """SipHash-2-4 with 128 bits of output (Aumasson, Bernstein 2012) of content[first:last]."""
    a = np.uint64(0x736F6D6570736575) ^ key[0]
    b = np.uint64(0x646F72616E646F6D) ^ key[1] ^ np.uint64(0xEE)
    c = np.uint64(0x6C7967656E657261) ^ key[0]
    d = np.uint64(0x7465646279746573) ^ key[1]
    at = first
    while True:
        word = np.uint64(0)
        length = min(8, last - at)
        for j in range(length):
            word |= np.uint64(content[at + j]) << np.uint64(8 * j)
        if length < 8:
            word |= np.uint64((last - first) & 0xFF) << np.uint64(56)
        d ^= word
        a, b, c, d = _round(*_round(a, b, c, d))
        a ^= word
        at += 8
        if length < 8:
            break
    c ^= np.uint64(0xEE)
    a, b, c, d = _round(*_round(*_round(*_round(a, b, c, d))))
    low = a ^ b ^ c ^ d
    b ^= np.uint64(0xDD)
    a, b, c, d = _round(*_round(*_round(*_round(a, b, c, d))))
    return low, a ^ b ^ c ^ d


@kernel
def _fingerprint(content, bounds, key, out):
    for i in range(len(out)):
        out[i, 0], out[i, 1] = siphash(content, bounds[i], bounds[i + 1], key)
