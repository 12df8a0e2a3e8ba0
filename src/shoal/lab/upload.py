"""Files that are handed over: into a private folder, no more of them than a sample needs."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath

from shoal.errors import InputError
from shoal.formats import SUFFIXES, kind

TEXT = 24 << 20
"""Bytes of a text file that are taken; the rest of it is not looked at."""

WHOLE = 512 << 20
"""Bytes of a Parquet or Arrow file, which can be read only as a whole."""

_LONGEST = 200


def plain(name: str) -> str:
    """The last part of a name, as a person would say it.

    >>> plain("C:\\\\\\\\data\\\\\\\\people.csv"), plain("../../people.csv")
    ('people.csv', 'people.csv')

    Raises:
        InputError: it is of no kind that can be read.
    """
    last = shown(name)
    kind(last or "file")
    return last


def shown(name: str) -> str:
    """The last part of a name, if it can be shown.

    Raises:
        InputError: it cannot.
    """
    last = PureWindowsPath(PurePosixPath(name).name).name
    if not last.isprintable() or len(last) > _LONGEST:
        raise InputError("the file: its name is too long, or not plain text; rename it")
    return last


def stored(name: str, chunks: Iterable[bytes], folder: Path) -> tuple[Path, bool]:
    """A file's bytes in a folder, under a name that is not its own; and whether all of them are there.

    A text is cut after its last whole line within `TEXT` bytes; what is gzipped is unpacked as far.

    Raises:
        InputError: it is too large, or damaged.
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
    unpack = zlib.decompressobj(wbits=31)
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        try:
            data = unpack.decompress(chunk, TEXT + 1 - size) if zipped else chunk
        except zlib.error:
            raise InputError("the gzip data is damaged; compress it again") from None
        parts.append(data)
        size += len(data)
        if size > TEXT:
            break
    whole = b"".join(parts)
    if size <= TEXT and not (zipped and not unpack.eof):
        return whole, True
    end = whole.rfind(b"\n", 0, TEXT) + 1
    if not end:
        raise InputError(f"its first {TEXT >> 20} MB hold no end of a line; is it CSV or JSON lines?")
    return whole[:end], False
