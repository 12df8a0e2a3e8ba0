"""Encryption of the files that a pipeline keeps: AES-GCM, one key per file.

A file begins with a magic number, the id of the secret, and a random salt from which the key of the file is derived. Its pieces
are encrypted under the nonces 0, 1, 2, …, so that changing, removing or moving a piece is detected.
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

SHORTEST = 32  # bytes of a secret
MAGIC = b"shoal-1\n"
_ID = 8
_SALT = 16
HEADER = len(MAGIC) + _ID + _SALT
_LENGTH = 4


class Damaged(Exception):
    """From here on, a file is not what was written."""


class FileCipher:
    """Encrypts and decrypts files by a secret.

    >>> import io
    >>> cipher, file = FileCipher("x" * 32), io.BytesIO()
    >>> writer = cipher.writer(file)
    >>> writer.add(b"one"), writer.add(b"two")
    (55, 78)
    >>> [bytes(piece) for piece in cipher.pieces(file.getvalue())]
    [b'one', b'two']

    Raises StateError if the secret is too short.
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        if len(self._secret) < SHORTEST:
            raise StateError(f"state.key: is shorter than {SHORTEST} bytes; make one with: openssl rand -hex 32")
        self._id = self._derived(b"", b"shoal key", _ID)

    def _derived(self, salt: bytes, purpose: bytes, size: int) -> bytes:
        return HKDF(SHA256(), size, salt, purpose).derive(self._secret)

    def writer(self, file: BinaryIO) -> EncryptedWriter:
        """Begin a file."""
        salt = os.urandom(_SALT)
        file.write(MAGIC + self._id + salt)
        return EncryptedWriter(file, AESGCM(self._derived(salt, b"shoal file", 32)))

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """The decrypted pieces of a file; a last piece that was not written completely is left out.

        Raises StateError if the file was encrypted with another secret, Damaged where it is not what was written.
        """
        if len(data) < HEADER or not data.startswith(MAGIC):
            raise Damaged
        if data[len(MAGIC) :][:_ID] != self._id:
            raise StateError("state.key: is not the key that the state was written with; give that one")
        key = AESGCM(self._derived(data[HEADER - _SALT : HEADER], b"shoal file", 32))
        at, number = HEADER, 0
        while at + _LENGTH <= len(data):
            size = int.from_bytes(data[at : at + _LENGTH], "big")
            encrypted = data[at + _LENGTH : at + _LENGTH + size]
            if len(encrypted) < size:
                return
            try:
                yield key.decrypt(number.to_bytes(12, "big"), encrypted, None)
            except InvalidTag:
                raise Damaged from None
            at, number = at + _LENGTH + size, number + 1


class EncryptedWriter:
    """Writes an encrypted file."""

    def __init__(self, file: BinaryIO, key: AESGCM) -> None:
        self._file, self._key = file, key
        self._number, self._size = 0, HEADER

    def add(self, piece: bytes) -> int:
        """Append a piece, and return the size of the file."""
        encrypted = self._key.encrypt(self._number.to_bytes(12, "big"), piece, None)
        self._file.write(len(encrypted).to_bytes(_LENGTH, "big") + encrypted)
        self._number += 1
        self._size += _LENGTH + len(encrypted)
        return self._size
