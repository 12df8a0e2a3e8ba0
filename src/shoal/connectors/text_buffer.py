"""Text that arrives in pieces: whole records are taken out of it; a record that is too long is passed over."""

from __future__ import annotations

from shoal.dialect import USUAL, Dialect
from shoal.formats import LONGEST, first_end, last_record, overlong

TAIL = 4 << 10  # bytes that identify a text: those before a position


class TextBuffer:
    r"""Bytes that were read and not taken yet. A record that is longer than `LONGEST` is replaced by a line that says so.

    What is taken does not depend on how the text was cut into pieces.

    >>> buffer = TextBuffer("jsonl")
    >>> buffer.add(b'{"a": 1}\n{"a"')
    >>> buffer.take(), buffer.take(), buffer.size
    ((b'{"a": 1}\n', 9), None, 4)
    """

    def __init__(self, kind: str, dialect: Dialect = USUAL, columns: int = 1) -> None:
        self._kind, self._dialect, self._columns = kind, dialect.named(""), columns
        self._data = bytearray()
        self._passed = 0  # bytes of a record that is too long, which were thrown away
        self.tail = b""  # the last bytes that were taken
        self._thrown = b""  # the last bytes that were thrown away

    @property
    def size(self) -> int:
        """How many bytes were added and not taken."""
        return self._passed + len(self._data)

    @property
    def last(self) -> bytes:
        """The last bytes that were added."""
        return (self.tail + self._thrown + self._data[-TAIL:])[-TAIL:]

    @property
    def has_line(self) -> bool:
        return b"\n" in self._data

    def add(self, data: bytes) -> None:
        self._data += data

    def take(self, most: int | None = None) -> tuple[bytes, int] | None:
        """Whole records, and how many bytes of the text they are; None if there is no whole record.

        With `most`, so many bytes were taken before: they are whole records, or what was given up then.
        """
        if self._passed or len(self._data) > LONGEST:
            return self._overlong(LONGEST if most is None else min(most, LONGEST))
        end = last_record(self._kind, self._data, self._dialect) if self._data else 0
        if most is not None and len(self._data) >= most:
            end = most
        return self._taken(end) if end else None

    def give_up(self) -> tuple[bytes, int] | None:
        """The first line, although its record goes on; None if there is no whole line."""
        end = self._data.find(b"\n") + 1
        return self._taken(end) if end else None

    def rest(self) -> tuple[bytes, int] | None:
        """All that is left, at the end of the text."""
        if self._passed:
            return self._replaced(len(self._data))
        return self._taken(len(self._data)) if self._data else None

    def _overlong(self, most: int) -> tuple[bytes, int] | None:
        if self._passed:
            end = self._data.find(b"\n") + 1
            if end:
                return self._replaced(end)
            self._throw(len(self._data))
            return None
        end = first_end(self._kind, self._data, self._dialect)
        if 0 < end <= LONGEST:
            return self._taken(last_record(self._kind, self._data[:most], self._dialect))
        line = self._data.find(b"\n", 0, LONGEST) + 1
        if line:  # a quote that is not closed
            return self._taken(line)
        if end:
            return self._replaced(end)
        self._throw(len(self._data))
        return None

    def _throw(self, size: int) -> None:
        self._thrown = (self._thrown + self._data[:size][-TAIL:])[-TAIL:]
        self._passed += size
        del self._data[:size]

    def _replaced(self, size: int) -> tuple[bytes, int]:
        self._throw(size)
        passed, self._passed = self._passed, 0
        self.tail, self._thrown = (self.tail + self._thrown)[-TAIL:], b""
        return overlong(self._kind, self._dialect, self._columns), passed

    def _taken(self, size: int) -> tuple[bytes, int]:
        piece = bytes(memoryview(self._data)[:size])
        del self._data[:size]
        self.tail = (self.tail + piece[-TAIL:])[-TAIL:]
        return piece, size
