"""A published table to which questions are put."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.column_types import DOUBT
from shoal.errors import InputError
from shoal.policy import Hierarchy, Policy
from shoal.query.condition import (
    Columns,
    Condition,
    Match,
    Values,
    between,
    everything,
    leaves_of,
    read_values,
    shown_labels,
)
from shoal.query.text_files import read_published


class Range(NamedTuple):
    """An answer: the true one lies between `low` and `high`; `estimate` takes values as spread evenly over what is shown."""

    low: float
    estimate: float
    high: float


class Published:
    """A published table, and the policy it was published under.

    Parameters
    ----------
    table
        An Arrow table or batch, anything that gives an Arrow stream (a frame of polars or pandas, a relation of DuckDB), or a
        path: of a Parquet file or a folder of them, or of a file of Arrow. Of CSV and JSON lines too, with the policy.
    policy
        The policy: its hierarchies tell which labels lie below others, and its reading of nulls what a null says. Without it
        a label matches only itself, and a null may be any value, unless the column tells doubt.

    Examples
    --------
    >>> people = Published(pa.table({"age": [{"lo": 30, "hi": 40}, {"lo": 35, "hi": 55}, {"lo": 60, "hi": 65}]}))
    >>> people.count(between("age", 30, 45))
    Range(low=1, estimate=1.5, high=2)
    >>> people.mean("age")
    Range(low=41.666666666666664, estimate=47.5, high=53.333333333333336)
    """

    def __init__(self, table: Any, policy: Policy | str | PathLike[str] | None = None) -> None:
        self._policy = policy if policy is None or isinstance(policy, Policy) else Policy.load(policy)
        self._table = _arrow(table, self._policy)
        self._columns = Columns(cache(self._read), cache(self._leaves))

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def _read(self, field: str) -> Values:
        if field not in self._table.schema.names:
            raise InputError(f"{field}: is not a column of the table; choose among {', '.join(self._table.schema.names)}")
        column = self._table.column(field)
        return read_values(
            pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type), self._tells(field)
        )

    def _tells(self, field: str) -> bool:
        """Whether a null tells that the value is missing: not if it may have been blanked or withheld."""
        attribute = self._policy.attributes.get(field) if self._policy else None
        if attribute is not None and attribute.quasi and self._policy:
            return self._policy.privacy.nulls_match != "extended"
        kind = self._table.schema.field(field).type
        return bool(pa.types.is_struct(kind)) and kind.get_field_index(DOUBT) >= 0

    def _leaves(self, field: str) -> Mapping[str, frozenset[str]]:
        """The leaves below each label of a hierarchy."""
        attribute = self._policy.attributes.get(field) if self._policy else None
        return leaves_below(attribute.hierarchy) if attribute is not None and attribute.hierarchy else {}

    def _match(self, where: Condition | None) -> Match:
        return everything(len(self)) if where is None else where.match(self._columns)

    def count(self, where: Condition | None = None) -> Range:
        """How many rows match."""
        found = self._match(where)
        return Range(int(found.sure.sum()), float(found.chance.sum()), int(found.may.sum()))

    def share(self, of: Condition, where: Condition | None = None) -> Range:
        """Which share of the rows that match `where` also matches `of`."""
        base, both = self._match(where), self._match(of if where is None else where & of)
        alone = self._match(of)
        sure_in, optional = base.sure, base.may & ~base.sure
        low = int(both.sure.sum()), int(sure_in.sum() + (optional & ~alone.sure).sum())
        can = int((optional & alone.may).sum())
        high = int((sure_in & both.may).sum()) + can, int(sure_in.sum()) + can
        estimate = both.chance.sum() / base.chance.sum() if base.chance.sum() else np.nan
        return Range(low[0] / low[1] if low[1] else np.nan, float(estimate), high[0] / high[1] if high[1] else np.nan)

    def _numbers(self, field: str, where: Condition | None) -> tuple[Match, NDArray[np.float64], NDArray[np.float64]]:
        """Rows that match and have a value, and the ends of what it can be."""
        values, found = self._columns.read(field), self._match(where)
        shown = ~np.isnan(values.low)
        if bool((found.may & values.may_have & ~shown).any()):
            raise InputError(f"{field}: some rows show nothing, and may have any value; there are no bounds: count them apart")
        has = Match(found.sure & values.has, found.may & values.may_have, found.chance * values.chance)
        low, high = (where.bounds if where else {}).get(field, (-np.inf, np.inf))
        return has, np.maximum(values.low, low), np.minimum(values.high, high)

    def total(self, field: str, where: Condition | None = None) -> Range:
        """The sum of a field over the rows that match and have it."""
        has, low, high = self._numbers(field, where)
        optional = has.may & ~has.sure
        least = low[has.sure].sum() + np.minimum(low[optional], 0).sum()
        most = high[has.sure].sum() + np.maximum(high[optional], 0).sum()
        middle = (has.chance * (low + high) / 2)[has.may].sum()
        return Range(float(least), float(middle), float(most))

    def mean(self, field: str, where: Condition | None = None) -> Range:
        """The mean of a field over the rows that match and have it."""
        has, low, high = self._numbers(field, where)
        optional = has.may & ~has.sure
        least = -_largest_mean(-low[has.sure], -low[optional])
        most = _largest_mean(high[has.sure], high[optional])
        weight = has.chance[has.may]
        middle = (weight * (low + high)[has.may] / 2).sum() / weight.sum() if weight.sum() else np.nan
        return Range(float(least), float(middle), float(most))

    def quantile(self, field: str, part: float = 0.5, where: Condition | None = None) -> Range:
        """The smallest value that at least this part of the matching rows with a value do not exceed; 0.5 is the median."""
        has, low, high = self._numbers(field, where)
        optional = has.may & ~has.sure
        least = _smallest_quantile(low[has.sure], low[optional], part)
        most = _largest_quantile(high[has.sure], high[optional], part)
        return Range(least, _weighted_quantile((low + high)[has.may] / 2, has.chance[has.may], part), most)

    def series(self, field: str, every: float, where: Condition | None = None) -> Iterator[tuple[float, Range]]:
        """The count of each span of a time, in seconds since 1970, or of any number: the beginning of the span, and the rows.

        A value at the end of a span belongs to the next, so the last bound of a span lies just below it.
        """
        values = self._columns.read(field)
        shown = values.low[~np.isnan(values.low)]
        if not len(shown):
            return
        first, last = np.floor(shown.min() / every), np.floor(np.nanmax(values.high) / every)
        for i in range(int(first), int(last) + 1):
            span = between(field, i * every, np.nextafter((i + 1) * every, -np.inf))
            yield i * every, self.count(span if where is None else where & span)

    def pairs(self, other: Published, field: str) -> Range:
        """How many pairs of rows of two tables have the same value of a label: a join on a generalized key."""
        counts = [_by_label(table._columns.read(field)) for table in (self, other)]
        leaves = {**self._leaves(field), **other._leaves(field)}
        low = estimate = high = 0.0
        for (one, one_doubt), one_count in counts[0].items():
            for (two, two_doubt), two_count in counts[1].items():
                mine, yours = leaves_of(one, leaves), leaves_of(two, leaves)
                number, shared = one_count * two_count, len(mine & yours)
                sure = len(mine) == len(yours) == shared == 1 and not one_doubt and not two_doubt
                low += number if sure else 0
                high += number if shared else 0
                doubt = (0.5 if one_doubt else 1.0) * (0.5 if two_doubt else 1.0)
                estimate += number * doubt * shared / (len(mine) * len(yours))
        return Range(int(low), estimate, int(high))

    def smallest_class(self, *fields: str) -> int:
        """The fewest rows that are alike in these fields: no k above it holds. Rows that show nothing at all are left out.

        Such rows found no group in time, and show the whole range or the root everywhere; the policy tells what that is.
        """
        shown = np.zeros(len(self), bool)
        for field in fields:
            values, attribute = self._columns.read(field), self._policy.attributes.get(field) if self._policy else None
            if attribute is not None and attribute.hierarchy and values.labels is not None:
                nothing = (), (attribute.hierarchy.labels[attribute.hierarchy.root],)
                shown |= np.array([labels not in nothing for labels in shown_labels(values.labels)], bool)
            elif attribute is not None and attribute.quasi:
                shown |= (values.low > attribute.low) | (values.high < attribute.high)
            else:
                shown |= values.has
        rows = self._table.select(list(fields)).filter(pa.array(shown)).to_pylist()
        return min(Counter(map(str, rows)).values(), default=0)


def leaves_below(hierarchy: Hierarchy) -> dict[str, frozenset[str]]:
    """Each label of a hierarchy with the leaves below it."""
    spans = zip(hierarchy.first.tolist(), hierarchy.last.tolist(), strict=True)
    return {
        label: frozenset(hierarchy.labels[first : last + 1])
        for label, (first, last) in zip(hierarchy.labels, spans, strict=True)
    }


def _arrow(table: Any, policy: Policy | None) -> pa.Table:
    if isinstance(table, str | PathLike):
        return read_published(table, policy)
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    return table if isinstance(table, pa.Table) else pa.table(table)


def _by_label(values: Values) -> Counter[tuple[tuple[str, ...], bool]]:
    """How many rows show each label or set of labels, apart where they are in doubt."""
    assert values.labels is not None
    rows = zip(shown_labels(values.labels), values.has.tolist(), strict=True)
    return Counter((labels, not has) for labels, has in rows if labels)


def _largest_mean(sure: NDArray[np.float64], optional: NDArray[np.float64]) -> float:
    """The largest mean of the sure numbers and any of the optional ones; NaN if there are none."""
    ordered = np.sort(optional)[::-1]
    sums = np.concatenate([[0.0], np.cumsum(ordered)]) + sure.sum()
    counts = np.arange(len(sums)) + len(sure)
    keep = counts > 0
    return float((sums[keep] / counts[keep]).max()) if keep.any() else np.nan


def _smallest_quantile(sure: NDArray[np.float64], optional: NDArray[np.float64], part: float) -> float:
    """The smallest x that can be the quantile: all optional numbers up to x join, and none beyond."""
    x = np.unique(np.concatenate([sure, optional]))
    joined = np.searchsorted(np.sort(optional), x, "right")
    below = np.searchsorted(np.sort(sure), x, "right") + joined
    return float(x[below >= part * (len(sure) + joined) - 1e-9].min(initial=np.inf)) if len(x) else np.nan


def _largest_quantile(sure: NDArray[np.float64], optional: NDArray[np.float64], part: float) -> float:
    """The largest x that can be the quantile: all optional numbers from x on join, and none below."""
    x = np.unique(np.concatenate([sure, optional]))
    joined = len(optional) - np.searchsorted(np.sort(optional), x, "left")
    below = np.searchsorted(np.sort(sure), x, "left")
    return float(x[below < part * (len(sure) + joined) - 1e-9].max(initial=-np.inf)) if len(x) else np.nan


def _weighted_quantile(numbers: NDArray[np.float64], weights: NDArray[np.float64], part: float) -> float:
    if not len(numbers) or not weights.sum():
        return np.nan
    order = np.argsort(numbers)
    reached = np.cumsum(weights[order])
    return float(numbers[order][np.searchsorted(reached, part * reached[-1] * (1 - 1e-12))])
