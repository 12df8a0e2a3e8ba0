"""The first rows of an input, column by column, as a run would read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.columns import column, numbers, texts, times, unreadable
from shoal.errors import InputError
from shoal.formats import Records, field_names, first_records, kind, open_reader, typed_column
from shoal.infer.recognize import form

RARE = 5  # a value of fewer persons than this could identify them, and is never written down
LONGEST_NAME = 120
_BLOCK = 65_536
ALMOST = 0.9
FEWEST = 20
LATEST = 9e12  # seconds
_PADDED = re.compile(r"[+-]?0[0-9]+(\..*)?")


class Field(NamedTuple):
    """One field of the sample, in the types of the input."""

    name: str
    arrays: list[pa.Array]
    nested: bool


class Sample(NamedTuple):
    """The first rows of an input."""

    fields: list[Field]
    rows: int  # that could be read
    bad: int  # that could not
    complete: bool  # whether there are no more
    unnamed: int = 0  # fields whose name is empty or too long for a policy
    seldom: int = 0  # fields of so few records that the name itself could identify a person


def sample(path: str, rows: int) -> Sample:
    """At most `rows` rows of a file, or of JSON lines on standard input if the path is `-`."""
    if rows < 1:
        raise InputError("rows: is below 1; look at one row at least")
    found = _of_records(first_records(path, rows)) if kind(path) == "jsonl" else _of_table(path, rows)
    if not found.rows:
        broken = f"none of its first {found.bad:,} rows can be read; correct them" if found.bad else "has no records"
        raise InputError(f"{path}: {broken}, since a draft needs some to look at")
    usable = [field for field in found.fields if field.name.strip() and len(field.name) <= LONGEST_NAME]
    return found._replace(fields=usable, unnamed=len(found.fields) - len(usable))


def _of_records(records: Records) -> Sample:
    keys = records.keys()
    often = [key for key, count in keys.items() if count >= min(RARE, len(records.good))]
    fields = []
    for key in often:
        values = [record.get(key) for record in records.good]
        fields.append(Field(key, [typed_column(values)], any(isinstance(value, dict | list) for value in values)))
    return Sample(fields, len(records.good), records.bad, records.complete, seldom=len(keys) - len(often))


def _of_table(path: str, rows: int) -> Sample:
    names = field_names(path)
    arrays: dict[str, list[pa.Array]] = {name: [] for name in names}
    count = bad = 0
    complete = True
    with open_reader(path, names, rows=min(rows + 1, _BLOCK)) as reader:
        for block in reader:
            cut = int(np.searchsorted(block.rows, rows))
            wrong = sum(row < rows for row, _ in block.bad)
            for name in names:
                arrays[name].append(column(block.batch, name).slice(0, cut))
            count, bad = count + cut, bad + wrong
            if cut < len(block.rows) or wrong < len(block.bad):
                complete = False
                break
    return Sample([_field_of(name, parts) for name, parts in arrays.items()], count, bad, complete)


def _field_of(name: str, arrays: list[pa.Array]) -> Field:
    return Field(name, arrays, any(pa.types.is_nested(_value_type(array.type)) for array in arrays))


def _value_type(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


class Column:
    """A field of the sample with its values, read as a run would read them."""

    def __init__(self, field: Field, nulls: Sequence[str]) -> None:
        self.name = field.name
        self.nested = field.nested
        self._arrays = field.arrays
        self._nulls = tuple(nulls)

    @cached_property
    def text(self) -> pa.Array:
        """Each row's text, null where it is missing."""
        parts = [texts(array, self._nulls).cast(pa.large_string()) for array in self._arrays]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.large_string())

    @cached_property
    def _coded(self) -> pa.DictionaryArray:
        return self.text.dictionary_encode()

    @cached_property
    def values(self) -> list[str]:
        """The different texts."""
        return self._coded.dictionary.to_pylist()

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Each row's place in `values`; -1 where it is missing."""
        return self._coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)

    @property
    def rows(self) -> int:
        return len(self.text)

    @property
    def missing(self) -> int:
        return self.text.null_count

    @property
    def known(self) -> int:
        return self.rows - self.missing

    @property
    def is_almost_unique(self) -> bool:
        return self.known >= FEWEST and len(self.values) >= ALMOST * self.known

    @cached_property
    def is_unreadable(self) -> bool:
        return any(bool(unreadable(array).any()) for array in self._arrays)

    @cached_property
    def is_moment(self) -> bool:
        """Whether its type, not only its text, is that of a date or a time of day."""
        return any(pa.types.is_temporal(array.type) for array in self._arrays)

    @cached_property
    def numbers(self) -> NDArray[np.float64] | None:
        """The values that are not missing, if all of them are numbers."""
        found = numbers(self.text, self._nulls)
        return None if self.is_moment or found.wrong.any() else found.values[~np.isnan(found.values)]

    @cached_property
    def share_of_numbers(self) -> float:
        found = numbers(self.text, self._nulls)
        return 1 - float(found.wrong.sum()) / max(self.known, 1)

    @cached_property
    def is_whole(self) -> bool:
        """Whether all are whole numbers."""
        return self.numbers is not None and bool((np.trunc(self.numbers) == self.numbers).all())

    @cached_property
    def is_padded(self) -> bool:
        """Whether some are written with leading zeros, as codes are."""
        return any(map(_PADDED.fullmatch, self.values))

    @cached_property
    def seconds(self) -> NDArray[np.float64] | None:
        """The values as times, if each row has one."""
        found = [times(array, self._nulls) for array in self._arrays]
        values = np.concatenate([part.values for part in found]) if found else np.empty(0)
        wrong = any(bool(part.wrong.any()) for part in found)
        return None if wrong or not (np.abs(values) <= LATEST).all() else values


def person_numbers(column: Column | None, rows: int) -> NDArray[np.int64]:
    """A number for each row's person; a row without a person is a person of its own."""
    if column is None:
        return np.arange(rows)
    return np.where(column.codes < 0, len(column.values) + np.arange(rows), column.codes)


def support(column: Column, person: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many persons have each of the column's values."""
    pairs = np.unique(np.stack([column.codes, person]), axis=1)[0]
    return np.bincount(pairs[pairs >= 0], minlength=len(column.values))


def refuse_record(path: str, columns: Sequence[Column]) -> None:
    """Raise if half of the names or more are values of their own columns, or look like data."""
    if len(columns) == 1 and any(mark in columns[0].name for mark in ";\t|"):
        raise InputError(f"{path}: has one column, whose name holds ; | or a tab; separate the columns by commas")
    odd = sum(_is_value(column) for column in columns)
    if odd >= min(2, len(columns)) and 2 * odd >= len(columns) > 0:
        raise InputError(
            f"{path}: its first line looks like a record ({odd} of {len(columns)} entries look like values); "
            "put a line with the names of the columns before it"
        )


def _is_value(column: Column) -> bool:
    name = column.name.strip()
    return name in column.values or form([name]) not in (None, "free text")
