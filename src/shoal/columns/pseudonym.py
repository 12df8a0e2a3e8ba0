"""Pseudonyms of users: each is valid within one period."""

from __future__ import annotations

import hashlib
import hmac
import struct

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.columns.fingerprint import bytes_of
from shoal.columns.sha256 import LANES, START, WORDS, compress, compress_digest, compress_short, hexadecimal
from shoal.compiled import inlined, kernel

DIGITS = 32
"""Hexadecimal digits of a pseudonym: 128 bits. That any two of n users of a period collide has a chance below n²/2^129."""

_BLOCK = 4 * WORDS
_LONGEST = _BLOCK - 9 - 8  # bytes of text that fit into one block, beside the period, the padding and the length
_TOGETHER = 512  # users that are looked up before the new pseudonyms among them are computed
_SHORT = np.uint64(100_000_000)  # below it, a number has at most eight digits
_RECENT = 1 << 13  # users of a batch that are remembered: few enough for the processor's cache
_RARE = 20  # this many look-ups cost as much as one pseudonym
_PLACE = np.uint64(0xFFFFFFFF)  # the bits of an entry that hold a row; the others are bits of a hash, and one flag
_TAKEN = np.uint64(1 << 63)


def pseudonym(secret: bytes, period: int, person: bytes) -> bytes:
    """The first 128 bits of HMAC-SHA256(secret, period ‖ person) in hexadecimal: the period in 8 bytes, the person in UTF-8.

    >>> pseudonym(b"a secret of the house", 472222, b"ann")
    b'7274df531b0cf22df89a3043179ab4cd'
    """
    return hmac.digest(secret, struct.pack(">q", period) + person, "sha256").hex()[:DIGITS].encode()


class Pseudonyms:
    """Computes pseudonyms under one secret. Within a batch, most pseudonyms are computed once, however often they occur."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._inner, self._outer = (_state(secret, pad) for pad in (0x36363636, 0x5C5C5C5C))
        self._recent = np.empty(_RECENT, np.uint64)
        self._ends = np.zeros(1, np.int32)  # offsets of texts of equal length

    def of(
        self, keys: NDArray[np.uint64], period: NDArray[np.int64], rows: NDArray[np.int64], person: pa.Array | None
    ) -> pa.Array:
        """The pseudonyms of the users in these rows. `person` has their texts, or is None if all keys are whole numbers."""
        size = len(rows)
        content, bounds = bytes_of(pa.array([], pa.large_string()) if person is None else person)
        out = np.empty((size, DIGITS // 8), np.uint64)
        new, same = np.empty(_TOGETHER, np.int32), np.empty(_TOGETHER, np.int32)
        self._recent.fill(0)
        _name(self._recent, keys, period, rows, content, bounds, self._inner, self._outer, *_blocks(), new, same, out)
        for i in np.flatnonzero(np.diff(bounds) > _LONGEST):
            text = content[bounds[i] : bounds[i + 1]].tobytes()
            out[i] = np.frombuffer(pseudonym(self._secret, int(period[rows[i]]), text), np.uint64)
        if len(self._ends) <= size:
            self._ends = np.arange(0, DIGITS * size + 1, DIGITS, dtype=np.int32)
        return pa.Array.from_buffers(pa.string(), size, [None, pa.py_buffer(self._ends[: size + 1]), pa.py_buffer(out)])


def _state(secret: bytes, pad: int) -> NDArray[np.uint32]:
    """The state of SHA-256 after the block that HMAC makes of the secret (RFC 2104), in every lane."""
    short = secret if len(secret) <= _BLOCK else hashlib.sha256(secret).digest()
    words = np.frombuffer(short.ljust(_BLOCK, b"\0"), ">u4").astype(np.uint32) ^ np.uint32(pad)
    state = np.empty((8, LANES), np.uint32)
    _compress(_in_lanes(START), _in_lanes(words), state)
    return state


def _blocks() -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64]]:
    """Buffers for the messages, for the inner digests, for half of the outer ones and for their text."""
    block, between, digest = (np.zeros((rows, LANES), np.uint32) for rows in (WORDS, 8, 4))
    return block, between, digest, np.zeros((LANES, DIGITS // 8), np.uint64)


def _in_lanes(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return np.repeat(words[:, None], LANES, axis=1)


@kernel
def _compress(state, block, out):
    compress(state, block, out)


@kernel
def _name(recent, keys, period, rows, content, bounds, inner, outer, block, between, digest, text, new, same, out):
    """Write the pseudonym of each row into `out`, some rows at a time: compute the new ones, copy the others.

    If hardly any user of a batch occurs again, the look-ups stop.
    """
    copied = 0
    for first in range(0, len(rows), _TOGETHER):
        last = min(first + _TOGETHER, len(rows))
        if first <= _RECENT or _RARE * copied >= first:
            made, short = _look_up(recent, keys, period, rows, first, last, new, same)
        else:
            made, short = _list_all(keys, rows, first, last, new)
        copied += last - first - made
        for start in range(0, made, LANES):
            some = new[start : min(start + LANES, made)]
            if short:
                _write_short(block, some, keys, period, rows)
                compress_short(inner, block, between)
            else:
                _write(block, some, keys, period, rows, content, bounds)
                compress(inner, block, between)
            compress_digest(outer, between, digest)
            hexadecimal(digest, text)
            for lane in range(len(some)):
                for word in range(4):
                    out[some[lane], word] = text[lane, word]
        if made == last - first:
            continue
        for i in range(first, last):
            if same[i - first] >= 0:
                for word in range(4):
                    out[i, word] = out[same[i - first], word]


@inlined
def _look_up(recent, keys, period, rows, first, last, new, same):
    """Write the rows that need a new pseudonym into `new`; for every other row, `same` is an earlier row of the same user.

    Returns how many are new, and whether all of these are numbers of at most eight digits without a sign.
    """
    made, short = 0, True
    for i in range(first, last):
        row = rows[i]
        mixed = (keys[row, 0] ^ keys[row, 1] ^ np.uint64(period[row])) * np.uint64(0x9E3779B97F4A7C15)
        at = (mixed >> np.uint64(32)) & np.uint64(_RECENT - 1)
        mark = mixed & ~_PLACE | _TAKEN
        same[i - first] = -1
        if recent[at] & ~_PLACE == mark:  # almost always the entry of the same user
            before = np.int64(recent[at] & _PLACE)
            if _alike(keys, period, row, rows[before]):
                same[i - first] = before
                continue
        recent[at] = mark | np.uint64(i)
        new[made] = i
        made += 1
        short &= keys[row, 0] < _SHORT and keys[row, 1] == 0
    return made, short


@inlined
def _list_all(keys, rows, first, last, new):
    """As `_look_up`, but all rows are treated as new."""
    short = True
    for i in range(first, last):
        new[i - first] = i
        short &= keys[rows[i], 0] < _SHORT and keys[rows[i], 1] == 0
    return last - first, short


@inlined
def _alike(keys, period, row, other):
    return keys[row, 0] == keys[other, 0] and keys[row, 1] == keys[other, 1] and period[row] == period[other]


@inlined
def _write_short(block, some, keys, period, rows):
    """The messages of some rows, without branches, so that the loop is vectorized; unused lanes repeat the last row."""
    for lane in range(LANES):
        row = rows[some[min(lane, len(some) - 1)]]
        block[0, lane], block[1, lane] = np.uint32(period[row] >> 32), np.uint32(period[row])
        block[2, lane] = np.uint32(keys[row, 0])
    for lane in range(LANES):
        number = block[2, lane]
        length = np.uint64(_length_of_short(number))
        end = np.uint64(0x80) << (np.uint64(56) - np.uint64(8) * (length & np.uint64(7)))
        digits = _decimal(np.uint64(number)) << (np.uint64(64) - np.uint64(8) * length)
        digits |= end if length < np.uint64(8) else np.uint64(0)
        block[2, lane], block[3, lane] = np.uint32(digits >> np.uint64(32)), np.uint32(digits)
        block[4, lane] = np.uint32(0x80000000) if length == np.uint64(8) else np.uint32(0)
        block[WORDS - 1, lane] = np.uint32(8 * (_BLOCK + 8)) + np.uint32(8) * np.uint32(length)


@inlined
def _write(block, some, keys, period, rows, content, bounds):
    """The messages of some rows, one by one."""
    for word in range(WORDS):
        for lane in range(LANES):
            block[word, lane] = 0
    for lane in range(len(some)):
        i = some[lane]
        row = rows[i]
        block[0, lane], block[1, lane] = np.uint32(period[row] >> 32), np.uint32(period[row])
        if keys[row, 1] == 0:
            length = _write_number(block, lane, keys[row, 0])
        else:
            length = _write_text(block, lane, content, bounds[i], bounds[i + 1])
        _put(block, lane, 8 + length, 0x80)
        block[WORDS - 1, lane] = 8 * (_BLOCK + 8 + length)


@inlined
def _put(block, lane, place, byte):
    block[place >> 2, lane] |= np.uint32(byte) << np.uint32(24 - 8 * (place & 3))


@inlined
def _write_text(block, lane, content, first, last):
    length = min(last - first, _LONGEST)  # longer texts are handled in `Pseudonyms.of`
    for i in range(length):
        _put(block, lane, 8 + i, content[first + i])
    return length


@inlined
def _write_number(block, lane, value):
    """The digits of a whole number in two's complement."""
    negative = np.int64(value) < 0
    rest = ~value + np.uint64(1) if negative else value
    length = _length(rest) + negative
    for place in range(length - 1, -1, -1):
        _put(block, lane, 8 + place, np.uint32(45 if negative and place == 0 else 48 + rest % np.uint64(10)))
        rest //= np.uint64(10)
    return length


@inlined
def _length(number):
    """The number of its decimal digits."""
    length, power = 1, np.uint64(10)
    while length < 19 and number >= power:
        length += 1
        power *= np.uint64(10)
    return length


@inlined
def _length_of_short(number):
    """The number of its decimal digits, at most eight."""
    length, power = np.uint32(1), np.uint32(10)
    for _ in range(7):
        length += np.uint32(number >= power)
        power *= np.uint32(10)
    return length


@inlined
def _decimal(number):
    """Eight decimal digits as the bytes of a word, the first one highest: split into halves, quarters, digits."""
    x = (number * np.uint64(3_518_437_209)) >> np.uint64(45)  # number // 10,000
    x = x << np.uint64(32) | (number - x * np.uint64(10_000))
    y = ((x * np.uint64(10_486)) >> np.uint64(20)) & np.uint64(0x7F0000007F)
    x = y << np.uint64(16) | (x - y * np.uint64(100))
    y = ((x * np.uint64(103)) >> np.uint64(10)) & np.uint64(0x000F000F000F000F)
    return (y << np.uint64(8) | (x - y * np.uint64(10))) + np.uint64(0x3030303030303030)
