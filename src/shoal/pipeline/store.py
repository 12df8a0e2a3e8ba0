"""The folder of a pipeline's state: checkpoints, journals, and a lock.

Checkpoint n is the whole state at a moment, journal n what came after it. Both of the last two numbers are kept: if the last
checkpoint cannot be read, the one before and both journals lead to the same state.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from shoal.errors import StateError
from shoal.formats.source import reason
from shoal.pipeline.journal import Entry, Journal, entries, private
from shoal.pipeline.vault import Damaged, Vault

KEPT = 2


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
    """Only one at a time can have the folder open."""

    def __init__(self, folder: Path, vault: Vault) -> None:
        """
        Raises:
            StateError: another pipeline has it open, or it cannot be written.
        """
        self._folder, self._vault = folder, vault
        self.warnings: list[str] = []
        """What was damaged, and what was done about it."""
        self.is_cut_short = False
        """Whether a journal could not be read to its end, though more was written."""
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._refused(error) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StateError(f"{folder}: another pipeline uses this state; stop it first, or give this one its own") from None
        self._number = max(self._numbers("checkpoint") + self._numbers("journal"), default=0)

    def found(self) -> Found | None:
        """The newest checkpoint that can be read, and what came after it; None in an empty folder.

        Raises:
            StateError: the key is another one, or there are checkpoints, and none can be read.
        """
        numbers = sorted(self._numbers("checkpoint"), reverse=True)
        for number in numbers:
            try:
                (facts, snapshot) = self._vault.opened(self._path("checkpoint", number).read_bytes())
            except (Damaged, ValueError):
                self.warnings.append(f"{self._path('checkpoint', number)}: is damaged; the one before it is used")
                continue
            checkpoint, entries = Checkpoint(json.loads(facts), snapshot), self._since(number)
            first = list(islice(entries, 1))
            return Found(checkpoint, chain(first, entries), not first and not checkpoint.facts["held"])
        if numbers:
            raise StateError(f"{self._folder}: no checkpoint in it can be read; bring an intact copy of the folder back")
        return None

    def _since(self, number: int) -> Iterator[Entry]:
        journals = sorted(each for each in self._numbers("journal") if each >= number)
        for each in journals:
            path = self._path("journal", each)
            try:
                yield from entries(path, self._vault)
            except Damaged:
                self.is_cut_short = True
                self.warnings.append(f"{path}: is damaged; what came before the damage is used")
                return

    def journal(self) -> Journal:
        """Begin the next journal; the checkpoint that it follows is written with `save`."""
        self._number += 1
        try:
            journal = Journal(self._path("journal", self._number), self._vault)
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
                box.add(json.dumps(checkpoint.facts).encode())
                size = box.add(checkpoint.snapshot)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
            self._sync()
        except OSError as error:
            raise self._refused(error) from None
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
        os.close(self._lock)

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
