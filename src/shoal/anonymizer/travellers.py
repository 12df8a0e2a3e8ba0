"""Travellers: encoded tuples on their way to a lane that is elsewhere, with what is passed through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.lane import part_of
from shoal.columns.encode import Batch

_KEPT = "kept."


class Travellers(NamedTuple):
    """Tuples that were handed over, with all that must go along to another process."""

    tuples: Batch  # without seats
    kept: pa.Table
    rows: NDArray[np.int64]
    went: NDArray[np.int64]  # how many had arrived when each was handed over

    def part(self, which: Any) -> Travellers:
        """Some of them, by numbers or a mask."""
        number = np.arange(len(self.rows))[which]
        kept = self.kept.take(number) if self.kept.num_columns else self.kept
        return Travellers(part_of(self.tuples, which), kept, self.rows[which], self.went[which])


def packed(some: Travellers) -> bytes:
    """As an Arrow stream."""
    tuples = some.tuples
    columns = {f"value{q}": pa.array(column) for q, column in enumerate(tuples.values)}
    columns |= {"pattern": pa.array(tuples.pattern), "time": pa.array(tuples.time), "arrival": pa.array(tuples.arrival)}
    columns |= {f"person{i}": pa.array(np.ascontiguousarray(tuples.person[:, i])) for i in range(2)}
    columns |= {f"sensitive{a}": pa.array(np.ascontiguousarray(column)) for a, column in enumerate(tuples.sensitive.T)}
    columns |= {"row": pa.array(some.rows), "went": pa.array(some.went)}
    columns |= {f"{_KEPT}{name}": some.kept.column(name) for name in some.kept.schema.names}
    table = pa.table(columns)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue().to_pybytes()


def unpacked(data: bytes) -> Travellers:
    table = pa.ipc.open_stream(data).read_all()
    names = table.schema.names

    def numbers(name: str) -> NDArray[Any]:
        return np.array(table.column(name).to_numpy())  # of its own: kernels are compiled for arrays that can be written to

    def rows(prefix: str) -> list[NDArray[Any]]:
        return [numbers(f"{prefix}{i}") for i in range(sum(n.startswith(prefix) and n[len(prefix) :].isdigit() for n in names))]

    size = len(table)
    values = np.vstack([np.zeros((0, size)), *rows("value")])
    person = np.stack(rows("person"), axis=1)
    sensitive = np.vstack([np.zeros((0, size), np.uint64), *rows("sensitive")]).T
    tuples = Batch(values, numbers("pattern"), person, numbers("time"), np.zeros(size, np.int64),
                   np.ascontiguousarray(sensitive), numbers("arrival"))  # fmt: skip
    kept = table.select([name for name in names if name.startswith(_KEPT)])
    kept = kept.rename_columns([name.removeprefix(_KEPT) for name in kept.schema.names])
    return Travellers(tuples, kept, numbers("row"), numbers("went"))


def together(parts: Sequence[Travellers]) -> Travellers:
    """All of them; there is at least one part."""
    if len(parts) == 1:
        return parts[0]
    values, *rest = zip(*(part.tuples for part in parts), strict=True)
    tuples = Batch(np.hstack(values), *map(np.concatenate, rest))
    kept = pa.concat_tables([part.kept for part in parts])
    return Travellers(tuples, kept, *(np.concatenate([part[i] for part in parts]) for i in (2, 3)))
