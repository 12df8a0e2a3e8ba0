"""The compiled loop that follows a program through the bytes of records."""

from __future__ import annotations

import numpy as np

from shoal.compiled import COPIED, copy, inlined, kernel, word
from shoal.formats.avro.program import AGAIN, BOOLEAN, BYTES, DOUBLE, END, FIXED, GO, LOOP, SINGLE, UNION, WHOLE

ROOM = COPIED  # bytes that may be read and written past the end


@kernel
def decode(data, starts, ends, steps, jumps, values, sizes, valid, good, left):
    """Fill values[slot, row], and for bytes their sizes, from the record data[starts[row]:ends[row]].

    A start of -1 is where the record before it ended. Doubles are their bits. `valid` and `good` are zeros before; `left`
    is room for the counts of lists inside lists.
    """
    at = 0
    for row in range(len(starts)):
        if starts[row] >= 0:
            at = starts[row]
        end = ends[row]
        step, depth, is_good = 0, 0, True
        while is_good:
            operation, slot = steps[step, 0], steps[step, 1]
            step += 1
            if operation == END:
                break
            if operation == WHOLE:
                value, at = _whole(data, at, end)
                symbols = steps[step - 1, 2]
                is_good = at >= 0 and (symbols == 0 or 0 <= value < symbols)
                if slot >= 0:
                    values[slot, row] = value
                    valid[slot, row] = 1
            elif operation == BYTES:
                size, at = _whole(data, at, end)
                is_good = at >= 0 and 0 <= size <= end - at
                if is_good:
                    if slot >= 0:
                        values[slot, row] = at
                        sizes[slot, row] = size
                        valid[slot, row] = 1
                    at += size
            elif operation == UNION:
                branch, at = _whole(data, at, end)
                is_good = at >= 0 and 0 <= branch < steps[step - 1, 3]
                if is_good:
                    step = jumps[steps[step - 1, 2] + branch]
            elif operation == GO:
                step = steps[step - 1, 2]
            elif operation == DOUBLE:
                is_good = end - at >= 8
                if is_good:
                    if slot >= 0:
                        values[slot, row] = np.int64(word(data, at))
                        valid[slot, row] = 1
                    at += 8
            elif operation == SINGLE:
                is_good = end - at >= 4
                if is_good:
                    if slot >= 0:
                        values[slot, row] = np.int64(word(data, at) & np.uint64(0xFFFFFFFF))
                        valid[slot, row] = 1
                    at += 4
            elif operation == BOOLEAN:
                is_good = end > at and data[at] <= 1
                if is_good:
                    if slot >= 0:
                        values[slot, row] = data[at]
                        valid[slot, row] = 1
                    at += 1
            elif operation == FIXED:
                size = steps[step - 1, 2]
                is_good = size <= end - at
                if is_good:
                    if slot >= 0:
                        values[slot, row] = at
                        sizes[slot, row] = size
                        valid[slot, row] = 1
                    at += size
            elif operation == LOOP:
                count, at = _block(data, at, end)
                is_good = at >= 0 and depth < len(left)
                if is_good and count == 0:
                    step = steps[step - 1, 2]
                elif is_good:
                    left[depth] = count
                    depth += 1
            elif operation == AGAIN:
                begin = steps[step - 1, 2]
                left[depth - 1] -= 1
                if left[depth - 1] > 0:
                    step = begin + 1
                else:
                    depth -= 1
                    step = begin
        good[row] = is_good
        if not is_good:
            at = end


@inlined
def _whole(data, at, end):
    """A whole number in groups of seven bits, the lowest first, with the sign in the lowest bit; and where it ends, or -1."""
    number, shift = np.uint64(0), np.uint64(0)
    while at < end and shift < np.uint64(70):
        byte = np.uint64(data[at])
        at += 1
        number |= (byte & np.uint64(0x7F)) << (shift & np.uint64(63))
        if byte < np.uint64(0x80):
            return np.int64(number >> np.uint64(1)) ^ -np.int64(number & np.uint64(1)), at
        shift += np.uint64(7)
    return np.int64(0), -1


@inlined
def _block(data, at, end):
    """How many entries the next block of a list has; a count below 0 is followed by the block's size. An entry takes a byte at
    least: lists of null, which take none, are refused, since a few bytes could stand for a list without end."""
    count, at = _whole(data, at, end)
    if at >= 0 and count < 0:
        count = -count
        _, at = _whole(data, at, end)
    if count < 0 or count > end - at:
        at = -1
    return count, at


@kernel
def gather(data, places, sizes, valid, offsets, out):
    """Copy the bytes of each row, one after the other; offsets[row] is where they begin. They are valid or empty."""
    at = 0
    for row in range(len(places)):
        offsets[row] = at
        if valid[row]:
            start, end = places[row], places[row] + sizes[row]
            while start < end:
                copy(data, start, out, at)
                step = min(end - start, COPIED)
                start += step
                at += step
    offsets[len(places)] = at
