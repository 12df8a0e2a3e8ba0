"""A slice of a batch is encoded as a copy of it would be, wherever it starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal.columns.encode import Encoded, Encoder
from tests.columns.encoding import KEY, policy

SIZE = 11
FORMS: dict[str, list[Any]] = {
    "pid": [
        pa.array(["a", None, "b", "\u00e9", "", "a ", "c", "d", None, "e\u0301", "b"]),
        pa.array([5, None, 6, 7, 8, 5, 9, 1, None, 2, 6]),
        pa.array([True, None, False] * 4)[:SIZE],
        pa.array([1.0, None, 2.5, float("nan")] * 3)[:SIZE],
        pa.array([b"x", b"\xff", None, b"y"] * 3)[:SIZE],
    ],
    "ts": [
        pa.array([0, 5, None, 7, 8, 9, 1, 2, 3, 4, 5]),
        pa.array(["2020-01-01", "2020-01-02T00:00:00", None] * 4)[:SIZE],
        pa.array(["2020-01-01", "7", "x", "2020-01-02T00:00:00+01:00"] * 3)[:SIZE],
        pa.array([0, None, 7] * 4, pa.timestamp("ns"))[:SIZE],
    ],
    "age": [
        pa.array([1, None, 200, 4, 5, 6, 7, 8, 9, 10, 11]),
        pa.array([1.5, None, float("nan"), float("inf")] * 3)[:SIZE],
        pa.array(["1", None, "x", " 7 ", "-1"] * 3)[:SIZE],
        pa.array([True, None] * 6)[:SIZE],
    ],
    "city": [
        pa.array(["a", None, "zz", " b", "1", "true"] * 2)[:SIZE],
        pa.array([1, None, 2] * 4)[:SIZE],
        pa.nulls(SIZE),
    ],
    "note": [
        pa.array(["n", None, "m"] * 4)[:SIZE],
        pa.array([[1], None, []] * 4)[:SIZE],
        pa.array([b"", b"x", None] * 4)[:SIZE],
    ],
}


def batches() -> list[pa.RecordBatch]:
    """Every form of every column once, plain and as a dictionary."""
    found = []
    for i in range(max(map(len, FORMS.values()))):
        columns = {name: forms[i % len(forms)] for name, forms in FORMS.items()}
        found.append(pa.RecordBatch.from_pydict(columns))
        plain = {name: column for name, column in columns.items() if name != "ts" and not pa.types.is_nested(column.type)}
        dictionaries = {name: column.dictionary_encode() for name, column in plain.items()}
        found.append(pa.RecordBatch.from_pydict({**columns, **dictionaries}))
    return found


def parts(found: Encoded) -> list[Any]:
    values = np.where(np.isnan(found.values), -7.0, found.values).tolist()
    return [values, found.pattern.tolist(), found.person.tolist(), found.time.tolist(),
            found.kept.to_pylist(), found.rows.tolist(), found.whole.tolist(), found.rejected]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("publish", ["drop", "keep", "generalize"])
@pytest.mark.parametrize("batch", batches(), ids=lambda batch: " ".join(map(str, batch.schema.types)))
def test_slices(batch: pa.RecordBatch, publish: str) -> None:
    encoder = Encoder(policy(time={"field": "ts", "publish": publish}, window={"time": 60}), KEY)
    for start in range(SIZE):
        for length in range(SIZE - start + 1):
            rows = np.arange(start, start + length)
            piece = batch.slice(start, length)
            copies = [column.take(np.arange(length)) for column in piece.columns]
            copy = pa.RecordBatch.from_arrays(copies, schema=piece.schema)
            assert parts(encoder.encode(piece, rows)) == parts(encoder.encode(copy, rows))


def test_a_batch_encodes_as_its_records_do() -> None:
    for batch in batches():
        encoder = Encoder(policy(time={"field": "ts"}, window={"time": 60}), KEY)
        whole = encoder.encode(batch, np.arange(SIZE))
        single = [encoder.encode(batch.slice(i, 1), np.array([i])) for i in range(SIZE)]
        assert whole.rejected == [rejection for found in single for rejection in found.rejected]
        assert whole.pattern.tolist() == [p for found in single for p in found.pattern.tolist()]
        assert whole.person.tolist() == [p for found in single for p in found.person.tolist()]
        assert np.array_equal(whole.values, np.hstack([found.values for found in single]), equal_nan=True)
