"""Messages of JSON that are compared with their schemas, by a registry that is a table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shoal.connectors.json_messages import JsonReader
from shoal.connectors.schema_registry import Found
from shoal.connectors.wire import DAMAGED, NO_WIRE, Raw
from shoal.errors import ConnectorError

VISIT = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"age": {"$ref": "age.json"}, "city": {"enum": ["Oslo", "Rome"]}},
    "required": ["age"],
}
AGE = {"type": "integer", "minimum": 0}


class Table:
    """Schemas by their ids."""

    def __init__(self, **changes: Any) -> None:
        self._found = Found("JSON", json.dumps(VISIT), {"age.json": json.dumps(AGE)})._replace(**changes)

    def schema(self, number: int) -> Found:
        return self._found


def raw(record: Any, **fields: Any) -> Raw:
    text = record if isinstance(record, bytes) else json.dumps(record).encode()
    return Raw(b"\0\0\0\0\7" + text, fields)


def reader(envelope: bool = False, **changes: Any) -> JsonReader:
    return JsonReader(Table(**changes), ["age", "city", "t"], (), envelope)  # type: ignore[arg-type]


def test_what_does_not_fit_its_schema_is_rejected_in_its_place() -> None:
    messages = [
        raw({"age": 3, "city": "Oslo"}, t=1.5),
        raw({"age": "three"}),
        raw({"age": 4, "city": "Paris"}),
        raw(b'{"age":\n 5}'),
        Raw(b'{"age": 6}'),
        raw(b'{"age": 7'),
        raw(b'{"age": 8, "age": 9}'),  # it fits, and is no record of ours
        raw("é".encode("latin-1")),
        raw(b"[" * 100_000),
        raw({"age": 10}),
        raw({"city": "Rome"}),
    ]
    blocks, removed = reader().blocks(messages)
    rows = [(int(row), record) for block in blocks for row, record in zip(block.rows, block.batch.to_pylist(), strict=True)]
    assert rows == [
        (0, {"age": 3, "city": "Oslo", "t": 1.5}), (3, {"age": 5, "city": None, "t": None}),
        (9, {"age": 10, "city": None, "t": None}),
    ]  # fmt: skip
    bad = [each for block in blocks for each in block.bad]
    assert bad == sorted(bad)
    assert dict(bad) == {
        6: "a key stands twice; give each once",
        1: DAMAGED,
        2: DAMAGED,
        4: NO_WIRE,
        5: DAMAGED,
        7: DAMAGED,
        8: DAMAGED,
        10: DAMAGED,
    }
    assert removed == 0


def test_only_bad_messages() -> None:
    (block,), removed = reader().blocks([raw({}), raw({"age": -1})])
    assert (block.bad, len(block.rows), removed) == ([(0, DAMAGED), (1, DAMAGED)], 0, 0)


def test_removals_are_no_rows() -> None:
    change = {"type": "object", "properties": {"op": {"type": "string"}}, "required": ["op"]}
    messages = [
        raw({"op": "c", "after": {"age": 3}}),
        raw({"op": "d", "after": None}),
        raw({"after": {}}),
        raw({"op": "u", "after": {"age": 4}}),
    ]
    blocks, removed = reader(envelope=True, text=json.dumps(change), others={}).blocks(messages)
    assert [(block.rows.tolist(), block.bad, block.batch["age"].to_pylist()) for block in blocks] == [
        ([0, 2], [(1, DAMAGED)], [3, 4])
    ]
    assert removed == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "AVRO"}, "registry: schema 7 is of the kind AVRO; correct format: json-schema"),
        ({"text": "no JSON"}, "registry: schema 7 cannot be read as json-schema; correct it"),
        ({"text": '{"type": "nothing"}'}, "registry: schema 7 cannot be read as json-schema; correct it"),
        ({"others": {}}, "registry: schema 7 cannot be read as json-schema; correct it"),
    ],
)
def test_schemas_that_cannot_be_used(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConnectorError) as error:
        reader(**changes).blocks([raw({"age": 1})])
    assert str(error.value) == said
