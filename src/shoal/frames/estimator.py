"""A transformer for scikit-learn."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from shoal.anonymizer import Anonymizer
from shoal.column_types import BLURRED_INTERVAL
from shoal.policy import Policy

Floats = NDArray[np.float64]

NONE = -1
_CELLS = 1 << 20  # values that are compared at a time


class Boxes(NamedTuple):
    """One row per box, one column per feature; NaN if no member of the group had a value."""

    low: Floats
    high: Floats
    size: Floats  # of each side, as a share of the range
    doubt: NDArray[np.bool_]  # whether some members had a value and some had none

    def smallest_around(self, values: Floats) -> NDArray[np.int64]:
        """The smallest box around each record, measured where the record has values; NONE if there is none.

        Where the record has no value, some member of the group must have had none.
        """
        found = np.full(len(values), NONE)
        rows = max(1, _CELLS // max(1, self.low.size))
        for start in range(0, len(values) if len(self.low) else 0, rows):
            some = values[start : start + rows, None, :]
            missing = np.isnan(some)
            inside = (self.low <= some) & (some <= self.high)
            covers = np.where(missing, self.doubt | np.isnan(self.low), inside).all(axis=2)
            loss = np.where(missing, 0, np.nan_to_num(self.size, nan=1)).sum(axis=2)
            best = np.where(covers, loss, np.inf).argmin(axis=1)
            found[start : start + rows] = np.where(np.any(covers, axis=1), best, NONE)
        return found


def learned(values: Floats, low: Floats, high: Floats, k: int) -> Boxes:
    """The boxes of the groups of a batch, without those that fewer than k of its records would use.

    A record uses the smallest box around its values, which may be that of another group: so a box can lose records. A box that
    has fewer than k is dropped, and its records use other boxes, until every box that is left has k.
    """
    boxes = _grouped(values, low, high, k)
    while len(boxes.low):
        chosen = boxes.smallest_around(values)
        enough = np.bincount(chosen[chosen >= 0], minlength=len(boxes.low)) >= k
        if enough.all():
            break
        boxes = Boxes._make(part[enough] for part in boxes)
    return boxes


def _grouped(values: Floats, low: Floats, high: Floats, k: int) -> Boxes:
    names = [f"x{i}" for i in range(values.shape[1])]
    ranges = zip(low.tolist(), high.tolist(), strict=True)
    policy = Policy.parse({
        "person": "none",
        "attributes": {name: {"quasi": "numeric", "range": ends} for name, ends in zip(names, ranges, strict=True)},
        "privacy": {"k": k},
        "window": {"count": max(len(values), k)},
    })  # fmt: skip
    anonymizer = Anonymizer(policy)
    anonymizer.push_batch(pa.RecordBatch.from_arrays([pa.array(each, from_pandas=True) for each in values.T], names))
    published = anonymizer.flush()
    group = anonymizer.trace.column("cluster").to_numpy(zero_copy_only=False)
    return boxes_of(published, group, low, high)


def boxes_of(published: pa.RecordBatch, group: Floats, low: Floats, high: Floats) -> Boxes:
    """The boxes that the groups of published rows show; the group of a suppressed row is NaN."""
    known, number = np.unique(group[~np.isnan(group)], return_inverse=True)
    parts = np.full((len(BLURRED_INTERVAL), len(known), published.num_columns), np.nan)
    for q, column in enumerate(published.columns):
        for part, values in zip(parts, column.flatten(), strict=False):
            shown = values.to_numpy(zero_copy_only=False).astype(np.float64)[~np.isnan(group)]
            has = ~np.isnan(shown)
            part[number[has], q] = shown[has]
    return Boxes(parts[0], parts[1], (parts[1] - parts[0]) / (high - low), parts[2] == 1)


SHOWN = ("middle", "ends")


class KAnonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Shows each row as one of at least k rows of the batch it was fitted to.

    `fit` groups the rows, and remembers the box around each group. `transform` shows a row as the smallest of these boxes
    that holds it: at least k rows of the fitted batch are shown as that box too. A row that lies in no box shows the whole
    range of every feature. Each row counts as a person. What all rows of a group lack (NaN) is missing in its box; what some
    of them lack is in doubt, and shown for all of them.

    Parameters
    ----------
    k
        The smallest number of fitted rows per box.
    ranges
        The lowest and the highest value of each feature, as pairs. Without them, those of the fitted batch are used, and are
        shown for rows in no box.
    show
        `middle`: the middle of the box, one column per feature; `ends`: its low end, its high end, and 1 where it is in
        doubt, otherwise 0: three columns per feature.

    Attributes
    ----------
    ranges_
        The ranges, one row per feature.
    boxes_
        The boxes.

    Examples
    --------
    >>> KAnonymizer(k=2).fit_transform([[1.0], [2.0], [8.0], [9.0]]).tolist()
    [[1.5], [1.5], [8.5], [8.5]]
    """

    ranges_: NDArray[np.float64]
    boxes_: Boxes

    def __init__(self, k: int = 5, ranges: Any = None, show: str = "middle") -> None:
        self.k = k
        self.ranges = ranges
        self.show = show

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find groups of at least k rows."""
        values = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        if self.k < 1 or int(self.k) != self.k:
            raise ValueError("k: is not a whole number from 1; use one")
        if self.show not in SHOWN:
            raise ValueError(f"show: is not known; use {' or '.join(SHOWN)}")
        self.ranges_ = _ranges(values) if self.ranges is None else _given(self.ranges, values.shape[1])
        low, high = self.ranges_.T
        inside = ~((values < low) | (values > high)).any(axis=1)
        self.boxes_ = learned(values[inside], low, high, int(self.k))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Show each row as its box."""
        check_is_fitted(self)
        values = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        box = self.boxes_.smallest_around(values)
        low, high = (np.vstack([part, end])[box] for part, end in zip(self.boxes_[:2], self.ranges_.T, strict=True))
        if self.show == "ends":
            doubt = np.vstack([self.boxes_.doubt, np.zeros(values.shape[1], bool)])[box]
            return np.stack([low, high, doubt], axis=2).reshape(len(values), -1)
        return low + (high - low) / 2

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns that `transform` gives."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        if self.show == "ends":
            names = [f"{name}_{end}" for name in names for end in BLURRED_INTERVAL]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _ranges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """From the lowest to the highest, and a little more where these are the same or there is no value."""
    known = ~np.isnan(values)
    low = np.where(known, values, np.inf).min(axis=0)
    high = np.where(known, values, -np.inf).max(axis=0)
    low, high = (np.where(known.any(axis=0), end, 0.0) for end in (low, high))
    flat = np.where(low == high, np.maximum(np.abs(low), 1) / 2, 0)
    return np.column_stack([low - flat, high + flat])


def _given(ranges: Any, features: int) -> NDArray[np.float64]:
    found = np.asarray(ranges, np.float64)
    if found.shape != (features, 2) or not (np.isfinite(found).all() and (found[:, 0] < found[:, 1]).all()):
        raise ValueError(f"ranges: are not {features} pairs of a finite low end below a finite high end; give one a feature")
    return found
