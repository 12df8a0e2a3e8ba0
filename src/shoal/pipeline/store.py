"""The folder of a pipeline's state: checkpoints, journals, and a lock.

Checkpoint n is the whole state at a moment, journal n what came after it. Both of the last two numbers are kept: if the last
checkpoint cannot be read, the one before and both journals lead to the same state.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from shoal.errors import StateError
from shoal.formats.reading.source import reason
from shoal.pipeline.journal import Entry, Journal, entries, private
from shoal.pipeline.vault import HEADER, Damaged, Vault

KEPT = 2
PIECE = 256 << 20
"""Bytes of a snapshot that are sealed at a time."""


class Checkpoint(NamedTuple):
    """The whole state at a moment."""

    facts: dict[str, Any]
    snapshot: bytes


class Found(NamedTuple):
    """What a folder holds."""

    checkpoint: Checkpoint
    entries: Iterator[Entry]
    is_settled: bool  # whether nothing came after the checkpoint, and nothing was held then


class Store:
    """Only one at a time can have the folder open to write to it."""

    def __init__(self, folder: Path, vault: Vault, look: bool = False) -> None:
        """`look` only reads, also while a pipeline is running.

        Raises
        ------
        StateError
            Another pipeline has it open, or it cannot be written.
        """
        self._folder, self._vault = folder, vault
        self._lock: int | None = None
        self.warnings: list[str] = []
        """What was damaged, and what was done about it."""
        self.is_cut_short = False
        """Whether a journal could not be read to its end, though more was written."""
        self._damaged: list[Path] = []
        self._count = 0  # entries of the last journal
        self._writing: Journal | None = None
        if not look:
            self._own()
            try:
                self._tidy()
            except BaseException:
                self.close()
                raise
        self._number = max(self._numbers("checkpoint") + self._numbers("journal"), default=0)

    def _own(self) -> None:
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
        """Remove drafts, and a journal whose beginning is not whole: nothing was ever given from it."""
        for draft in self._folder.glob("checkpoint-*.part"):
            draft.unlink()
        last = self._path("journal", max(self._numbers("journal"), default=0))
        with suppress(FileNotFoundError, Damaged):
            if last.stat().st_size < HEADER or not any(True for _ in entries(last, self._vault)):
                last.unlink()

    def found(self) -> Found | None:
        """The newest checkpoint that can be read, and what came after it; None in an empty folder.

        Raises
        ------
        StateError
            The key is another one, or there are checkpoints, and none can be read.
        """
        numbers = sorted(self._numbers("checkpoint"), reverse=True)
        for number in numbers:
            try:
                facts, *pieces = self._vault.opened(self._path("checkpoint", number).read_bytes())
                if json.loads(facts)["size"] != sum(map(len, pieces)):
                    raise Damaged
            except FileNotFoundError:  # a running pipeline has a newer one by now
                return self.found()
            except (Damaged, ValueError):
                self._damaged.append(self._path("checkpoint", number))
                self.warnings.append(f"{self._damaged[-1]}: is damaged; the one before it is used")
                continue
            checkpoint, entries = Checkpoint(json.loads(facts), b"".join(pieces)), self._since(number)
            first = list(islice(entries, 1))
            return Found(checkpoint, chain(first, entries), not first and not checkpoint.facts["held"])
        if numbers:
            raise StateError(f"{self._folder}: no checkpoint in it can be read; bring an intact copy of the folder back")
        return None

    def _since(self, number: int) -> Iterator[Entry]:
        journals = sorted(each for each in self._numbers("journal") if each >= number)
        for expected, each in enumerate(journals, number):
            path = self._path("journal", each)
            try:
                read = entries(path, self._vault)
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
        """Begin the next journal; the checkpoint that it follows is written with `save`."""
        self._number += 1
        try:
            before = self._writing.count if self._writing else self._count
            self._writing = journal = Journal(self._path("journal", self._number), self._vault, before)
            self._sync()
        except OSError as error:
            raise self._refused(error) from None
        return journal

    def save(self, checkpoint: Checkpoint, number: int) -> int:
        """Write a checkpoint so that it is there whole or not at all, and forget older ones; its size."""
        path = self._path("checkpoint", number)
        draft = path.with_suffix(".part")
        try:
            with open(draft, "wb", opener=private) as file:
                box = self._vault.sealing(file)
                facts = {**checkpoint.facts, "size": len(checkpoint.snapshot)}
                size = box.add(json.dumps(facts).encode())
                for start in range(0, len(checkpoint.snapshot), PIECE):
                    size = box.add(checkpoint.snapshot[start : start + PIECE])
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
            self._sync()
        except OSError as error:
            raise self._refused(error) from None
        for damaged in self._damaged:
            damaged.unlink(missing_ok=True)
        self._damaged = []
        self._forget(number)
        return size

    @property
    def number(self) -> int:
        """That of the journal that is being written."""
        return self._number

    def _forget(self, number: int) -> None:
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
