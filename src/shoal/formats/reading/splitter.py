"""Lines of one shape, split at commas or another separator by a compiled loop that numbers the distinct values of a column.

A line holds, for each of its columns, a constant text and a piece without a comma, and then a constant end. Quotes and escapes
mean nothing here: the caller knows that a comma always ends a piece, or checks the pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.compiled import COPIED, copy, first_one, inlined, kernel, word
from shoal.digits import whole_number

SKIPPED, TEXT, CODED = range(3)  # how a column is read: not at all, as its pieces, or as codes of its distinct pieces
_DONE, _FULL, _ODD = range(3)
_ENTRIES, _LETTERS = 1024, 1 << 16

_LINE = 10
_NULL = tuple(b"null")
_ONES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_LINES = _ONES * np.uint64(_LINE)
_MIX, _STIR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


Bytes = NDArray[np.uint8]
Whole = NDArray[np.int32]


class Coded(NamedTuple):
    """A column as codes of its distinct pieces; `pieces` stays the same object until a new one occurs."""

    codes: pa.Array
    pieces: pa.Array


class Known(NamedTuple):
    """The distinct pieces of all columns, numbered from 1. `table` is a hash table of these numbers; 0 is an empty slot."""

    table: Whole
    head: NDArray[np.uint64]  # the first 8 bytes
    size: NDArray[np.int64]
    column: Whole
    code: Whole
    place: NDArray[np.int64]  # the offset in `letters`
    letters: Bytes
    counts: Whole  # how many each column has, and how many there are in all


def _known(columns: int, entries: int, letters: int) -> Known:
    whole, wide = np.zeros((2, entries), np.int32), np.zeros((2, entries), np.int64)
    return Known(
        np.zeros(2 * entries, np.int32), np.zeros(entries, np.uint64), wide[0], whole[0], whole[1], wide[1],
        np.zeros(letters + COPIED, np.uint8), np.zeros(columns + 1, np.int32),
    )  # fmt: skip


class Splitter:
    r"""Splits blocks of lines; codes stay the same from block to block.

    >>> splitter = Splitter([b"{a: ", b" b: "], b"}", [CODED, TEXT])
    >>> one, two = splitter.split(b"{a: x, b: 1}\n{a: y, b: 2}\n{a: x, b: 3}\n")
    >>> one.codes.to_pylist(), one.pieces.to_pylist(), two.to_pylist()
    ([0, 1, 0], [b'x', b'y'], [b'1', b'2', b'3'])
    >>> splitter.split(b"{a: x, c: 1}\n") is None
    True
    """

    def __init__(self, befores: Sequence[bytes], end: bytes, kinds: Sequence[int], separator: bytes = b",") -> None:
        self._separators = _ONES * np.uint64(separator[0])
        self._marks = np.cumsum([0, *map(len, befores), len(end)])
        self._constants = np.frombuffer(b"".join([*befores, end, bytes(COPIED)]), np.uint8)
        self._kinds = np.array(kinds)
        self._known = _known(len(kinds), _ENTRIES, _LETTERS)
        self._pieces = [pa.array([], pa.binary()) for _ in kinds]
        self._room = np.zeros(0, np.uint8)
        self.rows = 0  # the number of lines of the last block

    @property
    def counts(self) -> list[int]:
        """How many distinct pieces each coded column has had."""
        return self._known.counts[:-1].tolist()

    def split(self, block: bytes) -> list[Coded | pa.Array | None] | None:
        """The columns of whole lines, one row per line; None if a line has another shape."""
        data = self._with_room(block)
        self.rows = _count(data, len(block))
        starts, sizes = np.empty((2, len(self._kinds), self.rows), np.int32)
        at = np.zeros(2, np.int64)
        while True:
            state = _split(
                data, len(block), self._separators, self._constants, self._marks, self._kinds, self._known, starts, sizes, at
            )
            if state != _FULL:
                break
            self._grow()
        return None if state == _ODD else [self._column(c, data, starts[c], sizes[c]) for c in range(len(self._kinds))]

    def _with_room(self, block: bytes) -> Bytes:
        """A buffer with the block, a line end, and further bytes that may be read."""
        if len(self._room) < len(block) + COPIED:
            self._room = np.zeros(len(block) + len(block) // 8 + COPIED, np.uint8)
        self._room[: len(block)] = np.frombuffer(block, np.uint8)
        self._room[len(block)] = _LINE
        return self._room

    def _grow(self) -> None:
        old = self._known
        new = _known(len(self._kinds), 2 * len(old.head), 2 * len(old.letters))
        for name in Known._fields[1:]:
            getattr(new, name)[: len(getattr(old, name))] = getattr(old, name)
        _enter_all(new)
        self._known = new

    def _column(self, c: int, data: Bytes, starts: Whole, sizes: Whole) -> Coded | pa.Array | None:
        if self._kinds[c] == SKIPPED:
            return None
        if self._kinds[c] == CODED:
            return Coded(pa.array(starts), self._distinct(c))
        return _gathered(data, starts, sizes)

    def _distinct(self, c: int) -> pa.Array:
        known = self._known
        if known.counts[c] > len(self._pieces[c]):
            own = np.flatnonzero(known.column[1 : known.counts[-1] + 1] == c) + 1
            self._pieces[c] = _gathered(known.letters, known.place[own].astype(np.int32), known.size[own].astype(np.int32))
        return self._pieces[c]


def _gathered(data: Bytes, starts: Whole, sizes: Whole) -> pa.Array:
    places, letters = np.empty(len(starts) + 1, np.int32), np.empty(int(sizes.sum()) + COPIED, np.uint8)
    _gather(data, starts, sizes, places, letters)
    return pa.Array.from_buffers(pa.binary(), len(starts), [None, pa.py_buffer(places), pa.py_buffer(letters)])


def whole_numbers(pieces: pa.Array) -> pa.Array | None:
    """As int64, if each is written as JSON writes an integer, or null.

    >>> whole_numbers(pa.array([b"12", b"null", b"-3"])).to_pylist(), whole_numbers(pa.array([b"012"]))
    ([12, None, -3], None)
    """
    _, places, letters = pieces.buffers()
    values, valid = np.empty(len(pieces), np.int64), np.zeros(len(pieces), bool)
    ends = np.frombuffer(places, np.int32)[pieces.offset :]
    if not _read_whole(ends, np.frombuffer(letters or b"", np.uint8), values, valid):
        return None
    return pa.array(values, mask=~valid)


@inlined
def _piece_end(data, at, separators):
    """The place of the next separator or line end: of 8 bytes at a time, the lowest that becomes 0."""
    while True:
        eight = word(data, at)
        commas, lines = eight ^ separators, eight ^ _LINES
        found = ((commas - _ONES) & ~commas | (lines - _ONES) & ~lines) & _TOPS
        if found != np.uint64(0):
            return at + (first_one(found) >> 3)
        at += 8


@inlined
def _first(eight, size):
    """The first `size` bytes of 8, the others 0."""
    return eight if size >= 8 else eight & ((np.uint64(1) << np.uint64(8 * size)) - np.uint64(1))


@inlined
def _is_same(one, at, other, place, size):
    i = 0
    while i < size:
        if _first(word(one, at + i) ^ word(other, place + i), size - i) != np.uint64(0):
            return False
        i += 8
    return True


@inlined
def _spot(known, data, at, size, column):
    """The slot of the table that holds the piece, or the empty one that would."""
    head = _first(word(data, at), size)
    mixed = (head + np.uint64(size)) * _MIX + np.uint64(column)
    i = 8
    while i < size:
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _STIR + _first(word(data, at + i), size - i)
        i += 8
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _STIR
    last = len(known.table) - 1
    spot = np.int64(mixed >> np.uint64(32)) & last
    while True:
        entry = known.table[spot]
        if entry == 0 or (
            known.head[entry] == head and known.size[entry] == size and known.column[entry] == column
            and (size <= 8 or _is_same(data, at + 8, known.letters, known.place[entry] + 8, size - 8))
        ):  # fmt: skip
            return spot
        spot = (spot + 1) & last


@inlined
def _enter(known, data, at, size, column):
    """The number of a new piece; 0 if the arrays are full."""
    entry = known.counts[-1] + 1
    if entry + 1 >= len(known.head) or known.place[entry] + size + COPIED > len(known.letters):
        return 0
    start, end, to = at, at + size, known.place[entry]
    while start < end:
        copy(data, start, known.letters, to)
        start += COPIED
        to += COPIED
    known.head[entry], known.size[entry] = _first(word(data, at), size), size
    known.column[entry], known.code[entry] = column, known.counts[column]
    known.place[entry + 1] = known.place[entry] + size
    known.counts[column] += 1
    known.counts[-1] = entry
    return entry


@kernel
def _count(data, size):
    """The number of line ends; `bytes.count` takes five times as long."""
    lines = 0
    for i in range(size):
        lines += data[i] == _LINE
    return lines


@kernel
def _enter_all(known):
    """Fill an empty table."""
    for entry in range(1, known.counts[-1] + 1):
        spot = _spot(known, known.letters, known.place[entry], known.size[entry], known.column[entry])
        known.table[spot] = entry


@kernel
def _split(data, size, separators, constants, marks, kinds, known, starts, sizes, progress):
    """Row by row: starts[c] is the place of the piece, or its code. `progress` is the row and the place to continue from."""
    columns = len(kinds)
    row, at = progress[0], progress[1]
    while at < size:
        line = at
        for c in range(columns):
            before = marks[c + 1] - marks[c]
            if not _is_same(data, at, constants, marks[c], before):
                return _ODD
            start = at + before
            end = _piece_end(data, start, separators)
            at = end + 1
            if end >= size or (data[end] == _LINE) != (c == columns - 1):
                return _ODD
            if c == columns - 1:
                end -= marks[columns + 1] - marks[columns]
                if end < start or not _is_same(data, end, constants, marks[columns], marks[columns + 1] - marks[columns]):
                    return _ODD
            if kinds[c] == TEXT:
                starts[c, row], sizes[c, row] = start, end - start
            elif kinds[c] == CODED:
                spot = _spot(known, data, start, end - start, c)
                if known.table[spot] == 0:
                    known.table[spot] = _enter(known, data, start, end - start, c)
                    if known.table[spot] == 0:
                        progress[0], progress[1] = row, line
                        return _FULL
                starts[c, row] = known.code[known.table[spot]]
        if at - line == 1:
            return _ODD
        row += 1
    return _DONE


@kernel
def _gather(data, starts, sizes, places, letters):
    """letters = the pieces, one after the other; places = their offsets."""
    at = 0
    for i in range(len(starts)):
        places[i] = at
        start, end, to = starts[i], starts[i] + sizes[i], at
        while start < end:
            copy(data, start, letters, to)
            start += COPIED
            to += COPIED
        at += sizes[i]
    places[len(starts)] = at


@kernel
def _read_whole(places, letters, values, valid):
    """Whether every piece is null or an integer of at most 18 digits, without leading zeros."""
    for i in range(len(values)):
        start, end = places[i], places[i + 1]
        if end - start == 4 and letters[start] == _NULL[0] and letters[start + 1] == _NULL[1]:
            if letters[start + 2] != _NULL[2] or letters[start + 3] != _NULL[3]:
                return False
            continue
        found, negative, size = whole_number(letters, start, end, 18, False)
        if not found:
            return False
        value = np.int64(size)
        values[i], valid[i] = -value if negative else value, True
    return True
