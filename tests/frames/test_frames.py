"""Frames of every kind show the same, each in its own way."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from cli.base import ENVIRONMENT
from shoal.errors import InputError, RecordError
from shoal.frames import expanded
from shoal.frames.kind import kind
from tests.formats.base import blurred_intervals, blurred_labels

POLICY: dict[str, Any] = {
    "person": "pid",
    "attributes": {
        "age": {"quasi": "numeric", "range": [0, 100], "grid": 5},
        "weight": {"quasi": "numeric", "range": [0, 10]},
        "city": {"quasi": "categorical", "hierarchy": {"World": {"France": ["Paris", "Lyon"], "Norway": ["Oslo"]}}},
        "note": {"publish": "keep"},
    },
    "privacy": {"k": 3},
    "window": {"count": 20},
    "algorithm": {"name": "fads"},
}
ROWS = 60
COLUMNS: dict[str, Any] = {
    "pid": [i % 30 for i in range(ROWS)],
    "age": list(range(ROWS)),
    "weight": [None if i % 4 == 0 else i % 10 + 0.5 for i in range(ROWS)],
    "city": [("Paris", "Lyon", "Oslo", None)[i % 4] for i in range(ROWS)],
    "note": list(range(ROWS)),
    "unlisted": ["x"] * ROWS,
}
TABLE = pa.table(COLUMNS)


@pytest.fixture(scope="module")
def expected() -> pa.Table:
    return shoal.anonymize(TABLE, POLICY)


def test_a_table(expected: pa.Table) -> None:
    assert expected.schema.names == ["age", "weight", "city", "note"]
    assert sorted(expected.column("note").to_pylist()) == COLUMNS["note"]
    anonymizer = shoal.Anonymizer(shoal.Policy.parse(POLICY))
    parts = [anonymizer.push_batch(batch) for batch in TABLE.to_batches()] + [anonymizer.flush()]
    assert expected.to_pylist() == [record for part in parts for record in part.to_pylist()]


def test_batches_and_readers(expected: pa.Table) -> None:
    batch = shoal.anonymize(TABLE.to_batches()[0], POLICY)
    assert isinstance(batch, pa.RecordBatch) and batch.to_pylist() == expected.to_pylist()
    reader = shoal.anonymize(TABLE.to_reader(max_chunksize=7), POLICY)
    assert isinstance(reader, pa.RecordBatchReader) and reader.read_all().to_pylist() == expected.to_pylist()


def test_a_reader_is_read_while_the_result_is() -> None:
    def endless() -> Any:
        while True:
            yield TABLE.to_batches()[0]

    reader = shoal.anonymize(pa.RecordBatchReader.from_batches(TABLE.schema, endless()), POLICY)
    assert 0 < reader.read_next_batch().num_rows < ROWS


class Stream:
    """What gives an Arrow stream and is nothing else."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


def test_any_stream(expected: pa.Table) -> None:
    assert shoal.anonymize(Stream(), POLICY) == expected


def test_pandas(expected: pa.Table) -> None:
    frame = pd.DataFrame(COLUMNS).astype({"note": "int16"})
    frame["unlisted"] = [object()] * ROWS
    frame.index = [f"secret{i}" for i in range(ROWS)]
    found = shoal.anonymize(frame, POLICY)
    assert {name: str(kind) for name, kind in found.dtypes.items()} == {
        "age": "interval[int64, both]", "age_or_missing": "bool", "weight": "interval[float64, both]",
        "weight_or_missing": "bool", "city": "category", "city_or_missing": "bool", "note": "int16",
    }  # fmt: skip
    assert list(found.index) == list(range(ROWS))
    assert list(found["note"]) == expected.column("note").to_pylist()
    ends = [
        None if value is None else pd.Interval(value["lo"], value["hi"], "both") for value in expected["weight"].to_pylist()
    ]
    assert [None if pd.isna(value) else value for value in found["weight"]] == ends
    assert set(found["city"].cat.categories) == {city["value"] for city in expected["city"].to_pylist() if city}
    groups = found.groupby("age").size()
    assert groups.index.is_monotonic_increasing and groups.sum() == ROWS and groups.min() >= 3


MAYBE = {**POLICY["privacy"], "nulls_match": "maybe"}


def test_pandas_with_imputed_values() -> None:
    found = shoal.anonymize(pd.DataFrame(COLUMNS), {**POLICY, "privacy": MAYBE, "algorithm": {"name": "iot"}})
    assert [name for name in found.columns if name.startswith("age")] == ["age", "age.of", "age.had"]
    assert isinstance(found["age"].dtype, pd.IntervalDtype)


def test_pandas_with_generalized_times() -> None:
    frame = pd.DataFrame(COLUMNS)
    frame["ts"] = pd.date_range("2024-01-01", periods=ROWS, freq="s", tz="Europe/Paris")
    policy = {**POLICY, "time": {"field": "ts", "publish": "generalize"}, "window": {"time": "20s"}}
    found = shoal.anonymize(frame, policy)
    shown = found["ts"].dropna()
    assert {each.closed for each in shown} == {"both"}
    assert all(each.left.second % 2 == each.right.second % 2 == 0 for each in shown)
    assert {each.length for each in shown} <= {pd.Timedelta(seconds=2 * n) for n in range(12)}


@pytest.mark.parametrize("lazy", [False, True])
def test_polars(expected: pa.Table, lazy: bool) -> None:
    frame = pl.DataFrame(COLUMNS)
    found = shoal.anonymize(frame.lazy() if lazy else frame, POLICY)
    assert isinstance(found, pl.LazyFrame if lazy else pl.DataFrame)
    found = found.lazy().collect()
    assert found.to_dicts() == expected.to_pylist()
    assert found.group_by("age").len()["len"].min() >= 3


def test_numpy(expected: pa.Table) -> None:
    kinds = [("pid", "i8"), ("age", "i4"), ("weight", "f8"), ("city", "U8"), ("note", "i2"), ("unlisted", "O")]
    blank = {**COLUMNS, "city": [city or "" for city in COLUMNS["city"]]}
    rows = zip(*blank.values(), strict=True)
    array = np.array(list(rows), kinds)
    found = shoal.anonymize(array, POLICY)
    assert found.dtype.names == ("age", "weight", "city", "note")
    assert found["age"].dtype == [("lo", "i8"), ("hi", "i8"), ("or_missing", "?")]
    assert list(found["note"]) == expected["note"].to_pylist()
    missing = [value is None for value in expected["weight"].to_pylist()]
    assert list(np.isnan(found["weight"]["lo"])) == missing
    cities = [(city["value"], city["or_missing"]) if city else (None, False) for city in expected["city"].to_pylist()]
    assert found["city"].tolist() == cities


def test_rejected_rows_are_left_out_and_told_of() -> None:
    told = (
        "^2 of 60 records were rejected: 2 for 'age': outside \\[0, 100\\] \\(value withheld\\); "
        "widen the range or set out_of_range: clip$"
    )
    table = TABLE.set_column(1, "age", pa.array([777, 888, *range(2, ROWS)]))
    with pytest.warns(UserWarning, match=told):
        assert len(shoal.anonymize(table, POLICY)) == ROWS - 2
    with pytest.raises(RecordError, match=r"^row 1, 'age': outside"):
        shoal.anonymize(table, POLICY, strict=True)


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (
            [{"pid": 1}],
            "list is no kind of frame that is known; give one of pandas, polars, Arrow or a structured array of NumPy",
        ),
        (
            pd.DataFrame({"pid": [1, "secret", b"x"], "age": [1, 2, 3]}),
            "'pid': its values are of several types (values withheld); give it one",
        ),
        (pa.table([[1], [2]], ["age", "age"]), "'age': 2 columns have this name; keep one"),
    ],
)
def test_what_cannot_be_taken(frame: Any, told: str) -> None:
    with pytest.raises(InputError) as caught:
        shoal.anonymize(frame, POLICY)
    assert str(caught.value) == told


def test_nothing_is_imported_that_is_not_used() -> None:
    look = "import sys, shoal; print([name for name in ('pandas', 'polars', 'sklearn') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.stdout == "[]\n", done.stderr


SECRET = "of a record that is rejected"


def rejecting(**columns: Any) -> pa.Table:
    """Three records, and a fourth that is out of range and alone has the secret."""
    return pa.table({"pid": [1, 2, 3, 4], "age": [30, 31, 32, 777], **columns})


def noted(**more: Any) -> dict[str, Any]:
    attributes = {"age": {"quasi": "numeric", "range": [0, 100]}, "note": {"publish": "keep"}}
    return {**POLICY, "attributes": attributes, **more}


CODED = pa.DictionaryArray.from_arrays([0, 1, 0, 2], ["flu", "gout", SECRET])


@pytest.mark.filterwarnings("ignore:1 of 4 records were rejected")
@pytest.mark.parametrize(
    "notes",
    [
        pytest.param(CODED, id="a dictionary"),
        pytest.param(pa.StructArray.from_arrays([CODED], ["a"]), id="a dictionary in structs"),
    ],
)
def test_no_value_stays_behind_that_no_row_shows(notes: pa.Array) -> None:
    field = pa.field("note", notes.type, metadata={"told": SECRET})
    table = rejecting(note=notes).cast(pa.schema([("pid", pa.int64()), ("age", pa.int64()), field]))
    for frame in (table, table.to_reader()):
        found = shoal.anonymize(frame, noted())
        found = found.read_all() if isinstance(found, pa.RecordBatchReader) else found
        assert found.column("note").to_pylist() == notes.to_pylist()[:3]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, found.schema) as writer:
            writer.write_table(found)
        assert SECRET.encode() not in sink.getvalue().to_pybytes()


@pytest.mark.filterwarnings("ignore:1 of 4 records were rejected")
def test_an_enumeration_of_polars_loses_what_no_row_shows() -> None:
    notes = pl.Series(["flu", "gout", "flu", SECRET], dtype=pl.Enum(["flu", "gout", SECRET]))
    frame = pl.from_arrow(rejecting()).with_columns(note=notes, both=pl.struct(a=notes))
    more = {**noted()["attributes"], "both": {"publish": "keep"}}
    found = shoal.anonymize(frame, noted(attributes=more))
    assert found["note"].to_list() == ["flu", "gout", "flu"]
    assert SECRET not in str(found.schema)


BLURRED = pa.table(
    {
        "age": blurred_intervals(int, (20, 30, True), (20, 30, False), None),
        "city": blurred_labels(("Oslo", False), None, ("France", True)),
        "note": [1, 2, 3],
    }
)
EXPANDED = {
    "age_lo": [20, 20, None],
    "age_hi": [30, 30, None],
    "age_or_missing": [True, False, False],
    "city": ["Oslo", None, "France"],
    "city_or_missing": [False, False, True],
    "note": [1, 2, 3],
}


def shown(frame: Any) -> Any:
    """A table as `anonymize` returns it for a frame of this kind."""
    return kind(frame).from_arrow(BLURRED, frame)


def test_pandas_with_values_in_doubt() -> None:
    found = shown(pd.DataFrame({"note": [0]}))
    assert list(found.columns) == ["age", "age_or_missing", "city", "city_or_missing", "note"]
    assert list(found["age"].array.left[:2]) == [20, 20] and list(found["age"].isna()) == [False, False, True]
    assert found["age_or_missing"].dtype == found["city_or_missing"].dtype == bool
    assert list(found["age_or_missing"]) == [True, False, False]
    assert isinstance(found["city"].dtype, pd.CategoricalDtype) and list(found["city"].isna()) == [False, True, False]


def test_polars_with_values_in_doubt() -> None:
    found = shown(pl.DataFrame())
    assert found.to_dicts() == BLURRED.to_pylist()
    assert found.schema["city"] == pl.Struct({"value": pl.Categorical(), "or_missing": pl.Boolean()})


def test_numpy_with_values_in_doubt() -> None:
    found = shown(np.zeros(1, [("note", "i8")]))
    assert found["age"]["or_missing"].tolist() == [True, False, False]
    assert found["age"]["lo"].tolist()[:2] == [20, 20] and np.isnan(found["age"]["lo"][2])
    assert found["city"].tolist() == [("Oslo", False), (None, False), ("France", True)]


@pytest.mark.parametrize(
    "frame",
    [BLURRED, BLURRED.to_batches()[0], shown(pl.DataFrame()), shown(pl.LazyFrame())],
    ids=lambda one: type(one).__name__,
)
def test_expanded(frame: Any) -> None:
    found = expanded(frame)
    assert type(found) is type(frame)
    found = found.collect() if isinstance(found, pl.LazyFrame) else found
    assert (found.to_dict(as_series=False) if isinstance(found, pl.DataFrame) else found.to_pydict()) == EXPANDED


def test_expanded_pandas() -> None:
    found = expanded(shown(pd.DataFrame()))
    assert list(found.columns) == list(EXPANDED)
    assert {name: [None if pd.isna(value) else value for value in found[name]] for name in found} == EXPANDED


def test_expanded_without_doubt() -> None:
    maybe = shoal.anonymize(TABLE, {**POLICY, "privacy": MAYBE})
    assert expanded(maybe).schema.names == ["age_lo", "age_hi", "weight_lo", "weight_hi", "city", "note"]
    iot = shoal.anonymize(TABLE, {**POLICY, "privacy": MAYBE, "algorithm": {"name": "iot"}})
    assert expanded(iot).schema.names[:6] == ["age_lo", "age_hi", "age_of", "age_had", "weight_lo", "weight_hi"]
