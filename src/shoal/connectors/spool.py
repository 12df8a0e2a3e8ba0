"""A file of tuples that a sink was given and has not stored yet. They are what will be published, and nothing else."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa

from shoal.errors import ConnectorError
from shoal.formats import guarded

_HEAD = struct.Struct(">QQI")  # the number of the first tuple, the size in bytes, a checksum


class Waiting(NamedTuple):
    """Tuples that wait, of which the first has a number."""

    first: int
    batch: pa.RecordBatch

    @property
    def end(self) -> int:
        return self.first + len(self.batch)


class Spool:
    """Batches, each with its number and a checksum; what a crash tore off at the end is dropped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._span: tuple[int, int] | None = None  # the first number in it, and the one after the last

    def read(self) -> Iterator[Waiting]:
        """The batches that are whole."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        at = 0
        while at + _HEAD.size <= len(data):
            first, size, checksum = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            piece = data[at : at + size]
            if len(piece) < size or zlib.crc32(piece) != checksum:
                return
            at += size
            yield Waiting(first, pa.ipc.open_stream(piece).read_next_batch())

    def hold(self, some: Sequence[Waiting]) -> None:
        """Hold these tuples, which follow each other, and no older ones; they are durable then.

        May be called from another thread than the other methods, not at the same time.
        """
        if self._span is None or not some or some[0].first != self._span[0]:
            if some or self._span:
                self.replace(some)
            return
        new = [waiting for waiting in some if waiting.first >= self._span[1]]
        if new:
            with guarded(self._path, ConnectorError, "make room, and start again"):
                file = self._opened()
                for waiting in new:
                    file.write(_piece(waiting))
                os.fsync(file.fileno())
            self._span = (self._span[0], new[-1].end)

    def replace(self, some: Sequence[Waiting]) -> None:
        """Hold these batches and no others, whatever happens meanwhile."""
        self.close()
        draft = self._path.with_suffix(".part")
        with guarded(self._path, ConnectorError, "make room, and start again"):
            with open(draft, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                for waiting in some:
                    file.write(_piece(waiting))
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self._path)
            self._opened()
        self._span = (some[0].first, some[-1].end) if some else None

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._file = os.fdopen(descriptor, "ab", buffering=0)
            folder = os.open(self._path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        return self._file

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None


def _piece(waiting: Waiting) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, waiting.batch.schema) as writer:
        writer.write_batch(waiting.batch)
    data = out.getvalue()
    return _HEAD.pack(waiting.first, data.size, zlib.crc32(data)) + memoryview(data)
