"""Users and items as keys of two words that tell them apart.

A whole number is its own key, exactly, whether it came as a number or as its text. Any other text has a SipHash of 127 bits
under a key that is drawn anew for every anonymizer; one bit tells the two kinds apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.columns.fingerprint import bytes_of, fingerprints, siphash
from shoal.columns.uniform import texts
from shoal.compiled import inlined, kernel

_TEXT = np.uint64(1 << 63)
_MOST_DIGITS = 19


class Identities(NamedTuple):
    keys: NDArray[np.uint64]  # two words each
    missing: NDArray[np.bool_]


def identities(array: pa.Array, nulls: Sequence[str], key: NDArray[np.uint64]) -> Identities:
    """The keys of a column of any type.

    >>> key = np.array([1, 2], np.uint64)
    >>> identities(pa.array([7, -1, None]), ["-1"], key)
    Identities(keys=array([[                   7,                    0],
           [18446744073709551615,                    0],
           [                   0,                    0]], dtype=uint64), missing=array([False,  True,  True]))
    >>> bool((identities(pa.array(["7", " 7", "07"]), [], key).keys[:, 0] == 7).tolist() == [True, True, False])
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
    return Identities(out, text.is_null().to_numpy(zero_copy_only=False))


def joined(parts: Sequence[Identities], key: NDArray[np.uint64]) -> Identities:
    """The keys of several columns that count together; missing where one of them is."""
    if len(parts) == 1:
        return parts[0]
    words = np.ascontiguousarray(np.hstack([part.keys for part in parts]))
    width = words.itemsize * words.shape[1]
    bounds = pa.py_buffer(np.arange(0, width * len(words) + 1, width))
    content = pa.Array.from_buffers(pa.large_binary(), len(words), [None, bounds, pa.py_buffer(words)])
    keys = fingerprints(content, key)
    keys[:, 1] |= _TEXT
    return Identities(keys, np.logical_or.reduce([part.missing for part in parts]))


def _of_numbers(array: pa.Array, nulls: Sequence[str]) -> Identities:
    missing = np.zeros(len(array), bool)
    if array.null_count:
        missing = array.is_null().to_numpy(zero_copy_only=False)
        array = pc.fill_null(array, 0)
    if any(map(_is_number, nulls)):
        missing |= pc.is_in(array.cast(pa.string()), pa.array(nulls, pa.string())).to_numpy(zero_copy_only=False)
    keys = np.empty((len(array), 2), np.uint64)
    keys[:, 0] = array.to_numpy().view(np.uint64)
    keys[:, 1] = 0
    return Identities(keys, missing)


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _of_dictionary(array: pa.Array, nulls: Sequence[str], key: NDArray[np.uint64]) -> Identities:
    if len(array.dictionary) > len(array):
        return identities(array.dictionary_decode(), nulls, key)
    keys, missing = identities(array.dictionary, nulls, key)
    at = pc.fill_null(array.indices.cast(pa.int64()), len(keys)).to_numpy(zero_copy_only=False)
    return Identities(np.vstack([keys, np.zeros((1, 2), np.uint64)])[at], np.append(missing, True)[at])


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
    """Whether the text is that of a 64-bit whole number, as Python writes it; if so, out[i] becomes its key."""
    negative = last > first and content[first] == 45
    start = first + 1 if negative else first
    digits = last - start
    if digits < 1 or digits > _MOST_DIGITS:
        return False
    if content[start] == 48 and (digits > 1 or negative):
        return False
    value = np.uint64(0)
    for at in range(start, last):
        digit = np.uint64(content[at]) - np.uint64(48)
        if digit > np.uint64(9):
            return False
        value = value * np.uint64(10) + digit
    if value > _TEXT or (value == _TEXT and not negative):
        return False
    out[i, 0] = ~value + np.uint64(1) if negative else value
    out[i, 1] = np.uint64(0)
    return True
