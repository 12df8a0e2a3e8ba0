"""The first rows of a file, held in memory for trials."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal.columns import column, texts
from shoal.errors import InputError
from shoal.formats import Detected, FirstRows, first_rows, kind
from shoal.infer import RARE, BlockDraft, Column, Study, draft_blocks, person_numbers, rounded_range, study, support
from shoal.lab.form import FormField, Role
from shoal.lab.reading import FOUND, Reading

ROWS = 20_000
MOST_LEAVES = 2000


@contextmanager
def named(path: Path, name: str) -> Iterator[None]:
    """Errors inside name the file by its own name instead of its path."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(str(path), name)) from None


@dataclass(frozen=True, eq=False)
class Sample:
    """The first rows of a file, at most `limit`, in their order: a trial needs the order of the stream."""

    path: Path
    name: str  # of the file, as the user knows it
    batch: pa.RecordBatch
    malformed: int
    complete: bool  # whether these are all rows
    limit: int
    written: Detected

    @classmethod
    def read(cls, path: Path, name: str, rows: int = ROWS, reading: Reading = FOUND) -> Sample:
        """The first rows of a file; an InputError if it cannot be read, or has no records."""
        with named(path, name):
            return cls._read(path, name, rows, reading.of(path))

    @classmethod
    def _read(cls, path: Path, name: str, rows: int, written: Detected) -> Sample:
        first = first_rows(str(path), rows, written.dialect)
        if not first.rows:
            broken = "none of its first rows can be read" if first.bad else "has no records"
            raise InputError(f"{name}: {broken}; give another file")
        return cls(path, name, _batch(first), first.bad, first.complete, rows, written)

    @property
    def reading(self) -> dict[str, str] | None:
        """How the fields and numbers of a CSV are written; None for other formats."""
        if kind(str(self.path)) != "csv":
            return None
        dialect, marks = self.written.dialect.named(str(self.path)), self.written.marks
        return {
            "separator": dialect.separator, "encoding": dialect.encoding, "decimal": marks.decimal,
            "thousands": marks.thousands,
        }  # fmt: skip

    @property
    def rows(self) -> int:
        return int(self.batch.num_rows)

    @cached_property
    def study(self) -> Study:
        """The study of `shoal infer`."""
        with named(self.path, self.name):
            return study(str(self.path), self.limit, self.written)

    @cached_property
    def columns(self) -> dict[str, Column]:
        """The columns that `shoal infer` looks at, read as it reads them."""
        found = self.study.sample
        nulls = {name: tuple(texts) for name, texts in self.study.nulls.items()}
        return {
            field.name: Column(field, nulls.get(field.name, ("",)), found.written.marks, field.name in found.nested)
            for field in found.fields
        }

    def values(self, fields: list[str], rows: list[int]) -> list[list[str]]:
        """Some rows of some fields as text, empty where missing."""
        some = self.batch.take(pa.array(rows, pa.int64()))
        columns = [texts(column(some, field), ()).fill_null("").to_pylist() for field in fields]
        return [list(row) for row in zip(*columns, strict=True)]

    def proposed(self, name: str, role: Role) -> FormField:
        """A field in a role, with a range or a flat hierarchy from the sample; an InputError if it cannot have that role."""
        found = self._column(name)
        entry = FormField(name=name, role=role)
        if role == "numeric":
            if found.numbers is None or not len(found.numbers) or not np.isfinite(found.numbers).all():
                raise InputError(f"'{name}': not all of its values are numbers; make it categorical, or list nulls")
            bounds = rounded_range(float(found.numbers.min()), float(found.numbers.max()), found.is_whole)
            if bounds:
                return entry.model_copy(update=bounds._asdict())
        if role == "categorical":
            leaves, rare = self.frequent(name)
            root = next(root for root in ("any" + n * " value" for n in count()) if root not in leaves)
            tree = "\n".join([root, *(f"  {leaf}" for leaf in leaves)]) if leaves else ""
            return entry.model_copy(update={"tree": tree, "lenient": bool(rare) or not self.complete})
        return entry

    def frequent(self, name: str) -> tuple[list[str], int]:
        """The values of a column that several persons have, sorted, and how many others there are."""
        found = self._column(name)
        often = np.flatnonzero(support(found, person_numbers(self.study.person.counted, found.rows)) >= RARE)
        if len(often) > MOST_LEAVES:
            raise InputError(f"'{name}': has over {MOST_LEAVES:,} values; write a hierarchy yourself, or leave it out")
        return sorted(found.values[code] for code in often), len(found.values) - len(often)

    def _column(self, name: str) -> Column:
        if name not in self.columns:
            raise InputError(f"'{name}': is not in the sample; name a field that it has")
        return self.columns[name]

    def blocks(self, name: str, person: str, least: int) -> BlockDraft:
        """Blocks of a stable attribute, of at least so many values; values of few persons are not written down."""
        found = self._column(name)
        counts = support(found, person_numbers(self.columns.get(person), found.rows))
        often = np.flatnonzero(counts >= RARE)
        shares = {found.values[code]: float(counts[code] / counts[often].sum()) for code in often}
        return draft_blocks(shares, least, rare=len(found.values) - len(often))


def _batch(first: FirstRows) -> pa.RecordBatch:
    """One batch; a field whose type changes between blocks becomes text."""
    columns = []
    for field in first.fields:
        arrays = [array for array in field.arrays if len(array)]
        if len({array.type for array in arrays}) > 1:
            arrays = [texts(array, ()).cast(pa.string()) for array in arrays]
        columns.append(pa.chunked_array(arrays).combine_chunks() if len(arrays) != 1 else arrays[0])
    whole = [each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in columns]
    return pa.RecordBatch.from_arrays(whole, names=[field.name for field in first.fields])
