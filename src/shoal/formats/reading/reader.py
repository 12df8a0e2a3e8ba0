"""Readers: where bytes are read, what a reader yields, and what every reader can do."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import select
import sys
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import InputError
from shoal.formats.kind import is_standard, packing
from shoal.formats.reading.record_ends import record_lines

UTF8 = "utf-8"
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, ValueError)
_CALLED = {".gz": "gzip", ".zst": "Zstandard", ".bz2": "bzip2", ".xz": "xz"}
BOM = b"\xef\xbb\xbf"  # the mark that some programs put before UTF-8
TAIL = 4 << 10
MOMENT, PAUSE = 0.05, 0.005
"""Seconds for which bytes of a pipe are collected, and seconds without bytes after which it counts as silent."""


def reason(error: OSError) -> str:
    """The reason of the operating system, without the path.

    >>> reason(OSError(2, "No such file or directory", "secret"))
    'no such file or directory'
    """
    return (os.strerror(error.errno) if error.errno else "input/output error").lower()


def opened(path: str) -> io.FileIO:
    """The file at a path, unbuffered."""
    if os.path.isdir(path):
        raise InputError(f"{path}: is a directory; name a file in it")
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({reason(error)}); check the name and the permissions") from None


class Source:
    """The bytes of an input as UTF-8, unpacked, with a count of those that were read from the file itself."""

    def __init__(self, path: str, encoding: str = UTF8) -> None:
        self.path = path
        self._encoding = encoding
        self._decoder = None if encoding == UTF8 else codecs.getincrementaldecoder(encoding)(errors="surrogateescape")
        self._begun = False
        self.last = b""  # the last bytes of the file that were read, if its encoding is another
        self._done = 0
        self._raw: Any = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer) if is_standard(path) else opened(path)
        self._total = os.path.getsize(path) if not is_standard(path) and os.path.isfile(path) else None
        self._packing = packing(path)
        self._unpacked: Any = _unpacked(self._raw, self._packing) if self._packing else None

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; none at the end."""
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: self.readinto(memoryview(buffer))])

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer, or from a pipe as much of it as arrives within a moment; 0 at the end."""
        return self._filled(buffer) if self._decoder is None else self._decoded(buffer)

    def _filled(self, buffer: memoryview) -> int:
        try:
            if self._unpacked:
                count = self._unpacked.readinto(buffer)
                self._done = self._raw.tell()
            else:
                count = self._gathered(buffer) if self._total is None else self._raw.readinto(buffer)
                self._done += count
        except OSError as error:
            if error.errno is None and self._packing:
                raise self._damaged() from None
            raise InputError(f"{self.path}: cannot be read ({reason(error)})") from None
        except _DAMAGED:
            raise self._damaged() from None
        return count

    def _damaged(self) -> InputError:
        name = _CALLED[self._packing]
        return InputError(f"{self.path}: the {name} data is cut short or damaged; compress it again")

    def _decoded(self, buffer: memoryview) -> int:
        """Bytes of another encoding as UTF-8, at most three times as many; bytes that it lacks stay, and are no UTF-8."""
        assert self._decoder is not None
        raw = memoryview(bytearray(max(len(buffer) // 3 - 1, 1)))
        while True:
            count = self._filled(raw)
            if not self._begun and self._encoding == "utf-16" and count > 1 and bytes(raw[:2]) not in _MARKS:
                raise InputError(
                    f"{self.path}: has no mark of UTF-16 at its beginning; save it as UTF-8, or correct input.encoding"
                )
            self._begun = True
            self.last = (self.last + bytes(raw[:count][-TAIL:]))[-TAIL:]
            text = self._decoder.decode(raw[:count], final=not count).encode(errors="surrogateescape")
            if text or not count:
                buffer[: len(text)] = text
                return len(text)

    def _gathered(self, buffer: memoryview) -> int:
        count: int = self._raw.readinto(buffer)
        until = time.monotonic() + MOMENT
        while 0 < count < len(buffer) and self._has_more(until - time.monotonic()):
            more = self._raw.readinto(buffer[count:])
            if not more:
                break
            count += more
        return count

    def _has_more(self, seconds: float) -> bool:
        try:
            return seconds > 0 and bool(select.select([self._raw], [], [], min(seconds, PAUSE))[0])
        except (OSError, ValueError):
            return False

    def progress(self) -> tuple[int, int | None]:
        """`(bytes done, bytes in all)` of the file; the second is None for a pipe."""
        return self._done, self._total

    def close(self) -> None:
        if not is_standard(self.path):
            self._raw.close()


def _unpacked(raw: Any, packing: str) -> Any:
    """The unpacked bytes of a file, by its suffix."""
    match packing:
        case ".gz":
            return gzip.GzipFile(fileobj=raw)
        case ".bz2":
            return bz2.BZ2File(raw)
        case ".xz":
            return lzma.LZMAFile(raw)
    return pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")


class Bytes(Protocol):
    """What gives bytes piece by piece, as a `Source` does."""

    path: str

    def readinto(self, buffer: memoryview) -> int: ...


def chunks(
    source: Bytes, size: int, longest: int, cut: Callable[[bytearray, int], int], too_long: str
) -> Iterator[tuple[bytes, bool]]:
    """Pieces of about `size` bytes, without a byte order mark, each with whether it ends with a whole record.

    `cut(buffer, filled)` gives the end of the last whole record among the first `filled` bytes, 0 if there is none. A record
    of more than `longest` bytes is an error, whose text is `too_long`.
    """
    buffer = bytearray(size)
    filled = 0
    mark = BOM
    while count := source.readinto(memoryview(buffer)[filled:]):
        filled += count
        end = cut(buffer, filled)
        if end:
            yield bytes(memoryview(buffer)[:end]).removeprefix(mark), True
            buffer[: filled - end] = buffer[end:filled]
            filled -= end
            mark = b""
        elif filled >= longest:
            raise InputError(f"{source.path}: {too_long}")
        elif filled == len(buffer):
            buffer = buffer + bytes(filled)
    if rest := bytes(memoryview(buffer)[:filled]).removeprefix(mark):
        yield rest, False


R = TypeVar("R", bound=Any)


class Lines:
    """The lines in which the records of a piece of a CSV file begin."""

    def __init__(self, piece: bytes, row: int, line: int, separator: bytes, quote: bytes) -> None:
        self._piece, self._row, self._line = piece, row, line
        self._marks = separator, quote

    @cached_property
    def _found(self) -> npt.NDArray[np.int64]:
        return record_lines(self._piece, *self._marks)

    def of(self, row: int) -> int | None:
        """The line of a row, counted from 1."""
        place = row - self._row
        return int(self._found[place]) + self._line + 1 if 0 <= place < len(self._found) else None

    def moved(self, rows: int, lines: int) -> Lines:
        """The same records, so many rows and lines later."""
        return Lines(self._piece, self._row + rows, self._line + lines, *self._marks)


class Block(NamedTuple):
    """Some consecutive records of an input."""

    batch: pa.RecordBatch  # the asked fields, in the asked order
    rows: npt.NDArray[np.int64]  # the input row of each record, counted from 0, malformed records included
    bad: list[tuple[int, str]]  # (row, reason) of the malformed records; a reason never holds data
    names: Collection[str] = ()  # all fields of the records, as far as they were looked at, also those not asked for
    lines: Lines | None = None  # of a CSV file
    swallowed: int = 0  # lines of malformed records, beyond the first of each: a quote that is not closed takes many

    def line(self, row: int) -> int | None:
        """The line of the file in which a row begins, counted from 1; None if it is not known."""
        return self.lines.of(row) if self.lines else None

    def placed(self, rejections: Iterable[R]) -> list[R]:
        """Rejections of rows of this block, with their lines."""
        if self.lines is None:
            return list(rejections)
        return [each._replace(line=self.line(each.row)) for each in rejections]

    @property
    def end(self) -> int:
        """The number after its last row, counting malformed ones too."""
        return 1 + max([*self.rows[-1:].tolist(), *(row for row, _ in self.bad)], default=-1)

    def split(self, row: int) -> tuple[Block, Block]:
        """What lies before a row, and the rest."""
        at = int(np.searchsorted(self.rows, row))
        before, after = [one for one in self.bad if one[0] < row], [one for one in self.bad if one[0] >= row]
        first = self._replace(batch=self.batch.slice(0, at), rows=self.rows[:at], bad=before)
        return first, self._replace(batch=self.batch.slice(at), rows=self.rows[at:], bad=after, swallowed=0)


class Reader(ABC):
    """Iterates over the blocks of one input."""

    @abstractmethod
    def __iter__(self) -> Iterator[Block]: ...

    @abstractmethod
    def progress(self) -> tuple[int, int | None]:
        """`(bytes done, bytes in all)`; the second is None where it cannot be known."""

    def header(self) -> list[str]:
        """The names of all fields, where a file says them."""
        raise NotImplementedError

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def slices(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    """The batch in pieces of at most `rows` records.

    >>> [piece.num_rows for piece in slices(pa.record_batch({"a": [1, 2, 3]}), 2)]
    [2, 1]
    """
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)
