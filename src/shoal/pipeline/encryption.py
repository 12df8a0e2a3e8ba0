"""Encryption of the files that a pipeline keeps: AES-GCM, one key per file.

A file begins with a magic number, the id of the secret, a random salt from which the key of the file is derived, and a checksum
of these. Its pieces are encrypted under the nonces 0, 1, 2, …, so that changing, removing or moving a piece is detected. The
length of a piece is sealed by itself: a length that was changed is not taken for the end of a file that was cut off.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shoal.errors import StateError

SHORTEST = 32  # bytes of a secret
MAGIC = b"shoal-2\n"
_FAMILY = b"shoal-"
_ID = 8
_SALT = 16
_CHECK = 8
HEADER = len(MAGIC) + _ID + _SALT + _CHECK
TAG = 16
_LENGTH = 4 + TAG


class Damaged(Exception):
    """From here on, a file is not what was written."""


class FileCipher:
    """Encrypts and decrypts files by a secret.

    >>> import io
    >>> cipher, file = FileCipher("x" * 32), io.BytesIO()
    >>> writer = cipher.writer(file)
    >>> writer.add(b"one"), writer.add(b"two")
    (79, 118)
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

    def header(self) -> tuple[bytes, AESGCM]:
        """A new header, and the key of the file that begins with it."""
        salt = os.urandom(_SALT)
        header = MAGIC + self._id + salt
        return header + _check(header), AESGCM(self._derived(salt, b"shoal file", 32))

    def key(self, data: bytes) -> AESGCM:
        """The key of a file.

        Raises StateError if the file was encrypted with another secret, or by another version; Damaged if it has no header.
        """
        header = data[: HEADER - _CHECK]
        if header.startswith(_FAMILY) and not header.startswith(MAGIC) and header[len(MAGIC) - 1 : len(MAGIC)] == b"\n":
            raise StateError(
                "state: was written by another version of shoal; let what is held leave with that version: shoal pipe --drain"
            )
        if len(data) < HEADER or not data.startswith(MAGIC) or data[HEADER - _CHECK : HEADER] != _check(header):
            raise Damaged
        if header[len(MAGIC) :][:_ID] != self._id:
            raise StateError("state.key: is not the key that the state was written with; give that one")
        return AESGCM(self._derived(header[-_SALT:], b"shoal file", 32))

    def writer(self, file: BinaryIO) -> EncryptedWriter:
        """Begin a file."""
        header, key = self.header()
        file.write(header)
        return EncryptedWriter(file, key)

    def pieces(self, data: bytes) -> Pieces:
        """The decrypted pieces of a file."""
        return Pieces(self.key(data), data)


class Pieces(Iterator[bytes]):
    """The decrypted pieces of a file; a last piece that was not written completely is left out.

    Raises Damaged where the file is not what was written.
    """

    def __init__(self, key: AESGCM, data: bytes) -> None:
        self._key, self._data = key, data
        self._at, self._number = HEADER, 0
        self.chain = b""  # a digest of all pieces so far

    def __next__(self) -> bytes:
        end = self._at + _LENGTH
        sealed = self._data[self._at : end]
        if len(sealed) < _LENGTH or not (sealed.strip(b"\0") or self._data[end:].strip(b"\0")):  # zeros, after a power cut
            raise StopIteration
        size = int.from_bytes(self._opened(_length_nonce(self._number), sealed), "big")
        encrypted = self._data[end : end + size]
        if len(encrypted) < size:
            raise StopIteration
        piece = self._opened(_nonce(self._number), encrypted)
        self.chain = _chained(self.chain, encrypted)
        self._at, self._number = end + size, self._number + 1
        return piece

    def _opened(self, nonce: bytes, sealed: bytes) -> bytes:
        try:
            return self._key.decrypt(nonce, sealed, None)
        except InvalidTag:
            raise Damaged from None


class EncryptedWriter:
    """Writes an encrypted file."""

    def __init__(self, file: BinaryIO, key: AESGCM) -> None:
        self._file, self._key = file, key
        self._number, self._size = 0, HEADER
        self.chain = b""  # a digest of all pieces so far

    def add(self, piece: bytes) -> int:
        """Append a piece, and return the size of the file."""
        encrypted = self._key.encrypt(_nonce(self._number), piece, None)
        length = self._key.encrypt(_length_nonce(self._number), len(encrypted).to_bytes(4, "big"), None)
        self._file.write(length + encrypted)
        self.chain = _chained(self.chain, encrypted)
        self._number += 1
        self._size += _LENGTH + len(encrypted)
        return self._size


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")


def _length_nonce(number: int) -> bytes:
    return b"\1" + number.to_bytes(11, "big")


def _check(header: bytes) -> bytes:
    """A checksum, which tells a damaged header from that of another secret."""
    return sha256(header).digest()[:_CHECK]


def _chained(chain: bytes, encrypted: bytes) -> bytes:
    return sha256(chain + encrypted[-TAG:]).digest()[:TAG]
