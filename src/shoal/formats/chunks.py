"""Bytes in pieces of whole records."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shoal.errors import InputError
from shoal.formats.source import BOM, Source


def chunks(
    source: Source, size: int, longest: int, cut: Callable[[bytearray, int], int], too_long: str
) -> Iterator[tuple[bytes, bool]]:
    """Pieces of some `size` bytes without a byte order mark, each with whether it ends where `cut` found an end.

    `cut(buffer, filled)` is where the last whole record of the first `filled` bytes ends, 0 if none does. A record that
    is longer than `longest` bytes is an error that says `too_long`.
    """
    buffer = bytearray(size)
    filled = 0
    mark = BOM
    while count := source.readinto(memoryview(buffer)[filled:]):
        filled += count
        end = cut(buffer, filled)
        if end:
            yield bytes(memoryview(buffer)[:end]).removeprefix(mark), True
            buffer[: filled - end] = buffer[end:filled]
            filled -= end
            mark = b""
        elif filled >= longest:
            raise InputError(f"{source.path}: {too_long}")
        elif filled == len(buffer):
            buffer = buffer + bytes(filled)
    if rest := bytes(memoryview(buffer)[:filled]).removeprefix(mark):
        yield rest, False
