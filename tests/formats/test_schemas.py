"""Schemas of what a policy publishes, and tuples in their encodings, read back by the formats' own libraries."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import jsonschema
import pyarrow as pa
import pytest
from google.protobuf import message_factory

from shoal import Anonymizer, Policy
from shoal.column_types import as_nested
from shoal.columns import shape
from shoal.connectors.protobuf_messages import compiled
from shoal.connectors.schema_registry import Found
from shoal.formats import RecordEncoder, lines, parser, record_encoder

POLICY = """
person: pid
time: {field: t, publish: generalize, grid: 10s}
attributes:
  body.age: {quasi: numeric, range: [0, 100], grid: 5}
  city-of-birth: {quasi: categorical, hierarchy: {World: {North: [Oslo, Bergen], South: [Rome, Naples]}}}
  body.note: {publish: keep}
nesting: NESTING
privacy: {k: 3, nulls_match: MATCH}
window: {count: 10}
algorithm: {name: ALGORITHM}
"""
CITIES = ("Oslo", "Bergen", "Rome", "Naples")
NOTES = ("a", 1, 2.5, True, None, [1, "x"], 2**70, {"b": None})
CASES = [
    (match, algorithm, nesting)
    for match, algorithm in (("blurred", "fads"), ("maybe", "kvarp"), ("maybe", "fads"))
    for nesting in ("flat", "keep")
]


def published(match: str, algorithm: str, nesting: str) -> tuple[Policy, list[pa.RecordBatch]]:
    text = POLICY.replace("MATCH", match).replace("ALGORITHM", algorithm).replace("NESTING", nesting)
    policy = Policy.parse(text)
    anonymizer = Anonymizer(policy)
    rows = [
        {"pid": i % 13, "t": 1e9 + i, "city-of-birth": None if i % 11 == 0 else CITIES[i % 4],
         "body": {"age": None if i % 7 == 0 else i * 7 % 90, "note": NOTES[i % len(NOTES)]}}
        for i in range(60)
    ]  # fmt: skip
    pieces = [json.dumps(row).encode() for row in rows]
    blocks = parser("json", policy.fields, policy.kept).blocks(pieces)
    batches = [anonymizer.push_batch(block.batch) for block in blocks]
    return policy, [batch for batch in (*batches, anonymizer.flush()) if len(batch)]


def expected(policy: Policy, batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The tuples as JSON lines show them."""
    shown = as_nested(batch) if policy.nesting == "keep" else batch
    return [json.loads(line) for line in lines(shown).splitlines()]


def as_json(value: Any) -> Any:
    """An interval or a node of a schema as JSON lines show it."""
    if not isinstance(value, dict):
        return value
    if value.get("of") is not None:
        return {"value": as_json({**value, "of": None}), "of": value["of"], "had": value["had"]}
    simple = [value["lo"], value["hi"]] if "lo" in value else [value["value"]]
    return [*simple, None] if value["or_missing"] else simple if "lo" in value else simple[0]


def compared(found: dict[str, Any], row: dict[str, Any], nested: bool) -> None:
    if nested:
        body = {name: as_json(value) for name, value in found.pop("body").items()}
        assert body == row.pop("body") | {"note": body["note"]}
    plain = {name: as_json(value) for name, value in found.items()}
    assert plain["city_of_birth"] == row["city-of-birth"]
    assert plain["t"] == row["t"]
    if not nested:
        assert plain["body_age"] == row["body.age"]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_avro(case: tuple[str, str, str]) -> None:
    policy, batches = published(*case)
    encoder = record_encoder("avro", shape(policy))
    schema = fastavro.parse_schema(json.loads(encoder.schema))
    seen = 0
    for batch in batches:
        rows = expected(policy, batch)
        records = encoder.records(batch)
        assert len(records) == len(rows)
        for record, row in zip(records, rows, strict=True):
            stream = io.BytesIO(record)
            compared(fastavro.schemaless_reader(stream, schema, None), row, case[2] == "keep")
            assert stream.read() == b""
            seen += 1
    assert seen == 60


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_protobuf(case: tuple[str, str, str]) -> None:
    policy, batches = published(*case)
    encoder = record_encoder("protobuf", shape(policy))
    file, pool = compiled(Found("PROTOBUF", encoder.schema, {}))
    made = message_factory.GetMessageClass(file.message_types_by_name["Tuple"])
    assert pool is not None
    for batch in batches:
        for record, row in zip(encoder.records(batch), expected(policy, batch), strict=True):
            compared(_plain(made.FromString(record)), row, case[2] == "keep")


def _plain(message: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name) if message.HasField(field.name) else None
        name = field.message_type.name
        if value is None or name == "Value":
            found[field.name] = None if value is None else getattr(value, value.WhichOneof("kind"))
        elif name in ("Interval", "Node", "Period"):
            inner = {each.name: getattr(value, each.name) for each in value.DESCRIPTOR.fields}
            if name == "Period":
                inner |= {end: getattr(inner[end], inner[end].WhichOneof("kind")) for end in ("lo", "hi")}
            if name != "Period" and not value.HasField("of"):
                inner |= {"of": None, "had": None}
            found[field.name] = inner
        else:
            found[field.name] = _plain(value)
    return found


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_json_schema(case: tuple[str, str, str]) -> None:
    policy, batches = published(*case)
    encoder = record_encoder("json-schema", shape(policy))
    validator = jsonschema.Draft7Validator(json.loads(encoder.schema))
    for batch in batches:
        shown = as_nested(batch) if case[2] == "keep" else batch
        for record, row in zip(encoder.records(shown), expected(policy, batch), strict=True):
            assert json.loads(record) == row
            assert not list(validator.iter_errors(row))
            assert list(validator.iter_errors({**row, "city-of-birth": 7}))


def version(more: str) -> RecordEncoder:
    policy = Policy.parse(f"""
person: pid
attributes: {{age: {{quasi: numeric, range: [0, 100], grid: 5}}, {more}}}
privacy: {{k: 2}}
window: {{count: 4}}
algorithm: {{name: fads}}
""")
    return record_encoder("protobuf", shape(policy))


def test_numbers_of_protobuf_stay() -> None:
    first, second = version("a: {publish: keep}").schema, version("b: {publish: keep}, a: {publish: keep}").schema
    line = next(line for line in first.splitlines() if " a = " in line)
    assert line in second.splitlines()
    assert next(line for line in first.splitlines() if " age = " in line) in second.splitlines()


def test_a_reader_of_another_version_of_avro_reads_it() -> None:
    """Doubt, counts and attributes come and go."""
    blurred, batches = published("blurred", "fads", "flat")
    imputed, _ = published("maybe", "kvarp", "flat")
    writes = record_encoder("avro", shape(blurred))
    written = fastavro.parse_schema(json.loads(writes.schema))
    other = json.loads(record_encoder("avro", shape(imputed)).schema)
    other["fields"] = [field for field in other["fields"] if field["name"] != "t"]
    reads = fastavro.parse_schema(other)
    for batch in batches:
        for record in writes.records(batch):
            found = fastavro.schemaless_reader(io.BytesIO(record), written, reads)
            assert set(found) == {"body_age", "city_of_birth", "body_note"}


def test_sets_and_blocks() -> None:
    """A set is a node with several labels; a block is JSON text, as other lists are."""
    policy = Policy.parse("""
person: pid
attributes:
  city: {quasi: categorical, generalize: set, hierarchy: {World: {North: [Oslo, Bergen], South: [Rome, Naples]}}}
  ill: {sensitive: true, stable: true, as: block, blocks: [[flu, cold], [asthma, none]]}
privacy: {k: 3}
window: {count: 10}
algorithm: {name: fads}
""")
    rows = [{"pid": i, "city": None if i % 9 == 0 else CITIES[i % 3], "ill": ("flu", "asthma")[i % 2]} for i in range(60)]
    anonymizer = Anonymizer(policy)
    batches = [anonymizer.push_batch(pa.RecordBatch.from_pylist(rows)), anonymizer.flush()]
    avro, checked = (record_encoder(form, shape(policy)) for form in ("avro", "json-schema"))
    schema = fastavro.parse_schema(json.loads(avro.schema))
    validator = jsonschema.Draft7Validator(json.loads(checked.schema))
    sets = 0
    for batch in batches:
        for record, row in zip(avro.records(batch), expected(policy, batch), strict=True):
            found = fastavro.schemaless_reader(io.BytesIO(record), schema, None)
            labels = row["city"] and [label for label in row["city"] if label is not None]
            assert found["city"] == (labels and {"value": "|".join(labels), "or_missing": None in row["city"]})
            assert json.loads(found["ill"]) == row["ill"]
            assert not list(validator.iter_errors(row))
            sets += len(labels or ()) > 1
    assert sets
