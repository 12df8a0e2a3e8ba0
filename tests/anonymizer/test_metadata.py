"""Nothing comes out that came in beside the values of the rows that are published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal import Anonymizer, Policy

SECRET = "of a record that is rejected"
POLICY = Policy.parse(
    "{person: pid, attributes: {age: {quasi: numeric, range: [0, 100]}, note: {publish: keep}}, privacy: {k: 3}, "
    "window: {count: 20}, algorithm: {name: fads}}"
)
CODED = pa.DictionaryArray.from_arrays([0, 1, 0, 2], ["flu", "gout", SECRET])
ENDS = [0, 1, 2, 3, 4]
NOTES = {
    "a dictionary": CODED,
    "a dictionary in structs": pa.StructArray.from_arrays([CODED], ["a"]),
    "a dictionary in lists": pa.ListArray.from_arrays(ENDS, CODED),
    "a dictionary in large lists": pa.LargeListArray.from_arrays(ENDS, CODED),
    "a dictionary in lists of one": pa.FixedSizeListArray.from_arrays(CODED, 1),
    "a dictionary in maps": pa.MapArray.from_arrays(ENDS, ["a"] * 4, CODED),
    "a dictionary in lists of structs": pa.ListArray.from_arrays(ENDS, pa.StructArray.from_arrays([CODED], ["a"])),
}


def table(notes: pa.Array) -> pa.Table:
    """Three records, and a fourth that is out of range and alone has the secret."""
    field = pa.field("note", notes.type, metadata={"told": SECRET})
    return pa.table(
        [[1, 2, 3, 4], [30, 31, 32, 777], notes],
        schema=pa.schema([("pid", pa.int64()), ("age", pa.int64()), field], metadata={"told": SECRET}),
    )


def written(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("notes", NOTES.values(), ids=NOTES)
def test_a_batch(notes: pa.Array) -> None:
    anonymizer = Anonymizer(POLICY)
    anonymizer.push_batch(table(notes).to_batches()[0])
    assert SECRET.encode() not in anonymizer.snapshot()
    published = anonymizer.flush()
    assert published.column("note").to_pylist() == notes.to_pylist()[:3]
    assert SECRET.encode() not in written(published)


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
@pytest.mark.parametrize("name", ["a dictionary", "a dictionary in structs", "a dictionary in lists of structs"])
def test_a_file(name: str, kind: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in.arrow", tmp_path / f"out.{kind}"
    found: Any = table(NOTES[name])
    with pa.OSFile(str(source), "wb") as file, pa.ipc.new_file(file, found.schema) as writer:
        writer.write_table(found)
    shoal.run(POLICY, source, target)
    assert SECRET.encode() not in target.read_bytes()
