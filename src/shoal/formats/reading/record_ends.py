"""Where CSV records end: at a line end that is not inside quotes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.compiled import kernel

_LF, _CR = b"\n\r"
_NONE = 256  # no byte: nothing is quoted
_START, _PLAIN, _QUOTED, _AFTER = range(4)


class Ends(NamedTuple):
    """The end of the first record that is not blank and of the last one, 0 if there is none; whether no quote is open."""

    first: int
    last: int
    closed: bool


def last_end(buffer: bytearray, filled: int, separator: bytes = b",", quote: bytes = b'"') -> int:
    """The end of the last whole record; 0 if there is none. Without a quote mark, nothing is quoted."""
    if not quote or buffer.find(quote, 0, filled) < 0:
        return buffer.rfind(b"\n", 0, filled) + 1 or buffer.rfind(b"\r", 0, filled) + 1
    return record_ends(memoryview(buffer)[:filled], separator, quote).last


def record_ends(data: bytes | memoryview, separator: bytes = b",", quote: bytes = b'"') -> Ends:
    r"""Where records end in some bytes.

    >>> record_ends(b'\na,"b\n"\nc,d\ne,"f')
    Ends(first=8, last=12, closed=False)
    """
    first, last, state = _scan(np.frombuffer(data, np.uint8), separator[0], quote[0] if quote else _NONE)
    return Ends(first, last, state != _QUOTED)


def record_lines(data: bytes, separator: bytes, quote: bytes) -> NDArray[np.int64]:
    r"""The line in which each record begins that is not blank, counted from 0.

    >>> record_lines(b'a,"b\n"\n\nc,d\n', b",", b'"')
    array([0, 3])
    """
    lines = np.empty(data.count(b"\n") + data.count(b"\r") + 1, np.int64)
    count = _lines(np.frombuffer(data, np.uint8), separator[0], quote[0] if quote else _NONE, lines)
    return lines[:count]


@kernel
def _lines(data, separator, quote, lines):
    """Fill in the line of each record; return how many there are."""
    count = line = 0
    state, blank = _START, True
    for i in range(len(data)):
        letter = data[i]
        is_end = letter == _LF or (letter == _CR and not (i + 1 < len(data) and data[i + 1] == _LF))
        if state == _QUOTED:
            if letter == quote:
                state = _AFTER
        elif letter in (_LF, _CR):
            state, blank = _START, True
        else:
            if blank:
                lines[count] = line
                count += 1
            blank = False
            if letter == quote and state != _PLAIN:
                state = _QUOTED
            elif letter == separator:
                state = _START
            else:
                state = _PLAIN
        line += is_end
    return count


@kernel
def _scan(data, separator, quote):
    """The ends of the first and the last record, and the state after the last byte.

    By RFC 4180, a quote opens a value only at its beginning, and two quotes inside a quoted value stand for one.
    """
    first = last = 0
    state, blank = _START, True
    for i in range(len(data)):
        letter = data[i]
        if state == _QUOTED:
            if letter == quote:
                state = _AFTER
        elif letter in (_LF, _CR):
            last = i + 1
            if first == 0 and not blank:
                first = last
            state, blank = _START, True
        else:
            blank = False
            if letter == quote and state != _PLAIN:
                state = _QUOTED
            elif letter == separator:
                state = _START
            else:
                state = _PLAIN
    return first, last, state
