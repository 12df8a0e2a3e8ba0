"""Encryption of what a pipeline keeps on disk: AES-GCM, a key a file.

A file begins with what it is, by which key it was sealed, and a number chosen by chance, from which its own key is derived. Its
pieces are sealed in order under the numbers 0, 1, 2, …, so that none can be changed, left out or put elsewhere unnoticed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shoal.errors import StateError

SHORTEST = 32
"""Bytes of a key."""

MAGIC = b"shoal-1\n"
_ID = 8
_SALT = 16
HEADER = len(MAGIC) + _ID + _SALT
_LENGTH = 4


class Damaged(Exception):
    """A file, or the rest of one, cannot be trusted."""


class Vault:
    """Seals files by a secret, and opens them again.

    >>> import io
    >>> vault, file = Vault("x" * 32), io.BytesIO()
    >>> box = vault.sealing(file)
    >>> box.add(b"one"), box.add(b"two")
    (55, 78)
    >>> [bytes(piece) for piece in vault.opened(file.getvalue())]
    [b'one', b'two']
    """

    def __init__(self, secret: str) -> None:
        """A vault whose keys are derived from a secret.

        Raises
        ------
        StateError
            The secret is too short.
        """
        self._secret = secret.encode()
        if len(self._secret) < SHORTEST:
            raise StateError(f"state.key: is shorter than {SHORTEST} bytes; make one with: openssl rand -hex 32")
        self._id = self._derived(b"", b"shoal key", _ID)

    def _derived(self, salt: bytes, purpose: bytes, size: int) -> bytes:
        return HKDF(SHA256(), size, salt, purpose).derive(self._secret)

    def sealing(self, file: BinaryIO) -> Box:
        """Begin a file."""
        salt = os.urandom(_SALT)
        file.write(MAGIC + self._id + salt)
        return Box(file, AESGCM(self._derived(salt, b"shoal file", 32)))

    def opened(self, data: bytes) -> Iterator[bytes]:
        """The pieces of a file, until its end.

        Raises
        ------
        StateError
            It was sealed by another key.
        Damaged
            From here on it is not what was written; one that was cut off while it was written is not there.
        """
        if len(data) < HEADER or not data.startswith(MAGIC):
            raise Damaged
        if data[len(MAGIC) :][:_ID] != self._id:
            raise StateError("state.key: is not the key that the state was written with; give that one")
        key = AESGCM(self._derived(data[HEADER - _SALT : HEADER], b"shoal file", 32))
        at, number = HEADER, 0
        while at + _LENGTH <= len(data):
            size = int.from_bytes(data[at : at + _LENGTH], "big")
            sealed = data[at + _LENGTH : at + _LENGTH + size]
            if len(sealed) < size:
                return
            try:
                yield key.decrypt(number.to_bytes(12, "big"), sealed, None)
            except InvalidTag:
                raise Damaged from None
            at, number = at + _LENGTH + size, number + 1


class Box:
    """A file that is being sealed."""

    def __init__(self, file: BinaryIO, key: AESGCM) -> None:
        self._file, self._key = file, key
        self._number, self._size = 0, HEADER

    def add(self, piece: bytes) -> int:
        """Append a piece; how long the file is then."""
        sealed = self._key.encrypt(self._number.to_bytes(12, "big"), piece, None)
        self._file.write(len(sealed).to_bytes(_LENGTH, "big") + sealed)
        self._number += 1
        self._size += _LENGTH + len(sealed)
        return self._size
