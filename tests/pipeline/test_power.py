"""Power loss: what was not forced to the disk is gone, or half there, or full of zeros, and names of files are the old ones."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from examples import times

from .base import Crash, outputs, place
from .pipes import COUNT, Small

pytestmark = pytest.mark.slow


class Disk:
    """Watches what a pipeline forces to the disk; the content of a folder after a power loss follows from that."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, left: int) -> None:
        self._folder, self._left = folder, left
        self._content: dict[int, bytes] = {}  # by inode, as it is on the disk
        self._open: list[int] = []  # files, so that no inode is used again
        self._names: dict[Path, dict[str, int]] = {}  # of the folders that were forced to the disk
        for path in folder.rglob("*"):
            if path.is_file():
                self._force(path)
        self._force_folder(folder / "state")
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._watched(getattr(os, name)))

    def go_on(self, left: int) -> None:
        """The process was killed, and begins anew; what it wrote is in the memory of the machine still."""
        self._left = left

    def _force(self, path: Path) -> None:
        inode = path.stat().st_ino
        if inode not in self._content:
            self._open.append(os.open(path, os.O_RDONLY))
        self._content[inode] = path.read_bytes()

    def _watched(self, real: Any) -> Any:
        def forced(file: int) -> None:
            self._left -= 1
            if self._left < 0:
                raise Crash
            real(file)
            path = Path(os.readlink(f"/proc/self/fd/{file}"))
            if path.is_dir():
                self._force_folder(path)
            elif path.is_relative_to(self._folder):
                self._force(path)

        return forced

    def _force_folder(self, folder: Path) -> None:
        if folder.is_dir():
            self._names[folder] = {entry.name: entry.inode() for entry in os.scandir(folder)}

    def lose_power(self, chance: random.Random) -> None:
        """Leave what a disk may hold now."""
        known = {path.stat().st_ino: path.read_bytes() for path in self._folder.rglob("*") if path.is_file()}
        for path in [path for path in self._folder.rglob("*") if path.is_file()]:
            path.write_bytes(self._survives(path.stat().st_ino, known, chance))
        for folder, names in self._names.items():
            for path in list(folder.iterdir()):
                if path.name not in names and chance.random() < 0.5:
                    path.unlink()  # its name was not forced to the disk
            for name, inode in names.items():
                if not (folder / name).exists() and inode in self._content and chance.random() < 0.5:
                    (folder / name).write_bytes(self._content[inode])  # that it was removed was not
        for file in self._open:
            os.close(file)

    def _survives(self, inode: int, known: dict[int, bytes], chance: random.Random) -> bytes:
        forced, now = self._content.get(inode, b""), known[inode]
        if not now.startswith(forced):  # written over, page by page
            return now if chance.random() < 0.5 else forced
        more = now[len(forced) :]
        some = more[: chance.randrange(len(more) + 1)]
        return forced + (bytes(len(some)) if chance.random() < 0.3 else some)


def survives(folder: Path, monkeypatch: pytest.MonkeyPatch, losses: int, seed: int) -> int:
    """Lose power so many times, at any moment at which something is forced to the disk; how many there were.

    Before some losses the process is killed and begins anew.
    """
    whole = folder / "whole"
    whole.mkdir()
    place(whole, 1500, window=COUNT)
    Small(whole).run()
    folder = folder / "lost"
    folder.mkdir()
    place(folder, 1500, window=COUNT, checkpoint="1ms")
    chance, happened = random.Random(seed), 0
    for _ in range(losses):
        with monkeypatch.context() as patch:
            disk = Disk(folder, patch, chance.randrange(3, 60))
            crashed = crashes(folder)
            if crashed and chance.random() < 0.4:
                disk.go_on(chance.randrange(3, 20))
                crashed = crashes(folder)
        disk.lose_power(chance)
        if not crashed:
            break
        happened += 1
    Small(folder).run()
    assert outputs(folder) == outputs(whole)
    return happened


def crashes(folder: Path) -> bool:
    try:
        Small(folder).run()
    except Crash:
        return True
    return False


def test_nothing_is_lost_or_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert survives(tmp_path, monkeypatch, losses=12, seed=1) > 3


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_over_many_losses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds, total = times(30), 0
    for seed in range(seeds):
        (tmp_path / str(seed)).mkdir()
        total += survives(tmp_path / str(seed), monkeypatch, losses=30, seed=seed)
        shutil.rmtree(tmp_path / str(seed))
    assert total > 3 * seeds
