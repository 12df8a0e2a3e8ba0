"""The first rows of an input, column by column, as a run would read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.causes import number_cause
from shoal.columns import Numbers, numbers, texts, times, unreadable
from shoal.date_text import UNITS, column_forms
from shoal.errors import InputError
from shoal.formats import Detected, Field, detected, first_rows, kind
from shoal.number_text import PLAIN, Marks
from shoal.recognize import form, is_birth, is_time

RARE = 5  # a value of fewer persons than this could identify them, and is never written down
LONGEST_NAME = 120
LOOKED_AT = 1000  # different values that are no numbers, whose likely cause is looked for
GLANCE = 50  # different values that are tried first: they tell most columns apart
EARLIEST, LATEST_USUAL = 1e8, 4e9  # seconds since 1970: 1973 to 2096
ALMOST = 0.9
FEWEST = 20
LATEST = 9e12  # seconds
_PACKED = {form: re.compile(rf"(?:19|20)[0-9]{{{len(form) - 2}}}") for form in ("yyyymmdd", "yyyymmddhhmm", "yyyymmddhhmmss")}
_PADDED = re.compile(r"[+-]?0[0-9]+(\..*)?")


class Sample(NamedTuple):
    """The first rows of an input, and how it is written."""

    fields: list[Field]
    rows: int  # that could be read
    bad: int  # that could not
    complete: bool  # whether there are no more
    nested: frozenset[str]  # fields that hold lists or objects
    written: Detected
    unnamed: int = 0  # fields whose name is empty or too long for a policy
    seldom: int = 0  # fields of so few records that the name itself could identify a person


def sample(path: str, rows: int, written: Detected | None = None) -> Sample:
    """At most `rows` rows of a file, or of JSON lines on standard input if the path is `-`; how it is written may be given."""
    if rows < 1:
        raise InputError("rows: is below 1; look at one row at least")
    written = written or detected(path)
    found = first_rows(path, rows, written.dialect)
    if not found.rows:
        remedy = "give one object per line" if kind(path) == "jsonl" else "correct them"
        remedy += ", or name a file of another format" if path == "-" else ""
        broken = (
            f"none of its first {found.bad:,} rows can be read; {remedy}"
            if found.bad
            else f"has no records{f' in {written.doubt}' * bool(written.doubt)}"
        )
        raise InputError(f"{path}: {broken}, since a draft needs some to look at")
    if found.rows == 1 and found.complete and path.lower().endswith(".json") and found.nested:
        raise InputError(
            f"{path}: holds one record alone, with lists in it; if those hold the records, take them out, as "
            "jq -c '.data[]' in.json > out.jsonl does with those under data"
        )
    often = [field for field in found.fields if field.records >= min(RARE, found.rows)]
    usable = [field for field in often if field.name.strip() and len(field.name) <= LONGEST_NAME]
    return Sample(
        usable, found.rows, found.bad, found.complete, found.nested, written,
        unnamed=len(often) - len(usable), seldom=len(found.fields) - len(often),
    )  # fmt: skip


class Column:
    """A field of the sample with its values, read as a run would read them."""

    def __init__(self, field: Field, nulls: Sequence[str], marks: Marks = PLAIN, nested: bool = False) -> None:
        self.name = field.name
        self.nested = nested
        self._arrays = field.arrays
        self.nulls = tuple(nulls)
        self._marks = marks
        self._coded = _without(_coded(field.arrays), self.nulls)

    def reading(self, nulls: Sequence[str]) -> Column:
        """The same column, of which these texts are missing, too."""
        other = copy(self)
        other.__dict__ = {name: getattr(self, name) for name in ("name", "nested", "_arrays", "_marks")}
        other.nulls, other._coded = (*self.nulls, *nulls), _without(self._coded, nulls)
        return other

    @cached_property
    def texts(self) -> pa.Array:
        """The different texts, in the order in which they first appear."""
        return self._coded.dictionary

    @cached_property
    def values(self) -> list[str]:
        """The different texts."""
        return self.texts.to_pylist()

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Each row's place in `values`; -1 where it is missing."""
        return self._coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)

    @property
    def rows(self) -> int:
        return len(self._coded)

    @property
    def missing(self) -> int:
        return self._coded.indices.null_count

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
        if (
            self.is_moment
            or self._packed
            or numbers(self.texts[:GLANCE], self.nulls, self._marks).wrong.any()
            or self._numbers.wrong.any()
        ):
            return None
        found = self._numbers.values[self.codes[self.codes >= 0]]
        return found[~np.isnan(found)]

    @cached_property
    def some_numbers(self) -> NDArray[np.float64]:
        """The values that are numbers, although others are not."""
        found = self._numbers.values[self.codes[self.codes >= 0]]
        return found[np.isfinite(found)]

    @cached_property
    def _numbers(self) -> Numbers:
        """The numbers of the different texts."""
        return numbers(self.texts, self.nulls, self._marks)

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        """The number of rows with each of the different texts."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    @cached_property
    def likely_causes(self) -> dict[str, int]:
        """Why some values may be no numbers, and in how many rows; the most frequent first."""
        causes: Counter[str] = Counter()
        for place in np.flatnonzero(self._numbers.wrong)[:LOOKED_AT].tolist():
            causes[number_cause(self.values[place], self._marks)] += int(self._counts[place])
        return dict(causes.most_common())

    @property
    def doubt(self) -> str:
        """Which setting of the input would make numbers of its first values; empty if none is likely."""
        causes = {number_cause(value, self._marks) for value in self.values[:GLANCE]}
        return sorted(causes, key=len)[-1] if causes and all("(input." in cause for cause in causes) else ""

    @cached_property
    def share_of_numbers(self) -> float:
        return 1 - float(self._counts[self._numbers.wrong].sum()) / max(self.known, 1)

    @cached_property
    def shape(self) -> str | None:
        """The form of some of its values, if it is one that is never published."""
        return "dates" if self._packed else form(self.values)

    @cached_property
    def is_whole(self) -> bool:
        """Whether all are whole numbers."""
        return self.numbers is not None and bool((np.trunc(self.numbers) == self.numbers).all())

    @cached_property
    def is_padded(self) -> bool:
        """Whether some are written with leading zeros, as codes are."""
        return any(map(_PADDED.fullmatch, self.values))

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """The forms in which all values can be read as times, other than ISO 8601; two if the day may be the month."""
        if self.is_moment or not self.known or self.nested:
            return ()
        if self._packed:
            return (self._packed,)
        if self.numbers is not None:
            return self._units
        return () if self._seconds(None) is not None else column_forms(self.values)

    @cached_property
    def _packed(self) -> str:
        """The form of dates in digits alone, under the name of a time or of a birth; empty if the values have none."""
        if not self.known or not (is_time(self.name) or is_birth(self.name)) or not all(map(_is_text, self._arrays)):
            return ""
        fits = (form for form, pattern in _PACKED.items() if all(map(pattern.fullmatch, self.values)))
        return next((form for form in fits if not times(self.texts, self.nulls, form).wrong.any()), "")

    @cached_property
    def _units(self) -> tuple[str, ...]:
        """The unit in which numbers count the time since 1970, if it is not the second and the name is one of a time."""
        assert self.numbers is not None
        if not len(self.numbers) or not is_time(self.name):
            return ()
        for unit, size in UNITS.items():
            if unit != "s" and bool(((self.numbers > EARLIEST * size) & (self.numbers < LATEST_USUAL * size)).all()):
                return (unit,)
        return ()

    @cached_property
    def seconds(self) -> NDArray[np.float64] | None:
        """The values as times, if each row has one; of several forms the first counts."""
        return self._seconds(self.forms[0] if self.forms else None)

    def _seconds(self, form: str | None) -> NDArray[np.float64] | None:
        if not all(map(_is_text, self._arrays)):
            found = [times(array, self.nulls, form) for array in self._arrays]
            values = np.concatenate([part.values for part in found]) if found else np.empty(0)
            wrong = any(bool(part.wrong.any()) for part in found)
        elif times(self.texts[:GLANCE], self.nulls, form).wrong.any():
            return None
        else:
            is_counted = form is None and self._marks == PLAIN and self.numbers is not None
            each = self._numbers if is_counted else times(self.texts, self.nulls, form)
            values, wrong = np.append(each.values, np.nan)[self.codes], bool(each.wrong.any())
        return None if wrong or not (np.isnan(values) | (np.abs(values) <= LATEST)).all() else values

    @cached_property
    def is_date(self) -> bool:
        """Whether all values are dates or times, and not plain numbers."""
        return self.seconds is not None and (self.is_moment or (self.numbers is None and self.known > 0))


def _coded(arrays: Sequence[pa.Array]) -> pa.DictionaryArray:
    """The text of each row, as a place among the different ones; null where it is missing."""
    parts = [texts(array, ()).cast(pa.large_string()) for array in arrays]
    return (pa.concat_arrays(parts) if parts else pa.array([], pa.large_string())).dictionary_encode()


def _without(coded: pa.DictionaryArray, nulls: Sequence[str]) -> pa.DictionaryArray:
    """The same rows, null where the text is one of these."""
    stays = pc.invert(pc.is_in(coded.dictionary, pa.array(nulls, coded.dictionary.type)))
    if not nulls or pc.all(stays).as_py():
        return coded
    kept = stays.to_numpy(zero_copy_only=False)
    place = pa.array(np.cumsum(kept) - 1, pa.int32(), mask=~kept)
    return pa.DictionaryArray.from_arrays(place.take(coded.indices), coded.dictionary.filter(stays))


def _is_text(array: pa.Array) -> bool:
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def person_numbers(column: Column | None, rows: int) -> NDArray[np.int64]:
    """A number for each row's person; a row without a person is a person of its own."""
    if column is None:
        return np.arange(rows)
    return np.where(column.codes < 0, len(column.values) + np.arange(rows), column.codes)


def support(column: Column, person: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many persons have each of the column's values."""
    there = column.codes >= 0
    most = int(person.max(initial=0)) + 1
    pairs = np.unique(column.codes[there] * most + person[there])
    return np.bincount(pairs // most, minlength=len(column.values))
