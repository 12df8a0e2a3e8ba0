"""Files that are handed over: into a private folder, no more of them than a sample needs."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from shoal.errors import InputError
from shoal.formats import SUFFIXES, kind

TEXT = 24 << 20
"""Bytes of a text file that are taken; the rest of it is not looked at."""

WHOLE = 512 << 20
"""Bytes of a Parquet or Arrow file, which can be read only as a whole."""

_LONGEST = 200
_PIECE = 1 << 20


def plain(name: str) -> str:
    """The last part of a name, as a person would say it.

    >>> plain("C:\\\\\\\\data\\\\\\\\people.csv"), plain("../../people.csv")
    ('people.csv', 'people.csv')

    Raises
    ------
    InputError
        It is of no kind that can be read.
    """
    last = shown(name)
    kind(last or "file")
    return last


def shown(name: str) -> str:
    """The last part of a name, if it can be shown.

    Raises
    ------
    InputError
        It cannot.
    """
    last = PureWindowsPath(PurePosixPath(name).name).name
    if not last.isprintable() or len(last) > _LONGEST:
        raise InputError("the file: its name is too long, or not plain text; rename it")
    return last


def stored(name: str, chunks: Iterable[bytes], folder: Path) -> tuple[Path, bool]:
    """A file's bytes in a folder, under a name that is not its own; and whether all of them are there.

    A text is cut after its last whole line within `TEXT` bytes; what is gzipped is unpacked as far.

    Raises
    ------
    InputError
        It is too large, or damaged.
    """
    name = plain(name)
    suffix = next(each for each in SUFFIXES if name.lower().endswith(each))
    is_text = kind(name) in ("csv", "jsonl")
    target = folder / f"sample{suffix.removesuffix('.gz')}"
    if is_text:
        data, complete = _head(chunks, suffix.endswith(".gz"))
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


def _head(chunks: Iterable[bytes], zipped: bool) -> tuple[bytes, bool]:
    """The beginning of a text, in whole lines; and whether that is all of it."""
    unzip = _Unzip()
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
    """Unpacks gzip data as they come, also several files one behind the other, never much at a time.

    >>> import gzip
    >>> unzip = _Unzip()
    >>> list(unzip.pieces(gzip.compress(b"one ") + gzip.compress(b"two"))), unzip.is_whole
    ([b'one ', b'two'], True)
    """

    def __init__(self) -> None:
        self._file = zlib.decompressobj(wbits=31)

    @property
    def is_whole(self) -> bool:
        return self._file.eof

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What a piece of the compressed file holds.

        Raises
        ------
        InputError
            It is damaged.
        """
        while chunk:
            if self._file.eof:
                chunk = chunk.lstrip(b"\0")  # which some programs fill the end up with
                if not chunk:
                    return
                self._file = zlib.decompressobj(wbits=31)
            try:
                yield self._file.decompress(chunk, _PIECE)
            except zlib.error:
                raise InputError("the gzip data is damaged; compress it again") from None
            chunk = self._file.unconsumed_tail or self._file.unused_data
