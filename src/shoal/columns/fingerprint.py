"""Persons, users and items as keyed fingerprints of 128 bits, which show only whether two values are equal.

A fingerprint is SipHash under a random key that each anonymizer generates for itself. Without the key, an attacker can neither
find a person by trying names nor construct two names that collide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.columns.convert import texts
from shoal.compiled import inlined, kernel
from shoal.digits import whole_number


def fingerprints(texts: pa.Array, key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Two words per text of a large_string array; the words of a null have no meaning."""
    out = np.empty((len(texts), 2), np.uint64)
    if len(texts):
        _fingerprint(*bytes_of(texts), key, out)
    return out


def one_word(texts: pa.Array, key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One word per text, never 0; 0 for null."""
    words = np.maximum(fingerprints(texts, key)[:, 0], np.uint64(1))
    if texts.null_count:
        words[texts.is_null().to_numpy(zero_copy_only=False)] = 0
    return words


def bytes_of(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of a large_string array, and its offsets: where each text begins, and where the last one ends."""
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


_TEXT = np.uint64(1 << 63)
_MOST_DIGITS = 19


class Keys(NamedTuple):
    """The keys of users or items.

    The key of a whole number is the number itself, whether it was given as a number or as text. The key of any other text
    is a SipHash of 127 bits; one bit distinguishes the two kinds.
    """

    keys: NDArray[np.uint64]  # two words per row
    missing: NDArray[np.bool_]


def keys_of(array: pa.Array, nulls: Sequence[str], key: NDArray[np.uint64]) -> Keys:
    """The keys of a column of any type.

    >>> key = np.array([1, 2], np.uint64)
    >>> keys_of(pa.array([7, -1, None]), ["-1"], key)
    Keys(keys=array([[                   7,                    0],
           [18446744073709551615,                    0],
           [                   0,                    0]], dtype=uint64), missing=array([False,  True,  True]))
    >>> bool((keys_of(pa.array(["7", " 7", "07"]), [], key).keys[:, 0] == 7).tolist() == [True, True, False])
    True
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _of_dictionary(array, nulls, key)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return _of_numbers(array.cast(pa.int64()), nulls)
    text = texts(array, nulls)
    out = np.empty((len(text), 2), np.uint64)
    if len(text):
        _identify(*bytes_of(text), key, out)
    return Keys(out, text.is_null().to_numpy(zero_copy_only=False))


def joined_keys(parts: Sequence[Keys], key: NDArray[np.uint64]) -> Keys:
    """One key for the values of several columns; missing if one of them is missing."""
    if len(parts) == 1:
        return parts[0]
    words = np.ascontiguousarray(np.hstack([part.keys for part in parts]))
    width = words.itemsize * words.shape[1]
    bounds = pa.py_buffer(np.arange(0, width * len(words) + 1, width))
    content = pa.Array.from_buffers(pa.large_binary(), len(words), [None, bounds, pa.py_buffer(words)])
    keys = fingerprints(content, key)
    keys[:, 1] |= _TEXT
    return Keys(keys, np.logical_or.reduce([part.missing for part in parts]))


def _of_numbers(array: pa.Array, nulls: Sequence[str]) -> Keys:
    missing = np.zeros(len(array), bool)
    if array.null_count:
        missing = array.is_null().to_numpy(zero_copy_only=False)
        array = pc.fill_null(array, 0)
    if any(map(_is_number, nulls)):
        missing |= pc.is_in(array.cast(pa.string()), pa.array(nulls, pa.string())).to_numpy(zero_copy_only=False)
    keys = np.empty((len(array), 2), np.uint64)
    keys[:, 0] = array.to_numpy().view(np.uint64)
    keys[:, 1] = 0
    return Keys(keys, missing)


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _of_dictionary(array: pa.Array, nulls: Sequence[str], key: NDArray[np.uint64]) -> Keys:
    if len(array.dictionary) > len(array):
        return keys_of(array.dictionary_decode(), nulls, key)
    keys, missing = keys_of(array.dictionary, nulls, key)
    at = pc.fill_null(array.indices.cast(pa.int64()), len(keys)).to_numpy(zero_copy_only=False)
    return Keys(np.vstack([keys, np.zeros((1, 2), np.uint64)])[at], np.append(missing, True)[at])


@kernel
def _identify(content, bounds, key, out):
    for i in range(len(out)):
        first, last = bounds[i], bounds[i + 1]
        if not _number(content, first, last, out, i):
            low, high = siphash(content, first, last, key)
            out[i, 0] = low
            out[i, 1] = high | _TEXT


@inlined
def _number(content, first, last, out, i):
    """Whether the text is a 64-bit whole number as Python writes it; if so, out[i] becomes its key."""
    found, negative, size = whole_number(content, first, last, _MOST_DIGITS, False)
    if not found or size > _TEXT or (size == _TEXT and not negative):
        return False
    out[i, 0] = ~size + np.uint64(1) if negative else size
    out[i, 1] = np.uint64(0)
    return True
