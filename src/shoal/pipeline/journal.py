"""The journal: what the anonymizer was given since a checkpoint, in order.

An entry is durable before anything that depends on it becomes visible. Given again what the journal says, in the same order,
the anonymizer lets the same tuples leave in the same groups.
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
from shoal.formats.writing.sink import guarded
from shoal.pipeline.vault import Damaged, Vault


class Entry(NamedTuple):
    """One thing that the anonymizer was given."""

    kind: Literal["begin", "delivery", "tick", "flush"]
    at: float  # the moment in the stream of a tick; else the time of day
    position: Position | None = None  # where the source stood behind a delivery
    payloads: Sequence[bytes] | None = None  # what it was, if its source cannot give it again


class Journal:
    """A file of entries that is being written; the first tells how many the journal before it has."""

    def __init__(self, path: Path, vault: Vault, before: int = 0) -> None:
        self._path = path
        self._file = open(path, "xb", buffering=1 << 16, opener=private)  # noqa: SIM115
        self._box = vault.sealing(self._file)
        self._is_safe = False
        self.count = -1  # entries after the first, which only begins it
        self.add(Entry("begin", before))
        self.sync()

    def add(self, entry: Entry) -> None:
        """Write an entry; it is safe once `sync` returns.

        Raises
        ------
        StateError
            The disk is full, or gone.
        """
        with self._guarded():
            self._box.add(_written(entry))
        self.count += 1
        self._is_safe = False

    def sync(self) -> None:
        """Returns when all entries are on the disk."""
        if not self._is_safe:
            with self._guarded():
                self._file.flush()
                os.fdatasync(self._file.fileno())
            self._is_safe = True

    def _guarded(self) -> AbstractContextManager[None]:
        return guarded(self._path, StateError, "make room, and start again")

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()


def private(path: str, flags: int) -> int:
    """Open a file that only its owner may read."""
    return os.open(path, flags, 0o600)


def entries(path: Path, vault: Vault) -> Iterator[Entry]:
    """What a journal holds; an entry that was cut off while it was written is not there.

    Raises
    ------
    Damaged
        From here on it cannot be read.
    """
    for piece in vault.opened(path.read_bytes()):
        yield _read(piece)


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
