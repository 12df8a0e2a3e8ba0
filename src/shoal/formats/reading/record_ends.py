"""Where CSV records end: at a line end that is not inside quotes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.compiled import kernel

_QUOTE, _COMMA, _LF, _CR = b'",\n\r'
_START, _PLAIN, _QUOTED, _AFTER = range(4)


class Ends(NamedTuple):
    """The end of the first record that is not blank and of the last one, 0 if there is none; whether no quote is open."""

    first: int
    last: int
    closed: bool


def last_end(buffer: bytearray, filled: int) -> int:
    if buffer.find(b'"', 0, filled) < 0:
        return buffer.rfind(b"\n", 0, filled) + 1 or buffer.rfind(b"\r", 0, filled) + 1
    return record_ends(memoryview(buffer)[:filled]).last


def record_ends(data: bytes | memoryview) -> Ends:
    r"""Where records end in some bytes.

    >>> record_ends(b'\na,"b\n"\nc,d\ne,"f')
    Ends(first=8, last=12, closed=False)
    """
    first, last, state = _scan(np.frombuffer(data, np.uint8))
    return Ends(first, last, state != _QUOTED)


@kernel
def _scan(data):
    """The ends of the first and the last record, and the state after the last byte.

    By RFC 4180, a quote opens a value only at its beginning, and two quotes inside a quoted value stand for one.
    """
    first = last = 0
    state, blank = _START, True
    for i in range(len(data)):
        letter = data[i]
        if state == _QUOTED:
            if letter == _QUOTE:
                state = _AFTER
        elif letter in (_LF, _CR):
            last = i + 1
            if first == 0 and not blank:
                first = last
            state, blank = _START, True
        else:
            blank = False
            if letter == _QUOTE and state != _PLAIN:
                state = _QUOTED
            elif letter == _COMMA:
                state = _START
            else:
                state = _PLAIN
    return first, last, state
