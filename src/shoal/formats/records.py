"""The first records of JSON lines, read once: a pipe cannot be read twice, and its keys are not known before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from shoal.errors import InputError
from shoal.formats.source import BOM, Source
from shoal.formats.values import is_unicode, parse

CHUNK = 1 << 18
LONGEST = 64 << 20
BLANK = b" \t\r"


class Records(NamedTuple):
    """The first records of an input."""

    good: list[dict[str, Any]]
    bad: int  # how many could not be parsed
    complete: bool  # whether there are no more

    def keys(self) -> dict[str, int]:
        """The keys in order of appearance, and how many records have each."""
        counts: dict[str, int] = {}
        for record in self.good:
            for key in record:
                counts[key] = counts.get(key, 0) + 1
        return {key: count for key, count in counts.items() if is_unicode(key)}


def first_records(path: str, rows: int) -> Records:
    """At most so many records of a file of JSON lines, or of standard input if the path is `-`."""
    source = Source(path)
    good: list[dict[str, Any]] = []
    bad = 0
    try:
        for line in _lines(source):
            if len(good) + bad == rows:
                return Records(good, bad, False)
            record = parse(line)
            if isinstance(record, dict) and is_unicode(list(record.values())):
                good.append(record)
            else:
                bad += 1
    finally:
        source.close()
    return Records(good, bad, True)


def _lines(source: Source) -> Iterator[bytes]:
    """Lines that are not blank."""
    rest = source.read(CHUNK).removeprefix(BOM)
    while rest:
        data = source.read(CHUNK)
        *whole, rest = (rest + data).split(b"\n") if data else (*rest.split(b"\n"), b"")
        if len(rest) > LONGEST:
            raise InputError(f"{source.path}: a line is longer than {LONGEST >> 20} MB; is this JSON lines?")
        for line in whole:
            if stripped := line.strip(BLANK):
                yield stripped
