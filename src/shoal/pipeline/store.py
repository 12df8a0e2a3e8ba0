"""The folder of a pipeline's state: checkpoints, journals, and a lock.

Checkpoint n is the whole state at a moment; journal n is all input of the anonymizer after it, in order. The last two of each
are kept: if the newest checkpoint cannot be read, the previous one and both journals lead to the same state.

An entry of a journal is durable before anything that depends on it becomes visible. When the journal is replayed, the
anonymizer releases the same tuples in the same groups.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from shoal.connectors import Position
from shoal.errors import StateError
from shoal.formats import guarded, reason
from shoal.pipeline.encryption import HEADER, Damaged, FileCipher


class Entry(NamedTuple):
    """One input of the anonymizer."""

    kind: Literal["begin", "delivery", "tick", "flush"]
    at: float  # of a tick, the stream's time; else the time of day
    position: Position | None = None  # of the source, after a delivery
    payloads: Sequence[bytes] | None = None  # of a delivery that its source cannot replay


class Journal:
    """Writes a file of entries; the first entry says how many entries the previous journal has."""

    def __init__(self, path: Path, cipher: FileCipher, before: int = 0) -> None:
        self._path = path
        self._file = open(path, "xb", buffering=1 << 16, opener=private)  # noqa: SIM115
        self._writer = cipher.writer(self._file)
        self._is_durable = False
        self.count = -1  # entries, without the first
        self.add(Entry("begin", before))
        self.sync()

    def add(self, entry: Entry) -> None:
        """Write an entry; it is durable once `sync` returns. A full disk is a StateError."""
        with self._guarded():
            self._writer.add(_written(entry))
        self.count += 1
        self._is_durable = False

    def sync(self) -> None:
        """Return once all entries are on the disk."""
        if not self._is_durable:
            with self._guarded():
                self._file.flush()
                os.fdatasync(self._file.fileno())
            self._is_durable = True

    def _guarded(self) -> AbstractContextManager[None]:
        return guarded(self._path, StateError, "make room, and start again")

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()


def private(path: str, flags: int) -> int:
    """Open a file that only its owner may read."""
    return os.open(path, flags, 0o600)


def entries(path: Path, cipher: FileCipher) -> Iterator[Entry]:
    """The entries of a journal; a last entry that was not written completely is left out.

    Raises Damaged where the file is not what was written.
    """
    for piece in cipher.pieces(path.read_bytes()):
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


KEPT = 2
PIECE = 256 << 20  # bytes of a snapshot that are encrypted at a time


class Checkpoint(NamedTuple):
    """The whole state at a moment."""

    facts: dict[str, Any]
    snapshot: bytes


class SavedState(NamedTuple):
    """The state in a folder."""

    checkpoint: Checkpoint
    entries: Iterator[Entry]
    is_settled: bool  # whether the checkpoint holds no tuples and the journal after it is empty


class Store:
    """Only one store at a time can write to a folder. With `read_only` a pipeline may be running.

    Raises StateError if another pipeline uses the folder, or it cannot be written.
    """

    def __init__(self, folder: Path, cipher: FileCipher, read_only: bool = False) -> None:
        self._folder, self._cipher = folder, cipher
        self._lock: int | None = None
        self.warnings: list[str] = []  # about damaged files
        self.is_cut_short = False  # whether a journal could not be read to its end, though more was written
        self._damaged: list[Path] = []
        self._count = 0  # entries of the last journal
        self._writing: Journal | None = None
        if not read_only:
            self._acquire()
            try:
                self._tidy()
            except BaseException:
                self.close()
                raise
        self._number = max(self._numbers("checkpoint") + self._numbers("journal"), default=0)

    def _acquire(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._refused(error) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            remedy = "stop it first, or give this one its own"
            raise StateError(f"{self._folder}: another pipeline uses this state; {remedy}") from None

    def _tidy(self) -> None:
        """Remove drafts, and a journal whose first entry is incomplete: none of its input was ever used."""
        for draft in self._folder.glob("checkpoint-*.part"):
            draft.unlink()
        last = self._path("journal", max(self._numbers("journal"), default=0))
        with suppress(FileNotFoundError, Damaged):
            if last.stat().st_size < HEADER or not any(True for _ in entries(last, self._cipher)):
                last.unlink()

    def load(self) -> SavedState | None:
        """The newest readable checkpoint and the journal entries after it; None in an empty folder.

        Raises StateError if the key is another one, or no checkpoint is readable.
        """
        numbers = sorted(self._numbers("checkpoint"), reverse=True)
        for number in numbers:
            try:
                facts, *pieces = self._cipher.pieces(self._path("checkpoint", number).read_bytes())
                if json.loads(facts)["size"] != sum(map(len, pieces)):
                    raise Damaged
            except FileNotFoundError:  # a running pipeline has a newer one by now
                return self.load()
            except (Damaged, ValueError):
                self._damaged.append(self._path("checkpoint", number))
                self.warnings.append(f"{self._damaged[-1]}: is damaged; the one before it is used")
                continue
            checkpoint, entries = Checkpoint(json.loads(facts), b"".join(pieces)), self._since(number)
            first = list(islice(entries, 1))
            return SavedState(checkpoint, chain(first, entries), not first and not checkpoint.facts["held"])
        if numbers:
            raise StateError(f"{self._folder}: no checkpoint in it can be read; bring an intact copy of the folder back")
        return None

    def _since(self, number: int) -> Iterator[Entry]:
        journals = sorted(each for each in self._numbers("journal") if each >= number)
        for expected, each in enumerate(journals, number):
            path = self._path("journal", each)
            try:
                read = entries(path, self._cipher)
                begin = next(read, None)
                if begin is None or each != expected or (each > number and begin.at != self._count):
                    raise Damaged
                self._count = 0
                for entry in read:
                    self._count += 1
                    yield entry
            except Damaged:
                self.is_cut_short = True
                self.warnings.append(f"{path}: is damaged; what came before the damage is used")
                return

    def journal(self) -> Journal:
        """Begin the next journal; `save` writes the checkpoint before it."""
        self._number += 1
        try:
            before = self._writing.count if self._writing else self._count
            self._writing = journal = Journal(self._path("journal", self._number), self._cipher, before)
            self._sync()
        except OSError as error:
            raise self._refused(error) from None
        return journal

    def save(self, checkpoint: Checkpoint, number: int) -> int:
        """Write a checkpoint atomically, remove older ones, and return its size."""
        path = self._path("checkpoint", number)
        draft = path.with_suffix(".part")
        try:
            with open(draft, "wb", opener=private) as file:
                writer = self._cipher.writer(file)
                facts = {**checkpoint.facts, "size": len(checkpoint.snapshot)}
                size = writer.add(json.dumps(facts).encode())
                for start in range(0, len(checkpoint.snapshot), PIECE):
                    size = writer.add(checkpoint.snapshot[start : start + PIECE])
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
            self._sync()
        except OSError as error:
            raise self._refused(error) from None
        for damaged in self._damaged:
            damaged.unlink(missing_ok=True)
        self._damaged = []
        self._remove_older(number)
        return size

    @property
    def number(self) -> int:
        """The number of the journal that is being written."""
        return self._number

    def _remove_older(self, number: int) -> None:
        kept = sorted(each for each in self._numbers("checkpoint") if each <= number)[-KEPT:]
        for kind in ("checkpoint", "journal"):
            for each in self._numbers(kind):
                if each < kept[0]:
                    self._path(kind, each).unlink(missing_ok=True)

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _path(self, kind: str, number: int) -> Path:
        return self._folder / f"{kind}-{number:010}"

    def _numbers(self, kind: str) -> list[int]:
        names = (path.name.removeprefix(f"{kind}-") for path in self._folder.glob(f"{kind}-*"))
        return [int(name) for name in names if name.isdigit()]

    def _sync(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _refused(self, error: OSError) -> StateError:
        return StateError(f"{self._folder}: cannot be written ({reason(error)}); make room, or check its permissions")
