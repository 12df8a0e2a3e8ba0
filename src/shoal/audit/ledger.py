"""A trace as columns, whatever algorithm it is of: how each line left, and its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.block import Block
from shoal.audit.files import Source, blocks
from shoal.audit.values import Flags, Floats, numbers, texts
from shoal.errors import InputError

NO_ROW = -1
_HOW = "how"
_REMEDY = "give the trace of the run that wrote the output"
_MOST = 2**53  # up to here doubles hold every whole number


class Field(NamedTuple):
    """A number that each line of a trace has."""

    name: str
    is_whole: bool = True  # and not below 0
    may_miss: bool = False


class Ledger(NamedTuple):
    """The lines of a trace."""

    how: NDArray[np.int8]  # the place of its word among those that are known
    number: dict[str, Floats]  # of each field; NaN where it is missing

    def record(self, line: NDArray[np.int64]) -> NDArray[np.int64]:
        """The accepted record that each line names by its row; `line` holds the input row of each. NO_ROW: it names none."""
        row = self.number["row"].astype(np.int64)
        if not len(line):
            return np.full(len(row), NO_ROW)
        place = np.minimum(np.searchsorted(line, row), len(line) - 1)
        return np.where(line[place] == row, place, NO_ROW)


def ledger(source: Source, words: Sequence[str], fields: Sequence[Field], on_rows: Callable[[int], None]) -> Ledger:
    """Read a trace that has these fields, and one of these words in `how`.

    Raises
    ------
    InputError
        A field is absent, a line is no line of such a trace, or the file cannot be read.
    """
    name = fspath(source) if isinstance(source, str | PathLike) else "trace"
    parts = [Ledger(np.empty(0, np.int8), {field.name: np.empty(0) for field in fields})]
    start = 0
    for block in blocks(source, [_HOW, *(field.name for field in fields)]):
        parts.append(_part(block, words, fields, name, start))
        start += block.rows
        on_rows(block.rows)
    number = {field.name: np.concatenate([part.number[field.name] for part in parts]) for field in fields}
    return Ledger(np.concatenate([part.how for part in parts]), number)


def _part(block: Block, words: Sequence[str], fields: Sequence[Field], name: str, start: int) -> Ledger:
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
    return Ledger(place, number)


def _numbers(block: Block, field: Field) -> tuple[Floats, Flags]:
    """The numbers of a field, and which are none that it can have."""
    value, bad = numbers(block.columns[field.name], {""})
    if not field.may_miss:
        bad = bad | np.isnan(value)
    if field.is_whole:
        bad = bad | (value < 0) | (value > _MOST) | (value > np.floor(value))
    return value, bad


def _refused(name: str, line: int) -> InputError:
    return InputError(f"{name}: line {line + 1} is no line of a trace; {_REMEDY}")
