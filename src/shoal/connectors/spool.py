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
    """Appends batches, each with its number and a checksum; what a crash tore off at its end is dropped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

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

    def add(self, waiting: Waiting) -> None:
        """Append a batch; it is durable once `make_durable` returns."""
        with guarded(self._path, ConnectorError, "make room, and start again"):
            self._opened().write(_piece(waiting))

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

    def clear(self) -> None:
        """Forget all batches: they are stored."""
        if self._file or self._path.exists():
            self._opened().truncate(0)

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._file = os.fdopen(descriptor, "ab", buffering=0)
            folder = os.open(self._path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        return self._file

    def make_durable(self) -> None:
        """May be called from another thread."""
        if self._file:
            with guarded(self._path, ConnectorError, "make room, and start again"):
                os.fsync(self._file.fileno())

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
