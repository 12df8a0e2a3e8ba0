"""Uploaded files: stored in a private folder, and of texts only as much as a sample needs."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from shoal.errors import InputError
from shoal.formats import kind, packing
from shoal.formats import suffix as known_suffix

TEXT = 24 << 20  # bytes of a text file that are kept; the rest is not read
WHOLE = 512 << 20  # bytes of a Parquet or Arrow file, which can be read only as a whole
_CALLED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}
_LONGEST = 200
_PIECE = 1 << 20


def readable_name(name: str) -> str:
    """The last part of a file's name, which must be of a kind that can be read.

    >>> readable_name("C:\\\\\\\\data\\\\\\\\people.csv"), readable_name("../../people.csv")
    ('people.csv', 'people.csv')
    """
    last = display_name(name)
    kind(last or "file")
    return last


def display_name(name: str) -> str:
    """The last part of a name, which must be printable and not too long."""
    last = PureWindowsPath(PurePosixPath(name).name).name
    if not last.isprintable() or len(last) > _LONGEST:
        raise InputError("the file: its name is too long, or not plain text; rename it")
    return last


def stored(name: str, chunks: Iterable[bytes], folder: Path) -> tuple[Path, bool]:
    """Store a file in a folder under a neutral name; its path, and whether it is complete.

    A text is cut after its last whole line within `TEXT` bytes; a gzipped text is unpacked first. Raises InputError if it is
    too large, or damaged.
    """
    name = readable_name(name)
    suffix, packed = known_suffix(name), packing(name)
    is_text = kind(name) in ("csv", "jsonl")
    if packed == ".zst":
        raise InputError(f"{name}: Zstandard data is not unpacked here; start `shoal lab FILE`, which takes it")
    target = folder / f"sample{suffix.removesuffix(packed)}"
    if is_text:
        data, complete = _head(chunks, packed)
        target.write_bytes(data)
        return target, complete
    size = 0
    with target.open("wb") as file:
        for chunk in chunks:
            size += len(chunk)
            if size > WHOLE:
                raise InputError(f"{name}: is larger than {WHOLE >> 20} MB; start `shoal lab FILE`, which takes it")
            file.write(chunk)
    return target, True


def _head(chunks: Iterable[bytes], zipped: str) -> tuple[bytes, bool]:
    """The beginning of a text in whole lines, and whether that is all."""
    unzip = _Unzip(zipped or ".gz")
    parts: list[bytes] = []
    size = 0
    for data in (piece for chunk in chunks for piece in unzip.pieces(chunk)) if zipped else chunks:
        parts.append(data)
        size += len(data)
        if size > TEXT:
            break
    whole = b"".join(parts)
    if size <= TEXT and (unzip.is_whole or not zipped):
        return whole, True
    end = whole.rfind(b"\n", 0, TEXT) + 1
    if not end:
        raise InputError(f"its first {TEXT >> 20} MB hold no end of a line; is it CSV or JSON lines?")
    return whole[:end], False


class _Unzip:
    """Unpacks a stream of gzip, bzip2 or xz data, also of several members, in small pieces.

    >>> import gzip
    >>> unzip = _Unzip()
    >>> list(unzip.pieces(gzip.compress(b"one ") + gzip.compress(b"two"))), unzip.is_whole
    ([b'one ', b'two'], True)
    """

    def __init__(self, packing: str = ".gz") -> None:
        self._packing = packing
        self._file = self._new()

    def _new(self) -> Any:
        match self._packing:
            case ".bz2":
                return bz2.BZ2Decompressor()
            case ".xz":
                return lzma.LZMADecompressor()
        return zlib.decompressobj(wbits=31)

    @property
    def is_whole(self) -> bool:
        return self._file.eof

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """The unpacked pieces of a compressed chunk; damaged data is an InputError."""
        while chunk:
            if self._file.eof:
                chunk = chunk.lstrip(b"\0")  # padding by some programs
                if not chunk:
                    return
                self._file = self._new()
            try:
                yield from self._pieces(chunk)
            except (zlib.error, OSError, lzma.LZMAError, EOFError):
                raise InputError(f"the {_CALLED[self._packing]} data is damaged; compress it again") from None
            chunk = self._file.unused_data

    def _pieces(self, chunk: bytes) -> Iterator[bytes]:
        if self._packing != ".gz":
            yield self._file.decompress(chunk)
            return
        while chunk:
            yield self._file.decompress(chunk, _PIECE)
            chunk = self._file.unconsumed_tail
