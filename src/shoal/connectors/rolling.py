"""What sinks that write tables have in common: tuples are collected, and stored together with the number after them."""

from __future__ import annotations

import os
import re
import threading
import time
from abc import abstractmethod
from collections.abc import Container, Sequence
from concurrent.futures import Future, wait
from typing import Annotated, ClassVar

import pyarrow as pa
from pydantic import BeforeValidator, Field, WithJsonSchema

from shoal.column_types import DOUBT, ENDS
from shoal.config import Count, FrozenModel, Name, Span, refusal
from shoal.connectors.connector import Position, Sink
from shoal.connectors.spool import Spool, Waiting
from shoal.connectors.table_columns import Change, change, fitted, flat_schema, flat_table, plain_schema, plain_table
from shoal.errors import ConnectorError
from shoal.shapes import Kind

NO_ROOM = "no space left on device"
PARTS = (*ENDS, DOUBT, "of", "had")  # of a value whose parts are columns of their own
CLOSING = 10.0  # seconds that `close` waits for a commit

_THOUSANDS = {"": 1, "k": 1_000, "M": 1_000_000}


def _rows(value: object) -> object:
    """
    >>> _rows("1M"), _rows("250k"), _rows(7)
    (1000000, 250000, 7)
    """
    if not isinstance(value, str):
        return value
    written = re.fullmatch(r"([0-9]+)([kM]?)", value)
    if written is None:
        raise refusal("is not a number of rows; write it like 50000, 50k or 1M")
    return int(written[1]) * _THOUSANDS[written[2]]


Rows = Annotated[
    Count,
    BeforeValidator(_rows),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[0-9]+[kM]?$"}]}),
]


def remedy(why: str, check: str = "the address and the rights") -> str:
    """What to do if a place cannot be written."""
    return "make room, and start again" if why == NO_ROOM else f"check {check}"


def refuse_unwritable(folder: str, place: str) -> None:
    """Before anything is taken in: a local folder that is there, or the nearest one above it, must be writable."""
    while not os.path.exists(folder) and folder != (above := os.path.dirname(os.path.abspath(folder))):
        folder = above
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        raise ConnectorError(f"{place} cannot be written; check the address and the rights of {folder!r}")


class Roll(FrozenModel):
    """When the tuples that were collected are stored: with so many rows, or so long after the first of them."""

    rows: Rows = Field(default=1_000_000, description="rows after which a commit is made, such as 1M")
    every: Span = Field(default=60.0, description="how long a tuple waits for a commit at most, such as 60s")


class Rolled(FrozenModel):
    """Settings of a sink that collects tuples."""

    roll: Roll = Field(default=Roll(), description="when tuples are stored, such as {rows: 1M, every: 60s}")
    number: Name | None = Field(default=None, description="a column for the number of each tuple; without it there is none")


class RollingSink(Sink):
    """Collects tuples, and stores them with the number after them in one commit, so that both are there or none is.

    A commit holds what whole calls of `write` brought, so no group is ever stored in parts. Tuples that are not stored when a
    checkpoint is written go into the spool. With a spool, a commit is made by a thread of its own, one at a time, while the
    next tuples are collected.
    """

    remembers = True
    place = ""  # how messages name the table
    is_flat: ClassVar[bool] = False  # whether the parts of a generalized value are columns of their own

    def __init__(self, settings: Rolled) -> None:
        self._roll, self._number = settings.roll, settings.number
        self._waiting: list[Waiting] = []  # what is not stored; a commit is made of the first of them
        self._storing = 0  # how many of them are in the commit that is being made
        self._task: Future[None] | None = None  # that commit
        self._since = 0.0  # when the first came that is in no commit
        self._has = self._begun = 0  # the number after the last tuple that is stored; the first number of this sink
        self._spool: Spool | None = None

    @abstractmethod
    def _connect(self) -> None:
        """Connect, without any effect on others."""

    @abstractmethod
    def _committed(self) -> int | None:
        """The number after the last tuple that is stored; None if nothing ever was."""

    @abstractmethod
    def _is_taken(self) -> bool:
        """Whether something is there that no sink of ours wrote, though nothing was committed."""

    @abstractmethod
    def _columns(self) -> pa.Schema | None:
        """The columns of the table; None if there is no table yet."""

    @abstractmethod
    def _commit(self, table: pa.Table, added: Sequence[pa.Field], first: int, end: int) -> None:
        """Store a table, which has all columns, and the number `end`. `added` are columns that are new.

        Waits while the other side is away. Raises ConnectorError if it holds another number than `_has`.
        """

    def _of(self, *kinds: Kind) -> set[str]:
        """The published fields of some kinds."""
        return {field.name for field in self.shape.fields if field.kind in kinds}

    def _refuse_partition(self, key: str, field: str, unfit: Container[str]) -> None:
        """Refuse to partition by a field that is not published, or by one of the unfit ones, which are generalized."""
        if self.fields and (field not in self.fields or field in unfit):
            why = "is generalized" if field in self.fields else "is not published"
            known = ", ".join(name for name in self.fields if name not in unfit) or "none"
            raise ConnectorError(f"{self.place}: {key}: {field!r} {why}; choose among {known}")

    def _prepare(self, is_probe: bool) -> None:
        """After it is known that this is the right place: lock it, and clear what an interrupted commit left."""

    def begin(self, mark: Position | None, sequence: int) -> None:
        self._connect()
        self._look(mark, sequence)
        self._prepare(is_probe=False)
        if self.spool is not None:
            self._spool = Spool(self.spool)
            self._take_back(self._spool, sequence if mark else 0)
        self._refuse_gap(sequence)

    def _look(self, mark: Position | None, sequence: int) -> None:
        """Compare what is stored with the mark of a checkpoint."""
        if self._number in self.fields:
            raise ConnectorError(f"{self.place}: number: {self._number!r} is a published field; name another column")
        stands = self._committed()
        if mark is None and (stands is not None or self._is_taken()):
            raise ConnectorError(f"{self.place} has content that no state knows; name another one, or restore its state")
        self._begun = int(mark["begun"]) if mark else sequence
        self._has = self._begun if stands is None else stands
        if mark and self._has < int(mark["has"]):
            raise ConnectorError(
                f"{self.place} has the tuples up to {self._has}, but {mark['has']} were stored; "
                "it is not the one that the state belongs to"
            )
        self._change()

    def _change(self) -> Change:
        """What the policy changes about the columns."""
        if self.schema is None:
            return Change()
        columns, new = self._columns(), plain_schema(self.schema)
        self._refuse_loss(columns)
        new = flat_schema(new) if self.is_flat else new
        untyped = [part for name in self._untyped for part in (name, *(f"{name}_{end}" for end in PARTS))]
        names = [*([self._number] if self._number else []), *new.names, *untyped]
        return change(columns, new, names, self.place) if columns is not None else Change()

    def _refuse_loss(self, columns: pa.Schema | None) -> None:
        """A table that somebody removed is not made anew without a word."""
        if columns is None and self._has > self._begun:
            raise ConnectorError(
                f"{self.place} no longer exists, though {self._has - self._begun} tuples were stored in it; "
                "restore it, or start with another table and state"
            )

    @property
    def _untyped(self) -> list[str]:
        """Published fields whose types only their values tell."""
        return [field.name for field in self.schema or () if pa.types.is_null(field.type)]

    def outlook(self) -> Sequence[str]:
        try:
            self._connect()
            found = self._change()
            columns = self._columns()
        finally:
            self.close()
        lines = [f"{self.place} is created with the first tuples"] if columns is None else []
        lines += [f"{self.place} gets a new column {field.name!r}: older rows are null there" for field in found.added]
        there = set(self._untyped if columns is None else columns.names)
        later = [name for name in self._untyped if not there & {name, f"{name}_{PARTS[0]}"}]
        lines += [f"{self.place} gets a new column {name!r} with its first value: older rows are null there" for name in later]
        lines += [f"{self.place} keeps its column {name!r}: new rows are null there" for name in found.missing]
        return [*lines, f"tuples are visible at most {self.delay:g} s after they left the window, and a commit"]

    @property
    def delay(self) -> float:
        return self._roll.every

    def probe(self, mark: Position | None, sequence: int) -> bool:
        try:
            self._connect()
            self._look(mark, sequence)
            self._prepare(is_probe=True)
        finally:
            self.close()
        return True

    def _take_back(self, spool: Spool, sequence: int) -> None:
        """Collect again what the spool has up to a checkpoint. The replay brings what comes behind, so that is dropped."""
        for first, batch in spool.read():
            begin, end = max(self._next - first, 0), min(sequence - first, len(batch))
            if first > self._next:
                break
            if begin < end:
                self._waiting.append(Waiting(first + begin, batch.slice(begin, end - begin)))
        self._since = time.monotonic()
        spool.replace(self._waiting)

    def _refuse_gap(self, sequence: int) -> None:
        if self._next < sequence:
            raise ConnectorError(
                f"{self.place} has the tuples up to {self._has}, and those up to {sequence} are not in the spool of the state "
                "any more; restore the whole folder of the state"
            )

    @property
    def _next(self) -> int:
        return self._waiting[-1].end if self._waiting else self._has

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        had = max(0, min(len(batch), self._next - sequence))
        if had == len(batch):
            return
        if len(self._waiting) == self._storing:
            self._since = time.monotonic()
        self._waiting.append(Waiting(sequence + had, batch.slice(had)))
        if sum(len(each.batch) for each in self._waiting[self._storing :]) >= self._roll.rows:
            self._begin_commit()

    def store_waiting(self, everything: bool = False) -> None:
        if self._task and self._task.done():
            self._end_commit()
        is_due = everything or (not self._task and time.monotonic() - self._since >= self._roll.every)
        if is_due and len(self._waiting) > self._storing:
            self._begin_commit()
        if everything:
            self._end_commit()

    def _begin_commit(self) -> None:
        """Begin to store all that waits, after the commit before it has ended."""
        self._end_commit()
        some = list(self._waiting)
        self._storing, self._task = len(some), Future()
        if self._spool:
            threading.Thread(target=self._run, args=(self._task, some), daemon=True).start()
        else:
            self._run(self._task, some)
            self._end_commit()

    def _run(self, task: Future[None], some: Sequence[Waiting]) -> None:
        try:
            self._store(some)
        except BaseException as error:
            task.set_exception(error)
        else:
            task.set_result(None)

    def _end_commit(self) -> None:
        """Wait for the commit that is being made. Raises what it raised."""
        if self._task:
            self._task.result()
            self._has = self._waiting[self._storing - 1].end
            self._waiting = self._waiting[self._storing :]
            self._storing, self._task = 0, None

    def _store(self, some: Sequence[Waiting]) -> None:
        first, end = some[0].first, some[-1].end
        table = plain_table([each.batch for each in some], self.place)
        if self._number:
            numbers = [pa.array(range(each.first, each.end), pa.int64()) for each in some]
            table = table.add_column(0, self._number, pa.chunked_array(numbers))
        table = flat_table(table) if self.is_flat else table
        columns = self._columns()
        self._refuse_loss(columns)
        found = change(columns or pa.schema([]), table.schema, table.schema.names, self.place)
        whole = pa.schema([*(columns or []), *found.added])
        self._commit(fitted(table, whole, self.place), found.added, first, end)

    def caught_up(self, sequence: int) -> None:
        if self._has > sequence:
            raise ConnectorError(
                f"{self.place} has the tuples up to {self._has}, but the state ends at {sequence}; it is too old: "
                "use the latest one"
            )

    def take_over(self, sequence: int) -> int:
        return max(self._next, sequence)

    def _has_come(self, end: int) -> bool:
        """Whether a commit came through whose outcome was not known. Raises ConnectorError if another one was made."""
        stands = self._committed()
        if stands not in (end, self._has) and not (stands is None and self._has == self._begun):
            raise self._overtaken(stands)
        return stands == end

    def _overtaken(self, stands: int | None) -> ConnectorError:
        return ConnectorError(
            f"{self.place} has the tuples up to {stands}, but this pipeline stored up to {self._has}; "
            "another one writes to it: give each its own"
        )

    @property
    def mark(self) -> Position:
        return {"begun": self._begun, "has": self._has}

    def make_durable(self) -> None:
        if self._spool:
            self._spool.hold(list(self._waiting))

    def close(self) -> None:
        if self._task:
            wait([self._task], CLOSING)
            self._task = None
        if self._spool:
            self._spool.close()
