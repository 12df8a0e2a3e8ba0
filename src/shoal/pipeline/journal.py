"""The journal: the input of the anonymizer after a checkpoint, in order.

An entry is durable before anything that depends on it becomes visible. When the journal is replayed, the anonymizer releases
the same tuples in the same groups.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from shoal.connectors import Position
from shoal.errors import StateError
from shoal.formats import guarded
from shoal.pipeline.encryption import Damaged, FileCipher


class Entry(NamedTuple):
    """One input of the anonymizer."""

    kind: Literal["begin", "delivery", "tick", "clock", "flush", "letters"]
    at: float  # of a tick, or a clock that is set back, the stream's time; else the time of day
    position: Position | None = None  # of the source, after a delivery
    payloads: Sequence[bytes] | None = None  # of a delivery that its source cannot replay


class Journal:
    """Writes a file of entries; the first entry says how many entries the previous journal has, and their digest.

    Nothing is on the disk before the first `sync`, not even the file's name.
    """

    def __init__(self, path: Path, cipher: FileCipher, before: int = 0, chain: str = "") -> None:
        self._path = path
        self._file = open(path, "xb", buffering=1 << 16, opener=private)  # noqa: SIM115
        self._writer = cipher.writer(self._file)
        self._is_durable = self._is_named = False
        self.count = -1  # entries, without the first
        self.add(Entry("begin", before, {"chain": chain}))
        self._file.flush()

    def add(self, entry: Entry) -> None:
        """Write an entry; it is durable once `sync` returns. A full disk is a StateError."""
        with self._guarded():
            self._writer.add(_written(entry))
        self.count += 1
        self._is_durable = False

    def sync(self) -> bool:
        """Return once all entries are on the disk: whether they were not before."""
        if self._is_durable:
            return False
        with self._guarded():
            self._file.flush()
            os.fdatasync(self._file.fileno())
            if not self._is_named:
                sync_file(self._path.parent)
        self._is_durable = self._is_named = True
        return True

    @property
    def chain(self) -> str:
        """A digest of all entries so far."""
        return self._writer.chain.hex()

    def _guarded(self) -> AbstractContextManager[None]:
        return guarded(self._path, StateError, "make room, and start again")

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()


def private(path: str, flags: int) -> int:
    """Open a file that only its owner may read."""
    return os.open(path, flags, 0o600)


def sync_file(path: Path) -> None:
    """Force a file to the disk; of a folder, the names of its files."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


class JournalEntries(Iterator[Entry]):
    """The entries of a journal; a last entry that was not written completely is left out.

    Raises Damaged where the file is not what was written.
    """

    def __init__(self, path: Path, cipher: FileCipher) -> None:
        try:
            self._pieces = cipher.pieces(path.read_bytes())
        except FileNotFoundError:
            raise Damaged from None

    def __next__(self) -> Entry:
        return _read(next(self._pieces))

    @property
    def chain(self) -> str:
        """A digest of all entries so far."""
        return self._pieces.chain.hex()


def _written(entry: Entry) -> bytes:
    sizes = None if entry.payloads is None else [len(payload) for payload in entry.payloads]
    head = json.dumps([entry.kind, entry.at, entry.position, sizes]).encode()
    return len(head).to_bytes(4, "big") + head + b"".join(entry.payloads or ())


def _read(piece: bytes) -> Entry:
    """
    >>> _read(_written(Entry("delivery", 1.5, {"at": 3}, [b"ab", b"c"])))
    Entry(kind='delivery', at=1.5, position={'at': 3}, payloads=[b'ab', b'c'])
    """
    end = 4 + int.from_bytes(piece[:4], "big")
    try:
        kind, at, position, sizes = json.loads(piece[4:end])
    except ValueError:
        raise Damaged from None
    payloads: Any = None
    if sizes is not None:
        payloads = []
        for size in sizes:
            payloads.append(piece[end : end + size])
            end += size
    return Entry(kind, at, position, payloads)
