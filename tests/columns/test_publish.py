"""Groups to columns of Arrow: what marks the values that are there, and those in doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal.column_types import BLURRED_INTERVAL, BLURRED_LABEL, struct_of
from shoal.columns import only_used, publish
from shoal.columns.publish import Publisher, _fill_bitmaps
from shoal.policy import Policy


@pytest.mark.parametrize("quasi", [1, 7, 8, 9, 14, 16, 64])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 70])
def test_a_bitmap_has_the_bits_of_all_patterns(quasi: int, size: int) -> None:
    pattern = np.random.default_rng(1).integers(0, 2**64, size, np.uint64)
    bitmaps = np.zeros((quasi, -(-size // 8)), np.uint8)
    _fill_bitmaps(pattern, bitmaps)
    for q in range(quasi):
        bits = np.unpackbits(bitmaps[q], bitorder="little")
        assert bits[:size].tolist() == (pattern >> np.uint64(q) & np.uint64(1)).tolist()
        assert not bits[size:].any()


def policy(nulls_match: str) -> Policy:
    return Policy.parse({
        "person": "none",
        "attributes": {
            "age": {"quasi": "numeric", "range": [0, 100]},
            "city": {"quasi": "categorical", "hierarchy": {"World": {"France": ["Paris", "Lyon"], "Norway": ["Oslo"]}}},
        },
        "privacy": {"k": 2, "nulls_match": nulls_match},
        "window": {"count": 4},
        "algorithm": {"name": "fads"},
    })  # fmt: skip


BLURRED = policy("blurred")
LABELS = dict(BLURRED.quasi)["city"].hierarchy.labels  # type: ignore[union-attr]


def published(nulls_match: str = "blurred", whole: bool = True, **changed: Any) -> pa.RecordBatch:
    """Two tuples of a group whose city is in doubt, two of one without a city whose age is in doubt, and one suppressed."""
    publisher = Publisher(policy(nulls_match))
    publisher.whole[:] = whole
    low = np.array([[20.0, LABELS.index("France")], [30.0, -1.0]])
    given = {
        "pattern": np.array([3, 3, 1, 1, 0], np.uint64), "row": np.array([0, 0, 1, 1, -1]), "low": low,
        "high": low + 5, "doubt": np.array([2, 1], np.uint64), **changed,
    }  # fmt: skip
    doubt, zeros, times = given.pop("doubt"), np.zeros(2, np.int64), (np.zeros(2), np.zeros(2))
    had, withheld, nodes = np.zeros((2, 2), np.int64), np.zeros((2, 0), bool), np.zeros((2, 0), np.uint64)
    return publisher.publish(pa.table({}), *given.values(), zeros, had, doubt, times, withheld, nodes)


def test_blurred_values_say_whether_they_may_be_missing() -> None:
    batch = published()
    batch.validate(full=True)
    coded = pa.dictionary(pa.int32(), pa.string())
    assert batch.schema.field("age").type == struct_of(BLURRED_INTERVAL, [pa.int64(), pa.int64(), pa.bool_()])
    assert batch.schema.field("city").type == struct_of(BLURRED_LABEL, [coded, pa.bool_()])
    assert batch.column("age").to_pylist() == [
        *2 * [{"lo": 20, "hi": 25, "or_missing": False}],
        *2 * [{"lo": 30, "hi": 35, "or_missing": True}],
        {"lo": 0, "hi": 100, "or_missing": False},
    ]
    assert batch.column("city").to_pylist() == [
        *2 * [{"value": "France", "or_missing": True}],
        *2 * [None],
        {"value": "World", "or_missing": False},
    ]


def test_blurred_types_do_not_depend_on_the_rows() -> None:
    certain, empty = (
        published(doubt=np.zeros(2, np.uint64)),
        published(pattern=np.zeros(0, np.uint64), row=np.zeros(0, np.int64)),
    )
    assert certain.schema == empty.schema == published().schema
    assert published(whole=False).schema.field("age").type == struct_of(
        BLURRED_INTERVAL, [pa.float64(), pa.float64(), pa.bool_()]
    )


def test_what_is_missing_is_never_in_doubt() -> None:
    batch = published(doubt=np.array([3, 3], np.uint64))
    assert batch.column("city").field(1).to_pylist() == [True, True, False, False, False]


def test_other_readings_publish_no_doubt() -> None:
    batch = published("maybe")
    assert batch.schema.field("age").type == pa.struct([pa.field(end, pa.int64(), nullable=False) for end in ("lo", "hi")])
    assert batch.column("city").to_pylist() == ["France", "France", None, None, "World"]


def test_a_long_list_of_labels_is_cut_to_those_that_occur(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = published()
    monkeypatch.setattr(publish, "_MANY", 2)
    cut = published()
    cut.validate(full=True)
    assert cut.to_pylist() == whole.to_pylist()
    assert len(cut.column("city").field(0).dictionary) < len(LABELS)


@pytest.mark.parametrize(
    ("row", "labels"), [([0, 0, 1, 1, -1], ["World", "France"]), ([0, 0, 1, 1, 0], ["France"]), ([1] * 5, LABELS[:1])]
)
def test_only_labels_that_are_shown_stay(row: list[int], labels: list[str]) -> None:
    pattern = np.where(np.array(row) == 0, 3, 1).astype(np.uint64)
    column = published(row=np.array(row), pattern=pattern).column("city")
    cut = only_used(column)
    cut.validate(full=True)
    assert cut.type == column.type and cut.to_pylist() == column.to_pylist()
    assert cut.field(0).null_count == 0
    assert sorted(cut.field(0).dictionary.to_pylist()) == sorted(labels)
