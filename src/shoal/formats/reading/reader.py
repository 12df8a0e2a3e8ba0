"""Readers: where bytes are read, what a reader yields, and what every reader can do."""

from __future__ import annotations

import gzip
import io
import os
import select
import sys
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import InputError

BOM = b"\xef\xbb\xbf"  # the mark that some programs put before UTF-8
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
    """The bytes of an input, with a count of those that were read from the file itself."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._done = 0
        self._raw: Any = opened(path) if path != "-" else getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
        self._total = os.path.getsize(path) if path != "-" and os.path.isfile(path) else None
        self._gzip = gzip.GzipFile(fileobj=self._raw) if path.lower().endswith(".gz") else None

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; none at the end."""
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: self.readinto(memoryview(buffer))])

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer, or from a pipe as much of it as arrives within a moment; 0 at the end."""
        try:
            if self._gzip:
                count = self._gzip.readinto(buffer)
                self._done = self._raw.tell()
            else:
                count = self._gathered(buffer) if self._total is None else self._raw.readinto(buffer)
                self._done += count
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise InputError(f"{self.path}: the gzip data is cut short or damaged; compress it again") from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({reason(error)})") from None
        return count

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
        if self.path != "-":
            self._raw.close()


def chunks(
    source: Source, size: int, longest: int, cut: Callable[[bytearray, int], int], too_long: str
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


class Block(NamedTuple):
    """Some consecutive records of an input."""

    batch: pa.RecordBatch  # the asked fields, in the asked order
    rows: npt.NDArray[np.int64]  # the input row of each record, counted from 0, malformed records included
    bad: list[tuple[int, str]]  # (row, reason) of the malformed records; a reason never holds data
    names: Collection[str] = ()  # all fields of the records, as far as they were looked at, also those not asked for


class Reader(ABC):
    """Iterates over the blocks of one input."""

    @abstractmethod
    def __iter__(self) -> Iterator[Block]: ...

    @abstractmethod
    def progress(self) -> tuple[int, int | None]:
        """`(bytes done, bytes in all)`; the second is None where it cannot be known."""

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
