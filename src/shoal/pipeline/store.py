"""The folder of a pipeline's state: checkpoints, journals, how far it has come, and a lock.

Checkpoint n is the whole state at a moment; journal n is all input of the anonymizer after it, in order. The last two of each
are kept: if the newest checkpoint cannot be read, the previous one and both journals lead to the same state. `progress` tells
how many entries the last journal must have at least: what is beyond was never visible, and what is missing before was lost.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from shoal.connectors import Position
from shoal.errors import StateError
from shoal.formats import guarded, reason
from shoal.pipeline.encryption import Damaged, FileCipher
from shoal.pipeline.journal import Entry, Journal, JournalEntries, private, sync_file
from shoal.pipeline.progress import Progress, ProgressFile, read_progress

KEPT = 2
PROGRESS = "progress"
PIECE = 8 << 20  # bytes of a snapshot that are encrypted at a time; no other thread runs meanwhile


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
        self.reached: Progress | None = None  # how far the pipeline had come; None if that is unknown
        self.lost = 0  # entries that were written and cannot be read; -1 if their number is unknown
        self._damaged: list[Path] = []
        self._count, self._chain = 0, ""  # entries of the last journal, and their digest
        self._writing: Journal | None = None
        self._progress: ProgressFile | None = None
        if not read_only:
            self._acquire()
            try:
                self._tidy()
                self._force_journals()
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
        """Remove drafts, and a journal that was never used: its first entry is incomplete."""
        for draft in self._folder.glob("*.part"):
            draft.unlink()
        last = max(self._numbers("journal"), default=0)
        try:
            used = read_progress(self._folder / PROGRESS, self._cipher).journal
        except Damaged:
            return
        if last > used and not _has_begun(self._path("journal", last), self._cipher):
            self._path("journal", last).unlink()

    def _force_journals(self) -> None:
        """Force to the disk what a process that was killed may have left in memory: what is replayed becomes visible."""
        for number in self._numbers("journal"):
            sync_file(self._path("journal", number))
        sync_file(self._folder)

    def load(self) -> SavedState | None:
        """The newest readable checkpoint and the journal entries after it; None in an empty folder.

        Raises StateError if the key is another one, or no checkpoint is readable.
        """
        numbers = sorted(self._numbers("checkpoint"), reverse=True)
        if not numbers and self._was_used:
            raise StateError(f"{self._folder}: its checkpoints are missing; restore an intact copy of the folder")
        if numbers:
            try:
                self.reached = read_progress(self._folder / PROGRESS, self._cipher)
            except Damaged:
                self._cut_short(f"{self._folder / PROGRESS}: is missing or damaged", -1)
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
            raise StateError(f"{self._folder}: no checkpoint in it can be read; restore an intact copy of the folder")
        return None

    @property
    def _was_used(self) -> bool:
        """Whether there are journals after a first checkpoint, or one that has entries: a pipeline took something in."""
        journals = self._numbers("journal")
        try:
            reached = read_progress(self._folder / PROGRESS, self._cipher)
        except Damaged:
            reached = None
        if max(journals, default=0) > 1 or (reached and (reached.entries or reached.received)):
            return True
        try:
            return any(len(list(islice(JournalEntries(self._path("journal", each), self._cipher), 2))) > 1 for each in journals)
        except Damaged:
            return reached is not None  # what is read was begun before the progress

    def _since(self, number: int) -> Iterator[Entry]:
        reached = self.reached or Progress(number, 0, "", 0, 0, None)
        last = max([reached.journal, *self._numbers("journal")])
        for each in range(number, last + 1):
            path = self._path("journal", each)
            needed = reached.entries if each == reached.journal else -1
            begin: Entry | None = None
            follows = True  # what was written before
            try:
                read = JournalEntries(path, self._cipher)
                begin = next(read, None)
                follows = begin is None or each == number or begin[1:3] == (self._count, {"chain": self._chain})
                if begin is None or not follows:
                    raise Damaged
                self._count, self._chain = 0, read.chain
                for entry in read:
                    self._count, self._chain = self._count + 1, read.chain
                    follows = self._count != needed or self._chain == reached.chain
                    if not follows:
                        raise Damaged
                    yield entry
                if self._count < needed:
                    raise Damaged
            except Damaged:
                is_used = each < last or each < reached.journal or (each == reached.journal and not begin)
                if self.reached and follows and not is_used and self._count >= needed:
                    self.warnings.append(f"{path}: has a damaged end, which was never used; it is left out")
                    return
                self._cut_short(f"{path}: is missing or damaged", needed - self._count if each == last else -1)
                return

    def _cut_short(self, warning: str, lost: int) -> None:
        self.is_cut_short, self.lost = True, lost
        self.warnings.append(f"{warning}; what came before the damage is used")

    def accept_loss(self) -> None:
        """Go on without the entries that cannot be read: what follows does not follow from those before."""
        self._count = -1

    def journal(self) -> Journal:
        """Begin the next journal; `save` writes the checkpoint before it."""
        self._number += 1
        try:
            count, digest = (self._writing.count, self._writing.chain) if self._writing else (self._count, self._chain)
            self._writing = journal = Journal(self._path("journal", self._number), self._cipher, count, digest)
        except OSError as error:
            raise self._refused(error) from None
        return journal

    def note(self, sequence: int, received: int, position: Position | None) -> None:
        """Write down that all entries so far are durable, and tuples before this number may be visible."""
        assert self._writing is not None
        progress = Progress(self._number, self._writing.count, self._writing.chain, sequence, received, position)
        with guarded(self._folder / PROGRESS, StateError, "make room, and start again"):
            if self._progress is None:
                self._progress = ProgressFile(self._folder / PROGRESS, self._cipher, progress)
                sync_file(self._folder)
            else:
                self._progress.write(progress)

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
            sync_file(self._folder)
        except OSError as error:
            raise self._refused(error) from None
        for damaged in self._damaged:
            damaged.unlink(missing_ok=True)
        self._damaged = []
        self._remove_older(number)
        return size

    @property
    def newest_checkpoint(self) -> int:
        """The number of the newest checkpoint in the folder; 0 if there is none."""
        return max(self._numbers("checkpoint"), default=0)

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
        if self._progress is not None:
            self._progress.close()
            self._progress = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _path(self, kind: str, number: int) -> Path:
        return self._folder / f"{kind}-{number:010}"

    def _numbers(self, kind: str) -> list[int]:
        names = (path.name.removeprefix(f"{kind}-") for path in self._folder.glob(f"{kind}-*"))
        return [int(name) for name in names if name.isdigit()]

    def _refused(self, error: OSError) -> StateError:
        return StateError(f"{self._folder}: cannot be written ({reason(error)}); make room, or check its permissions")


def _has_begun(path: Path, cipher: FileCipher) -> bool:
    try:
        return next(JournalEntries(path, cipher), None) is not None
    except Damaged:
        return False
