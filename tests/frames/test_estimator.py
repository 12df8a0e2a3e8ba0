from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shoal.column_types import BLURRED_INTERVAL, struct_of
from shoal.frames.estimator import Boxes, KAnonymizer, boxes_of


@parametrize_with_checks([KAnonymizer(), KAnonymizer(k=2, show="ends")])
def test_it_is_a_transformer(estimator: Any, check: Any) -> None:
    check(estimator)


def table(rows: int = 300, missing: bool = False) -> Any:
    random = np.random.default_rng(1)
    values = random.integers(0, 30, (rows, 3)).astype(float)
    if missing:
        values[random.random(values.shape) < 0.2] = np.nan
    return values


@pytest.mark.parametrize("missing", [False, True])
def test_every_box_is_shown_k_times_around_what_it_hides(missing: bool) -> None:
    values = table(missing=missing)
    model = KAnonymizer(k=7, show="ends").fit(values)
    shown = model.transform(values).reshape(len(values), 3, 3)
    worn = model.boxes_.smallest_around(values)
    assert len(model.boxes_.low) > 5
    assert np.bincount(worn[worn >= 0]).min() >= 7
    has = ~np.isnan(values)
    assert (shown[has][:, 0] <= values[has]).all() and (values[has] <= shown[has][:, 1]).all()
    lacking = shown[~has & (worn >= 0)[:, None]]
    assert (np.isnan(lacking[:, 0]) | (lacking[:, 2] == 1)).all()
    assert {len(np.unique(np.nan_to_num(shown[worn == box], nan=-1), axis=0)) for box in set(worn)} == {1}


def test_a_box_in_doubt_holds_rows_with_and_without_a_value() -> None:
    kind = struct_of(BLURRED_INTERVAL, [pa.float64(), pa.float64(), pa.bool_()])
    rows = [
        {"x": {"lo": 2, "hi": 4, "or_missing": True}, "y": None},
        {"x": {"lo": 0, "hi": 10, "or_missing": False}, "y": {"lo": 0, "hi": 10, "or_missing": False}},
        {"x": {"lo": 2, "hi": 9, "or_missing": False}, "y": {"lo": 5, "hi": 5, "or_missing": True}},
    ]
    published = pa.RecordBatch.from_pylist(rows, pa.schema([("x", kind), ("y", kind)]))
    model = KAnonymizer(k=1, ranges=[[0, 10], [0, 10]], show="ends").fit([[0.0, 0.0]])
    model.boxes_ = boxes_of(published, np.array([7, np.nan, 9]), *model.ranges_.T)
    nan = np.nan
    shown = model.transform([[nan, nan], [3, nan], [8, nan], [8, 5], [nan, 5]])
    narrow, wide, whole = [2, 4, 1, nan, nan, 0], [2, 9, 0, 5, 5, 1], [0, 10, 0, 0, 10, 0]
    assert np.array_equal(shown, [narrow, narrow, wide, wide, whole], equal_nan=True)
    assert np.array_equal(model.set_params(show="middle").transform([[nan, nan]]), [[3, nan]], equal_nan=True)


def test_what_lies_in_no_box_shows_the_whole_range() -> None:
    model = KAnonymizer(k=2, ranges=[[0, 10]]).fit([[1.0], [2.0]])
    assert model.transform([[9.0], [50.0], [1.5]]).tolist() == [[5.0], [5.0], [1.5]]


def test_too_few_rows_for_a_box() -> None:
    assert KAnonymizer(k=5, ranges=[[0, 10]]).fit_transform([[1.0], [2.0]]).tolist() == [[5.0], [5.0]]


def test_names_of_columns() -> None:
    model = KAnonymizer(k=1, show="ends").fit(table(20))
    assert model.get_feature_names_out().tolist() == [f"x{x}_{part}" for x in range(3) for part in ("lo", "hi", "or_missing")]


RANGES = "ranges: are not 3 pairs of a finite low end below a finite high end; give one a feature"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"k": 0}, "k: is not a whole number from 1; use one"),
        ({"show": "all"}, "show: is not known; use middle or ends"),
        ({"ranges": [[0, 1]]}, RANGES),
        ({"ranges": [[0, 1], [0, 1], [2, 1]]}, RANGES),
        ({"ranges": [[0, 1], [0, 1], [0, np.inf]]}, RANGES),
    ],
)
def test_what_is_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError) as caught:
        KAnonymizer(**settings).fit(table(20))
    assert str(caught.value) == told


def test_records_are_compared_with_many_boxes_in_little_memory() -> None:
    ends = np.linspace(0, 1, 20_001)
    low, high = (np.column_stack([end] * 4) for end in (ends[:-1], ends[1:]))
    boxes = Boxes(low, high, high - low, np.zeros(low.shape, bool))
    values = np.column_stack([(low[:1000, 0] + high[:1000, 0]) / 2] * 4)
    tracemalloc.start()
    try:
        assert boxes.smallest_around(values).tolist() == list(range(1000))
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
