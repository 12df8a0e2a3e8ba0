"""How far a pipeline has come: a small file beside the journals that tells what they must hold.

A journal that lost its end looks like one that never had it. So before anything that depends on an entry becomes visible, or
is acknowledged, the number of entries and their digest are written here. The file has two places, which are written in turn:
one of them is whole, wherever the pipeline is killed. It is not forced to the disk: after a power cut it may be behind the
journal.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import InvalidTag

from shoal.connectors import Position
from shoal.pipeline.encryption import HEADER, Damaged, FileCipher

_PLACE = 16 << 10  # bytes of a place
_HEAD = 12 + 4  # a nonce and a length


class Progress(NamedTuple):
    """What is durable, and may be visible."""

    journal: int  # its number
    entries: int  # without the first
    chain: str  # a digest of these entries
    sequence: int  # of the next tuple
    received: int  # records
    position: Position | None  # of the source; None if it is too long


class ProgressFile:
    """Writes the progress; a new file, with a new key, at each start."""

    def __init__(self, path: Path, cipher: FileCipher, first: Progress) -> None:
        header, self._key = cipher.header()
        draft = path.with_suffix(".part")
        self._file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._count = 0
        os.pwrite(self._file, header, 0)
        self.write(first)
        os.fsync(self._file)
        os.replace(draft, path)

    def write(self, progress: Progress) -> None:
        text = json.dumps(progress).encode()
        if len(text) > _PLACE - _HEAD - 16:
            text = json.dumps(progress._replace(position=None)).encode()
        nonce = self._count.to_bytes(12, "big")
        sealed = self._key.encrypt(nonce, text, None)
        os.pwrite(self._file, nonce + len(sealed).to_bytes(4, "big") + sealed, HEADER + self._count % 2 * _PLACE)
        self._count += 1

    def close(self) -> None:
        os.close(self._file)


def read_progress(path: Path, cipher: FileCipher) -> Progress:
    """The newest progress. Raises Damaged if there is none, or it cannot be read."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise Damaged from None
    key = cipher.key(data)
    found: list[tuple[bytes, bytes]] = []
    for start in (HEADER, HEADER + _PLACE):
        nonce, size = data[start : start + 12], int.from_bytes(data[start + 12 : start + _HEAD], "big")
        try:
            found.append((nonce, key.decrypt(nonce, data[start + _HEAD : start + _HEAD + size], None)))
        except (InvalidTag, ValueError):
            continue
    if not found:
        raise Damaged
    return Progress(*json.loads(max(found)[1]))
