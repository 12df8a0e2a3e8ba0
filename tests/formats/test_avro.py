"""The compiled loop against fastavro, over generated schemas and records; files in and out."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.formats import Decoder, Unsuited, open_reader, open_writer

SIMPLE = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=80),
    "bytes": st.binary(max_size=80),
}
NAMES = "abcdefg"


@st.composite
def typed(draw: Any, depth: int, path: str) -> tuple[Any, Any]:
    """A schema, and a strategy of its values."""
    kinds = [*SIMPLE, "enum", "fixed", *(["record", "array", "map", "union"] if depth < 3 else [])]
    kind = draw(st.sampled_from(kinds))
    if kind in SIMPLE:
        return kind, SIMPLE[kind]
    if kind == "enum":
        return {"type": "enum", "name": f"e{path}", "symbols": ["x", "y", "z"]}, st.sampled_from(["x", "y", "z"])
    if kind == "fixed":
        return {"type": "fixed", "name": f"f{path}", "size": 3}, st.binary(min_size=3, max_size=3)
    if kind == "record":
        return draw(record(depth + 1, path))
    if kind == "union":
        inner, values = draw(typed(3, f"{path}u"))
        return (inner, values) if inner == "null" else (["null", inner], st.none() | values)
    inner, values = draw(typed(depth + 1, f"{path}i"))
    if kind == "array":
        return {"type": "array", "items": inner}, st.lists(values, max_size=3 if inner != "null" else 0)
    return {"type": "map", "values": inner}, st.dictionaries(st.text(max_size=3), values, max_size=3)


@st.composite
def record(draw: Any, depth: int = 0, path: str = "") -> tuple[Any, Any]:
    fields, values = [], {}
    for name in NAMES[: draw(st.integers(1, 4))]:
        kind, strategy = draw(typed(depth, path + name))
        fields.append({"name": name, "type": kind})
        values[name] = strategy
    return {"type": "record", "name": f"r{path}", "fields": fields}, st.fixed_dictionaries(values)


def binary(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def leaves(schema: Any, value: Any, path: str = "") -> dict[str, Any]:
    """The simple values of a record, by their paths."""
    found: dict[str, Any] = {}
    for field in schema["fields"]:
        kind, name = field["type"], f"{path}{field['name']}"
        kind = kind[1] if isinstance(kind, list) else kind
        inner = None if value is None else value[field["name"]]
        if isinstance(kind, dict) and kind["type"] == "record":
            found |= leaves(kind, inner, f"{name}.")
        elif not (isinstance(kind, dict) and kind["type"] in ("array", "map")):
            found[name] = inner
    return found


@given(st.data())
def test_the_loop_reads_what_fastavro_reads(data: st.DataObject) -> None:
    schema, values = data.draw(record())
    rows = data.draw(st.lists(values, min_size=1, max_size=5))
    records = [binary(schema, row) for row in rows]
    expected = [
        leaves(schema, fastavro.schemaless_reader(io.BytesIO(each), fastavro.parse_schema(schema), None)) for each in records
    ]
    fields = [*expected[0], "none"]
    columns, good = Decoder(schema, fields).columns(records)
    assert good.all()
    for name, column in zip(fields, columns, strict=True):
        assert column.to_pylist() == [row.get(name) for row in expected]
    columns, good = Decoder(schema, fields).block(memoryview(b"".join(records)), len(records))
    assert good.all()
    assert [column.to_pylist() for column in columns] == [[row.get(name) for row in expected] for name in fields]


@given(st.data())
def test_damaged_bytes_do_no_harm(data: st.DataObject) -> None:
    """A record that is cut short is refused; any other damage is refused or read, and the records around it are whole."""
    schema, values = data.draw(record())
    whole = binary(schema, data.draw(values))
    damaged = data.draw(st.binary(max_size=40)) if not whole else whole[: data.draw(st.integers(0, len(whole) - 1))]
    fields = [field["name"] for field in schema["fields"]]
    try:
        decoder = Decoder(schema, fields)
    except Unsuited:
        return
    first, _ = decoder.columns([whole])
    columns, good = decoder.columns([whole, damaged, data.draw(st.binary(max_size=60)), whole])
    assert good[0] and good[3] and (not whole or not good[1])
    for column, alone in zip(columns, first, strict=True):
        assert column.to_pylist()[0] == column.to_pylist()[3] == alone.to_pylist()[0]


def test_what_the_loop_does_not_read() -> None:
    inside = {"type": "record", "name": "r", "fields": [{"name": "again", "type": ["null", "r"]}, {"name": "a", "type": "int"}]}
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 4}
    listed = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}]}
    for schema, fields in (
        (inside, ["a"]),
        ({"type": "record", "name": "r", "fields": [{"name": "d", "type": decimal}]}, ["d"]),
        (listed, ["a"]),
        (listed, ["a.0"]),
    ):
        with pytest.raises(Unsuited):
            Decoder(schema, fields)
    assert Decoder(listed, ["b"]).columns([binary(listed, {"a": [1, 2]})])[1].all()


def test_a_list_that_claims_to_be_without_end_is_refused() -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, "long", 2**40)
    assert not Decoder(schema, ["b"]).columns([out.getvalue() + b"\0"])[1].any()


def test_a_union_of_types_is_text() -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "long", "double", "string"]}]}
    columns, _ = Decoder(schema, ["a"]).columns([binary(schema, {"a": value}) for value in (1, 2.5, "x", None, 3.0)])
    assert columns[0].to_pylist() == ["1", "2.5", "x", None, "3"]


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_a_file_is_read_block_by_block(tmp_path: Path, codec: str) -> None:
    inner = {"type": "record", "name": "i", "fields": [{"name": "x", "type": "string"}]}
    schema = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "int"}, {"name": "in", "type": inner}]}
    rows = [{"n": i, "in": {"x": "é" * (i % 9)}} for i in range(5_000)]
    with (tmp_path / "a.avro").open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), rows, codec=codec, sync_interval=500)
    with open_reader(str(tmp_path / "a.avro"), ["in.x", "n", "none"], rows=700) as reader:
        blocks = list(reader)
    assert [len(block.rows) for block in blocks][:2] == [700, 700] or max(len(block.rows) for block in blocks) <= 700
    found = [row for block in blocks for row in block.batch.to_pylist()]
    assert found == [{"in.x": row["in"]["x"], "n": row["n"], "none": None} for row in rows]
    assert np.concatenate([block.rows for block in blocks]).tolist() == list(range(5_000))
    damaged = (tmp_path / "a.avro").read_bytes()[:-30]
    (tmp_path / "b.avro").write_bytes(damaged)
    with pytest.raises(InputError), open_reader(str(tmp_path / "b.avro"), ["n"]) as reader:
        list(reader)


def test_a_file_is_written(tmp_path: Path) -> None:
    interval = pa.array(
        [{"lo": 1, "hi": 5}, None], pa.struct([pa.field("lo", pa.int64(), False), pa.field("hi", pa.int64(), False)])
    )
    batch = pa.record_batch({
        "age": interval, "city.name": pa.array(["Oslo", None]).dictionary_encode(), "x": [1.5, math.pi], "ok": [True, None],
        "t": pa.array([0, 10**6], pa.timestamp("us", "UTC")), "b": [b"a", None], "l": [[1, 2], None], "n": [1, 2**40],
    })  # fmt: skip
    with open_writer(str(tmp_path / "a.avro")) as writer:
        writer.write(batch)
        writer.write(batch.slice(0, 0))
    with (tmp_path / "a.avro").open("rb") as file:
        reader = fastavro.reader(file)
        rows = list(reader)
    assert [(row["age"], row["city_name"], row["x"], row["ok"], row["b"], row["l"], row["n"]) for row in rows] == [
        ({"lo": 1, "hi": 5}, "Oslo", 1.5, True, b"a", [1, 2], 1), (None, None, math.pi, None, None, None, 2**40),
    ]  # fmt: skip
    assert rows[1]["t"].timestamp() == 1
    with open_reader(str(tmp_path / "a.avro"), ["age.lo", "city_name", "x"]) as back:
        assert next(iter(back)).batch.to_pylist() == [
            {"age.lo": 1, "city_name": "Oslo", "x": 1.5}, {"age.lo": None, "city_name": None, "x": math.pi},
        ]  # fmt: skip
