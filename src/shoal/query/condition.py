"""Conditions on rows whose values are intervals, labels and doubts: rows match surely, maybe, or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.column_types import BLURRED_LABEL, DOUBT, ENDS
from shoal.errors import InputError

PRESENT = 0.5  # the chance that a value in doubt is there, for estimates


class Match(NamedTuple):
    """Which rows match: surely, maybe, and with which chance."""

    sure: NDArray[np.bool_]
    may: NDArray[np.bool_]
    chance: NDArray[np.float64]


class Values(NamedTuple):
    """A published column: which rows have a value, surely or maybe, and the ends of intervals or the labels."""

    has: NDArray[np.bool_]
    may_have: NDArray[np.bool_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    labels: pa.Array | None = None

    @property
    def chance(self) -> NDArray[np.float64]:
        """The chance that there is a value. Where nothing is shown it is taken as 0."""
        return np.where(self.has, 1.0, np.where(self.may_have & ~np.isnan(self.low), PRESENT, 0.0))


class Columns(NamedTuple):
    """The columns of a table, read once, and what is known of their labels."""

    read: Callable[[str], Values]
    leaves: Callable[[str], Mapping[str, frozenset[str]]]


class Condition:
    """A condition on rows; two are joined by `&`."""

    def __init__(self, match: Callable[[Columns], Match], bounds: Mapping[str, tuple[float, float]] | None = None) -> None:
        self.match = match
        self.bounds = dict(bounds or {})  # the bounds of fields that matching rows keep

    def __and__(self, other: Condition) -> Condition:
        def both(columns: Columns) -> Match:
            one, two = self.match(columns), other.match(columns)
            return Match(one.sure & two.sure, one.may & two.may, one.chance * two.chance)

        bounds = dict(self.bounds)
        for name, (low, high) in other.bounds.items():
            before = bounds.get(name, (-np.inf, np.inf))
            bounds[name] = (max(low, before[0]), min(high, before[1]))
        return Condition(both, bounds)


def between(field: str, low: float, high: float) -> Condition:
    """Rows whose value lies between two bounds, which belong to it."""

    def match(columns: Columns) -> Match:
        values = columns.read(field)
        if values.labels is not None and not (_is_number(values.labels.type) or pa.types.is_null(values.labels.type)):
            raise InputError(f"{field}: holds labels, and no numbers; ask with one_of")
        shown = ~np.isnan(values.low)
        inside = shown & (values.low >= low) & (values.high <= high)
        apart = shown & ((values.high < low) | (values.low > high))
        width = values.high - values.low
        overlap = np.minimum(values.high, high) - np.maximum(values.low, low)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(inside, 1.0, np.where(apart | ~shown, 0.0, np.where(width > 0, overlap / width, 1.0)))
        return Match(values.has & inside, values.may_have & ~apart, values.chance * np.clip(part, 0.0, 1.0))

    return Condition(match, {field: (low, high)})


def one_of(field: str, *values: Any) -> Condition:
    """Rows whose value is one of these, or lies below a label of the hierarchy that is one of these."""

    def match(columns: Columns) -> Match:
        found, known = columns.read(field), columns.leaves(field)
        wanted = leaves_of(map(str, values), known)
        labels = found.labels
        if labels is None:
            raise InputError(f"{field}: holds intervals of numbers; ask with between")
        if pa.types.is_list(labels.type):
            share = _shares_of_sets(labels, known, wanted)
        else:
            coded = labels.dictionary_encode() if not pa.types.is_dictionary(labels.type) else labels
            texts = [str(each) for each in coded.dictionary.to_pylist()]
            shares = np.array([_share(known.get(text, frozenset([text])), wanted) for text in texts] + [np.nan])
            share = shares[pc.fill_null(coded.indices, len(texts)).to_numpy(zero_copy_only=False)]
        shown = ~np.isnan(share)
        sure = found.has & shown & (share >= 1.0)
        chance = np.where(found.has, 1.0, np.where(shown, PRESENT, 0.0)) * np.where(shown, share, 0.0)
        return Match(sure, found.may_have & ~(shown & (share <= 0.0)), chance)

    return Condition(match)


def _shares_of_sets(sets: pa.ListArray, known: Mapping[str, frozenset[str]], wanted: frozenset[str]) -> NDArray[np.float64]:
    """The share of the leaves at or below the labels of each set that are wanted; NaN where nothing is shown."""
    shares: dict[tuple[str, ...], float] = {(): np.nan}
    found = np.empty(len(sets))
    for row, shown in enumerate(shown_labels(sets)):
        if shown not in shares:
            shares[shown] = _share(leaves_of(shown, known), wanted)
        found[row] = shares[shown]
    return found


def shown_labels(labels: pa.Array) -> Iterator[tuple[str, ...]]:
    """What each row shows: one label, those of a set, or none."""
    for found in labels.to_pylist():
        each = found if isinstance(found, list) else [found]
        yield tuple(str(label) for label in each if label is not None)


def leaves_of(labels: Iterable[str], known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The leaves at or below some labels."""
    return frozenset[str]().union(*(known.get(label, frozenset([label])) for label in labels))


def _share(shown: frozenset[str], wanted: frozenset[str]) -> float:
    return len(shown & wanted) / len(shown)


def missing(field: str) -> Condition:
    """Rows that have no value."""

    def match(columns: Columns) -> Match:
        values = columns.read(field)
        return Match(~values.may_have, ~values.has, 1.0 - np.where(values.may_have & ~values.has, PRESENT, values.has))

    return Condition(match)


def everything(rows: int) -> Match:
    """All rows, surely."""
    return Match(np.ones(rows, bool), np.ones(rows, bool), np.ones(rows))


def read_values(column: pa.Array, null_is_missing: bool) -> Values:
    """A published column. If `null_is_missing` is false, a null may stand for any value: it was blanked or withheld."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    names = tuple(field.name for field in column.type) if pa.types.is_struct(column.type) else ()
    doubt = np.zeros(len(column), bool)
    if names and names[-1] == DOUBT:
        doubt = pc.fill_null(_part(column, DOUBT), False).to_numpy(zero_copy_only=False)
    if pa.types.is_list(column.type):
        doubt = np.array([bool(labels) and labels[-1] is None for labels in column.to_pylist()], bool)
    has, may_have = valid & ~doubt, valid | (not null_is_missing)
    if names[:2] == ENDS:
        low, high = (_floats(_part(column, name)) for name in ENDS)
        return Values(has, may_have, low, high)
    labels = _part(column, "value") if names == BLURRED_LABEL else column
    low = _floats(labels) if _is_number(labels.type) else np.full(len(column), np.nan)
    return Values(has, may_have, low, low, labels)


def _part(column: pa.StructArray, name: str) -> pa.Array:
    return pc.struct_field(column, name)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind))


def _floats(column: pa.Array) -> NDArray[np.float64]:
    """Numbers, or times in seconds since 1970, which may be written as text; nothing is NaN."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.timestamp("us", "UTC"))
    if pa.types.is_timestamp(column.type):
        column = pc.divide(column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64()), 1e6)
    return pc.fill_null(column.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False)
