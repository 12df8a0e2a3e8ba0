"""How far a pipeline had come, by the manifest that it writes beside its trace: what may still be held, and spans of time."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from shoal.audit.block import Block
from shoal.audit.files import Source, blocks
from shoal.audit.values import Ints
from shoal.errors import InputError


class Moment(NamedTuple):
    """How far a pipeline had come."""

    at: float = -math.inf  # the time of day, in seconds since 1970
    received: int = 0  # records of the input
    released: int = 0  # lines of the trace
    sequence: int = 0  # rows of the output
    clock: float | None = None  # the stream's time


class Span(NamedTuple):
    """What is judged of a stream: what left after `begin` and up to `end`."""

    begin: Moment
    end: Moment
    rotate: int | None  # lines of a file of the trace

    def input(self, found: Iterator[Block]) -> Iterator[Block]:
        return cut(found, 0, self.end.received)

    def output(self, found: Iterator[Block]) -> Iterator[Block]:
        return cut(found, self.begin.sequence, self.end.sequence)

    def rows(self, rows: Ints) -> Ints:
        """Those of these rows of the output that are judged."""
        return rows[(rows >= self.begin.sequence) & (rows < self.end.sequence)]

    def files(self, path: Path) -> list[Path]:
        """The files of the trace that hold the lines; of a trace that is not rotated, the one."""
        if self.rotate is None:
            return [path]
        numbers = range(self.begin.released // self.rotate, -(-self.end.released // self.rotate))
        return [path.with_name(f"{path.stem}-{number:06}{path.suffix}") for number in numbers]

    def trace(self, source: Source, fields: list[str]) -> Iterator[Block]:
        """The lines of the trace; of a trace of many files, from those that hold them."""
        first, end = self.begin.released, self.end.released
        if self.rotate is None or not isinstance(source, str | PathLike):
            yield from cut(blocks(source, fields), first, end)
            return
        before = 0
        for number, one in enumerate(self.files(Path(source)), first // self.rotate):
            start = number * self.rotate
            for block in cut(blocks(one, fields), max(first - start, 0), end - start):
                yield block._replace(line=block.line + before, end=block.end + before)
            before += min(end, start + self.rotate) - max(first, start)


def read_manifest(path: str | PathLike[str], since: float | None = None, until: float | None = None) -> Span:
    """The span from a time of day to another, as near as the manifest tells: it begins no later, and ends no later."""
    name = fspath(path)
    try:
        written = json.loads(Path(path).read_bytes())
        moments = [Moment(*each) for each in written["moments"]]
        rotate = written["rotate"]
    except FileNotFoundError:
        raise InputError(f"{name}: does not exist; name the manifest that the pipeline writes beside its trace") from None
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError(f"{name}: is not a manifest; name the one that the pipeline writes beside its trace") from None
    begin = [each for each in moments if since is not None and each.at <= since]
    end = [each for each in moments if until is None or each.at <= until]
    if not end:
        raise InputError(f"{name}: knows of no time before the end that is asked for; ask for a later one")
    first, last = begin[-1] if begin else Moment(), end[-1]
    if begin and first.released >= last.released:
        remedy = "it keeps the newest moment, and one of each hour before, so choose a longer span"
        raise InputError(f"{name}: knows of nothing that left between these times; {remedy}")
    return Span(first, last, rotate)


def cut(found: Iterator[Block], first: int, end: int) -> Iterator[Block]:
    """The rows from `first` on and before `end`, numbered from 0.

    >>> import numpy as np
    >>> block = Block({"a": pa.array([5, 6, 7])}, np.array([0, 1, 3]), 4)
    >>> [(each.columns["a"].to_pylist(), each.line.tolist(), each.end) for each in cut(iter([block]), 1, 3)]
    [([6], [0], 2)]
    """
    start = 0
    for block in found:
        if start >= end:
            return
        if block.end > first:
            inside = (block.line >= first) & (block.line < end)
            columns = {name: column.filter(pa.array(inside)) for name, column in block.columns.items()}
            yield Block(columns, block.line[inside] - first, min(block.end, end) - first)
        start = block.end
