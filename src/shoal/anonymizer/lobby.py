"""The lobby: where what is passed through waits until its tuple leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import InputError

_SLACK = 4096


class Guests(NamedTuple):
    """What is kept of the tuples in the lobby, and their row numbers."""

    kept: pa.Table
    rows: NDArray[np.int64]


class Lobby:
    """Kept values and row numbers by seat. Seats are given in order of arrival; now and then those held move together."""

    def __init__(self, passed: Sequence[str]) -> None:
        self.guests = Guests(pa.table({name: pa.nulls(0) for name in passed}), np.zeros(0, np.int64))

    def enter(self, kept: pa.RecordBatch, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Seat newcomers; their seats."""
        first = len(self.guests.rows)
        table = pa.Table.from_batches([kept])
        if first or any(not pa.types.is_null(kind) for kind in self.guests.kept.schema.types):
            table = _together(self.guests.kept, table)
        self.guests = Guests(table, np.concatenate([self.guests.rows, rows]))
        return np.arange(first, first + len(rows))

    def fetch(self, seats: NDArray[np.int64]) -> Guests:
        kept = self.guests.kept
        return Guests(kept.take(seats) if kept.num_columns else kept, self.guests.rows[seats])

    def settle(self, seats: Sequence[NDArray[np.int64]], always: bool = False) -> None:
        """Keep only those who wait in `seats`, and give them new seats in place, if much of the room is empty."""
        ends = np.cumsum([len(some) for some in seats])
        if always or len(self.guests.rows) > 2 * ends[-1] + _SLACK:
            self.guests = self.fetch(np.concatenate(seats))
            for some, end in zip(seats, ends, strict=True):
                some[:] = np.arange(end - len(some), end)


def _together(old: pa.Table, new: pa.Table) -> pa.Table:
    try:
        return pa.concat_tables([old, new], promote_options="permissive").combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        odd = [f.name for f in new.schema if f.type != old.schema.field(f.name).type] or new.schema.names
        raise InputError(f"{', '.join(odd)}: the type changes within the stream; give one type throughout") from None
