"""Pseudonyms: what a user is called within one period, and never again after it."""

from __future__ import annotations

import hashlib
import hmac
import struct

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.columns.fingerprint import bytes_of
from shoal.columns.sha256 import LANES, START, WORDS, compress
from shoal.compiled import inlined, kernel

DIGITS = 32
"""Hexadecimal digits of a pseudonym: 128 bits, so that among n users of a period any two collide with less than n²/2^129."""

_BLOCK = 4 * WORDS
_LONGEST = _BLOCK - 9 - 8  # bytes of text that fit into one block, beside the period, the padding and the length
_TOGETHER = 512  # rows that are looked up before the missing ones are made
_EIGHT_DIGITS = 100_000_000
_SLOTS = 1 << 14  # pseudonyms that are remembered: few enough to stay near; to make one anew is hardly dearer than to fetch it

SLOT = np.dtype(
    [("key0", "u8"), ("key1", "u8"), ("period", "i8"), ("row", "i4"), ("used", "i4"), ("text", "u8", (4,))]
)


def pseudonym(secret: bytes, period: int, person: bytes) -> bytes:
    """The first 128 bits of HMAC-SHA256(secret, period ‖ person) in hexadecimal: the period in 8 bytes, the person in UTF-8.

    >>> pseudonym(b"a secret of the house", 472222, b"ann")
    b'7274df531b0cf22df89a3043179ab4cd'
    """
    return hmac.digest(secret, struct.pack(">q", period) + person, "sha256").hex()[:DIGITS].encode()


class Pseudonyms:
    """Gives pseudonyms under one secret, and remembers the last ones."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._inner, self._outer = (_state(secret, pad) for pad in (0x36363636, 0x5C5C5C5C))
        self._slots = np.zeros(_SLOTS, SLOT)
        self._ends = np.zeros(1, np.int32)  # of texts of equal length

    def of(self, keys: NDArray[np.uint64], person: pa.Array | None, period: NDArray[np.int64]) -> pa.Array:
        """Those of users with these keys; `person` is their canonical text, needed unless all keys are whole numbers."""
        size = len(keys)
        content, bounds = bytes_of(pa.array([], pa.large_string()) if person is None else person)
        out = np.empty((size, DIGITS // 8), np.uint64)
        new, same = np.empty(_TOGETHER, np.int32), np.empty(_TOGETHER, np.int32)
        _name(self._slots, keys, content, bounds, period, self._inner, self._outer, *_blocks(), new, same, out)
        for row in np.flatnonzero(np.diff(bounds) > _LONGEST):
            text = content[bounds[row] : bounds[row + 1]].tobytes()
            out[row] = np.frombuffer(pseudonym(self._secret, int(period[row]), text), np.uint64)
        if len(self._ends) <= size:
            self._ends = np.arange(0, DIGITS * size + 1, DIGITS, dtype=np.int32)
        return pa.Array.from_buffers(pa.string(), size, [None, pa.py_buffer(self._ends[: size + 1]), pa.py_buffer(out)])


def _state(secret: bytes, pad: int) -> NDArray[np.uint32]:
    """The state of SHA-256 behind the block that HMAC makes of the secret (RFC 2104), in every lane."""
    short = secret if len(secret) <= _BLOCK else hashlib.sha256(secret).digest()
    words = np.frombuffer(short.ljust(_BLOCK, b"\0"), ">u4").astype(np.uint32) ^ np.uint32(pad)
    state = np.empty((8, LANES), np.uint32)
    _compress(_spread(START), _spread(words), state)
    return state


def _blocks() -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64]]:
    """Room for the messages, for the inner digests with what follows them, for the outer digests and for their text."""
    ends = np.zeros(WORDS, np.uint32)
    ends[8], ends[-1] = 0x80000000, 8 * (_BLOCK + 32)
    digest, text = np.zeros((8, LANES), np.uint32), np.zeros((DIGITS // 8, LANES), np.uint64)
    return np.zeros((WORDS, LANES), np.uint32), _spread(ends), digest, text


def _spread(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return np.repeat(words[:, None], LANES, axis=1)


@kernel
def _compress(state, block, out):
    compress(state, block, out)


@inlined
def _slot(slots, key0, key1, period):
    h = (key0 ^ np.uint64(period)) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(32)) ^ key1) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64((h ^ (h >> np.uint64(32))) & np.uint64(len(slots) - 1))


@kernel
def _name(slots, keys, content, bounds, period, inner, outer, block, between, digest, text, new, same, out):
    """Some rows at a time: copy what is remembered, make the rest, remember it."""
    for first in range(0, len(keys), _TOGETHER):
        last = min(first + _TOGETHER, len(keys))
        made = _look_up(slots, keys, period, first, last, new, same, out)
        _make(new[:made], keys, content, bounds, period, inner, outer, block, between, digest, text, out)
        _remember(slots, keys, period, first, last, new[:made], same, out)


@inlined
def _look_up(slots, keys, period, first, last, new, same, out):
    """Copy what is remembered; list the rows that need a new pseudonym, and for others the row that gets theirs."""
    made = 0
    for row in range(first, last):
        slot = slots[_slot(slots, keys[row, 0], keys[row, 1], period[row])]
        same[row - first] = -1
        if slot.used and slot.key0 == keys[row, 0] and slot.key1 == keys[row, 1] and slot.period == period[row]:
            if slot.row >= 0:
                same[row - first] = slot.row
            else:
                for i in range(4):
                    out[row, i] = slot.text[i]
        else:
            slot.key0, slot.key1, slot.period, slot.row, slot.used = keys[row, 0], keys[row, 1], period[row], row, 1
            new[made] = row
            made += 1
    return made


@inlined
def _remember(slots, keys, period, first, last, new, same, out):
    for row in new:
        slot = slots[_slot(slots, keys[row, 0], keys[row, 1], period[row])]
        if slot.row == row:
            slot.row = -1
            for i in range(4):
                slot.text[i] = out[row, i]
    for row in range(first, last):
        if same[row - first] >= 0:
            for i in range(4):
                out[row, i] = out[same[row - first], i]


@inlined
def _make(new, keys, content, bounds, period, inner, outer, block, between, digest, text, out):
    """HMAC-SHA256, for as many rows at a time as there are lanes."""
    for start in range(0, len(new), LANES):
        some = min(LANES, len(new) - start)
        for word in range(WORDS):
            for lane in range(LANES):
                block[word, lane] = 0
        for lane in range(some):
            row = new[start + lane]
            block[0, lane], block[1, lane] = np.uint32(period[row] >> 32), np.uint32(period[row])
            if keys[row, 1] == 0:
                length = _write_number(block, lane, keys[row, 0])
            else:
                length = _write_text(block, lane, content, bounds[row], bounds[row + 1])
            _put(block, lane, 8 + length, 0x80)
            block[WORDS - 1, lane] = 8 * (_BLOCK + 8 + length)
        compress(inner, block, between)
        compress(outer, between, digest)
        for i in range(4):
            for lane in range(LANES):
                text[i, lane] = _digits(digest[i, lane])
        for lane in range(some):
            for i in range(4):
                out[new[start + lane], i] = text[i, lane]


@inlined
def _put(block, lane, place, byte):
    block[place >> 2, lane] |= np.uint32(byte) << np.uint32(24 - 8 * (place & 3))


@inlined
def _write_text(block, lane, content, first, last):
    length = min(last - first, _LONGEST)  # what is longer is made elsewhere
    for i in range(length):
        _put(block, lane, 8 + i, content[first + i])
    return length


@inlined
def _write_number(block, lane, value):
    """The digits of a whole number in two's complement."""
    negative = np.int64(value) < 0
    rest = ~value + np.uint64(1) if negative else value
    if rest < _EIGHT_DIGITS and not negative:
        length = _length(rest)
        digits = _decimal(rest) << np.uint64(64 - 8 * length)
        block[2, lane], block[3, lane] = np.uint32(digits >> np.uint64(32)), np.uint32(digits)
        return length
    length = _length(rest) + negative
    for place in range(length - 1, -1, -1):
        _put(block, lane, 8 + place, np.uint32(45 if negative and place == 0 else 48 + rest % np.uint64(10)))
        rest //= np.uint64(10)
    return length


@inlined
def _length(number):
    """Its decimal digits."""
    length, power = 1, np.uint64(10)
    while length < 19 and number >= power:
        length += 1
        power *= np.uint64(10)
    return length


@inlined
def _decimal(number):
    """Eight decimal digits as the bytes of a word, the first one highest: halves, quarters, then digits, all in one word."""
    x = number // np.uint64(10_000)
    x = x << np.uint64(32) | (number - x * np.uint64(10_000))
    y = ((x * np.uint64(10_486)) >> np.uint64(20)) & np.uint64(0x7F0000007F)
    x = y << np.uint64(16) | (x - y * np.uint64(100))
    y = ((x * np.uint64(103)) >> np.uint64(10)) & np.uint64(0x000F000F000F000F)
    return (y << np.uint64(8) | (x - y * np.uint64(10))) + np.uint64(0x3030303030303030)


@inlined
def _digits(word):
    """Eight hexadecimal digits of a word as the bytes of a text, its highest first."""
    x = np.uint64(word)
    x = (x | x << np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    x = (x | x << np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    x = (x | x << np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    letters = ((x + np.uint64(0x0606060606060606)) >> np.uint64(4)) & np.uint64(0x0101010101010101)
    x += np.uint64(0x3030303030303030) + letters * np.uint64(39)
    swapped = np.uint64(0)
    for i in range(8):
        swapped |= ((x >> np.uint64(8 * i)) & np.uint64(0xFF)) << np.uint64(56 - 8 * i)
    return swapped
