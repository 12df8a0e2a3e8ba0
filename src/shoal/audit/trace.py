"""The trace: how each tuple or observation left, in the order of the output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.block import Block
from shoal.audit.files import Source, blocks
from shoal.audit.manifest import Span
from shoal.audit.values import Flags, Floats, Ints, numbers, texts
from shoal.errors import InputError

CLUSTER, REUSE, SUPPRESSED = 0, 1, 2
RELEASED, GENERALIZED, WITHHELD = 0, 1, 2
NO_ROW = -1
NO_CLUSTER = -1
_TUPLES = ("cluster", "reuse", "suppressed")
_OBSERVATIONS = ("released", "generalized", "withheld")
_HOW = "how"
_REMEDY = "give the trace of the run that wrote the output"
_LARGEST = 2**53  # up to here doubles hold every whole number


class Trace(NamedTuple):
    """How tuples left."""

    row: Ints  # of the accepted input, by arrival; NO_ROW: it names no accepted record
    how: NDArray[np.int8]  # CLUSTER, REUSE or SUPPRESSED
    cluster: Ints  # NO_CLUSTER: none
    arrived: Floats
    released: Floats

    def at(self, lines: Ints) -> Trace:
        """These lines of it; -1 gives an entry without a record."""
        return Trace(*_at(self, (NO_ROW, SUPPRESSED, NO_CLUSTER, np.nan, np.nan), lines))


class FilterTrace(NamedTuple):
    """How observations left a filter."""

    row: Ints  # of the input's readable observations, by arrival; NO_ROW: it names none
    how: NDArray[np.int8]  # RELEASED, GENERALIZED, or WITHHELD: left without its item
    z: Ints  # of that moment

    def at(self, lines: Ints) -> FilterTrace:
        """These lines of it; -1 gives an entry without an observation."""
        return FilterTrace(*_at(self, (NO_ROW, WITHHELD, 0), lines))


def _at(columns: Iterable[NDArray[Any]], blank: Iterable[float], lines: Ints) -> list[NDArray[Any]]:
    return [np.append(column, column.dtype.type(none))[lines] for column, none in zip(columns, blank, strict=True)]


def read_trace(source: Source, line: Ints, on_rows: Callable[[int], None], span: Span | None = None) -> Trace:
    """Read the trace of a window; `line` holds the input row of each accepted record. Groups are numbered anew."""
    fields = (
        _Field("row"),
        _Field("cluster", may_miss=True),
        _Field("arrived", is_whole=False),
        _Field("released", is_whole=False),
    )
    how, number = _read(source, _TUPLES, fields, on_rows, span)
    written = number["cluster"]
    cluster, named = np.full(len(written), NO_CLUSTER), ~np.isnan(written)
    cluster[named] = np.unique(written[named], return_inverse=True)[1]
    return Trace(_record(number["row"], line), how, cluster, number["arrived"], number["released"])


def read_filter_trace(source: Source, line: Ints, on_rows: Callable[[int], None], span: Span | None = None) -> FilterTrace:
    """Read the trace of a filter; `line` holds the input row of each readable observation."""
    how, number = _read(source, _OBSERVATIONS, (_Field("row"), _Field("z")), on_rows, span)
    return FilterTrace(_record(number["row"], line), how, number["z"].astype(np.int64))


def _record(number: Floats, line: Ints) -> Ints:
    """The place of the accepted record that each line of the trace names by its input row; NO_ROW: it names none."""
    row = number.astype(np.int64)
    if not len(line):
        return np.full(len(row), NO_ROW)
    place = np.minimum(np.searchsorted(line, row), len(line) - 1)
    return np.where(line[place] == row, place, NO_ROW)


class _Field(NamedTuple):
    """A number that each line of a trace has."""

    name: str
    is_whole: bool = True  # and not below 0
    may_miss: bool = False


class _Lines(NamedTuple):
    how: NDArray[np.int8]  # the place of its word among those that are known
    number: dict[str, Floats]  # of each field; NaN where it is missing


def _read(
    source: Source, words: Sequence[str], fields: Sequence[_Field], on_rows: Callable[[int], None], span: Span | None
) -> _Lines:
    """The lines of a trace that has these fields, and one of these words in `how`."""
    name = fspath(source) if isinstance(source, str | PathLike) else "trace"
    parts = [_Lines(np.empty(0, np.int8), {field.name: np.empty(0) for field in fields})]
    start = 0
    names = [_HOW, *(field.name for field in fields)]
    for block in blocks(source, names) if span is None else span.trace(source, names):
        parts.append(_part(block, words, fields, name, start))
        start += block.rows
        on_rows(block.rows)
    number = {field.name: np.concatenate([part.number[field.name] for part in parts]) for field in fields}
    return _Lines(np.concatenate([part.how for part in parts]), number)


def _part(block: Block, words: Sequence[str], fields: Sequence[_Field], name: str, start: int) -> _Lines:
    if block.end != start + block.rows:
        raise _refused(name, int(np.setdiff1d(np.arange(start, block.end), block.line)[0]))
    for needed in (*(field.name for field in fields), _HOW):
        if needed not in block.columns:
            raise InputError(f"{name}: has no field '{needed}'; {_REMEDY}")
    how = texts(block.columns[_HOW])
    place = np.array([words.index(text) if text in words else -1 for text in how.text] + [-1], np.int8)[how.code]
    wrong = place < 0
    number = {}
    for field in fields:
        number[field.name], unfit = _numbers(block, field)
        wrong |= unfit
    if wrong.any():
        raise _refused(name, start + int(np.argmax(wrong)))
    return _Lines(place, number)


def _numbers(block: Block, field: _Field) -> tuple[Floats, Flags]:
    """The numbers of a field, and which of them it cannot have."""
    value, bad = numbers(block.columns[field.name], {""})
    if not field.may_miss:
        bad = bad | np.isnan(value)
    if field.is_whole:
        bad = bad | (value < 0) | (value > _LARGEST) | (value > np.floor(value))
    return value, bad


def _refused(name: str, line: int) -> InputError:
    return InputError(f"{name}: line {line + 1} is not a line of a trace; {_REMEDY}")


@dataclass(frozen=True, eq=False)
class Replay:
    """The lines of the trace that show a group's generalization, group by group, in the order of release.

    What leaves of a group at once is a *moment*: new members whose lines follow each other and were released at one instant,
    or a single tuple that reuses it. Groups and moments are numbered from 0, in this order.

    >>> zero, released = np.zeros(4, np.int64), np.array([5.0, 5.0, 6.0, 7.0])
    >>> trace = Trace(np.arange(4), np.array([0, 0, 0, 1], np.int8), np.array([8, 8, 3, 8]), zero, released)
    >>> found = replay(trace)
    >>> found.line.tolist(), found.group.tolist(), found.moment.tolist()
    ([2, 0, 1, 3], [0, 1, 1, 1], [0, 1, 1, 2])
    >>> found.so_far(np.ones(4, np.int64)).tolist()
    [1, 2, 2, 3]
    """

    line: Ints  # of the trace
    group: Ints
    moment: Ints
    is_member: Flags  # whether it left with the group; else it reuses it

    def so_far(self, amount: Ints) -> Ints:
        """For each line the sum of an amount over its group, up to the end of its moment."""
        if not len(amount):
            return amount
        total = np.cumsum(amount)
        last = np.append(np.flatnonzero(np.diff(self.moment)), len(amount) - 1)[self.moment]
        first = np.flatnonzero(np.diff(self.group, prepend=-1))
        before = (total - amount)[first]
        return total[last] - before[self.group]

    def first_seen(self, code: Ints) -> Ints:
        """1 where a code appears for the first time in its group, 0 where again; below 0 is no code."""
        fresh = np.zeros(len(code), np.int64)
        width = int(code.max(initial=0)) + 2
        fresh[np.unique(self.group * width + code + 1, return_index=True)[1]] = 1
        fresh[code < 0] = 0
        return fresh


def replay(trace: Trace) -> Replay:
    """Put the lines of a trace in the order of their groups; suppressed tuples are in none."""
    grouped = (trace.how == CLUSTER) | (trace.how == REUSE)
    line = np.flatnonzero(grouped & (trace.cluster != NO_CLUSTER))
    line = line[np.argsort(trace.cluster[line], kind="stable")]
    cluster, released, is_member = trace.cluster[line], trace.released[line], trace.how[line] == CLUSTER
    new_group = _changes(cluster)
    goes_on = ~_changes(released) & ~_changes(line - np.arange(len(line))) & is_member
    goes_on[1:] &= is_member[:-1]
    return Replay(line, np.cumsum(new_group) - 1, np.cumsum(new_group | ~goes_on) - 1, is_member)


def _changes(values: NDArray[np.generic]) -> Flags:
    """Where a value differs from the one before; the first does."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


def held(trace: Trace, person: Ints, moments: Floats) -> Ints:
    """How many persons had a tuple that arrived before each of these moments and left after it.

    The stays of one person that overlap are one; then as many persons are there as stays have begun and not ended. A number
    below 0 is no person.

    >>> trace = Trace(*[np.zeros(3, np.int64)] * 3, np.array([0.0, 1.0, 2.0]), np.array([4.0, 5.0, 5.0]))
    >>> held(trace, np.array([7, 7, 3]), np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])).tolist()
    [0, 1, 1, 2, 2, 0]
    """
    order = np.lexsort((trace.arrived, person))
    order = order[(person[order] >= 0) & (trace.released[order] > trace.arrived[order])]
    times, rank = np.unique(np.concatenate([trace.arrived[order], trace.released[order]]), return_inverse=True)
    whose = person[order] * len(times)
    start, end = whose + rank[: len(order)], np.maximum.accumulate(whose + rank[len(order) :])
    apart = np.append(True, start[1:] >= end[:-1])[: len(order)]
    last = np.append(apart[1:], True)[: len(order)]
    begins, ends = (np.sort(times[(place - whose)[which]]) for place, which in ((start, apart), (end, last)))
    found: Ints = np.searchsorted(begins, moments) - np.searchsorted(ends, moments, side="right")
    return found
