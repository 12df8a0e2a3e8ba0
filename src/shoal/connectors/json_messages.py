"""Messages of JSON in the wire format of a schema registry, each compared with its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.connectors.debezium import row_after
from shoal.connectors.kafka_link import with_fields
from shoal.connectors.schema_registry import PREFIX, Found, SchemaRegistry, id_of
from shoal.connectors.wire import DAMAGED, NO_WIRE, Raw
from shoal.errors import ConnectorError
from shoal.extras import needs
from shoal.formats import Block, parser


class JsonReader:
    """Rejects messages that do not fit their schemas, and reads the others as any JSON is read."""

    def __init__(self, registry: SchemaRegistry, fields: Sequence[str], passed: Sequence[str], envelope: bool) -> None:
        with needs("registry", "format: json-schema"):
            import jsonschema  # type: ignore[import-untyped]  # noqa: F401
        self._registry, self._envelope = registry, envelope
        self._fields, self._passed = list(fields), passed
        self._validators: dict[int, Any] = {}

    def blocks(self, messages: Sequence[Raw]) -> tuple[list[Block], int]:
        """Blocks that are numbered from 0, and how many messages were removals."""
        payloads, places, bad = [], [], []
        row = removed = 0
        for message in messages:
            why = self._refusal(message.value)
            payload = None if why else self._record(message)
            if why:
                bad.append((row, why))
            elif payload is None:
                removed += 1
                continue
            else:
                payloads.append(payload)
                places.append(row)
            row += 1
        return list(self._placed(payloads, np.array(places, np.int64), bad)), removed

    def _placed(self, payloads: list[bytes], places: Any, bad: list[tuple[int, str]]) -> Iterator[Block]:
        """The records of payloads in their places, and those that are bad between them."""
        read = parser("json", self._fields, self._passed).blocks(payloads) if payloads else ()
        for block in read:
            mine = [(int(places[row]), why) for row, why in block.bad]
            end = int(places[block.end - 1])
            mine += [each for each in bad if each[0] < end]
            bad = [each for each in bad if each[0] > end]
            yield block._replace(rows=places[block.rows], bad=sorted(mine))
        if bad:
            nothing = pa.RecordBatch.from_arrays([pa.nulls(0) for _ in self._fields], names=self._fields)
            yield Block(nothing, np.zeros(0, np.int64), bad)

    def _refusal(self, value: bytes) -> str | None:
        """Why a message is rejected; None if it fits its schema."""
        number = id_of(value)
        if number is None:
            return NO_WIRE
        validator = self._validators.get(number) or self._opened(number)
        try:
            record = json.loads(value[PREFIX:].decode())
        except (ValueError, RecursionError):
            return DAMAGED
        try:
            return None if validator.is_valid(record) else DAMAGED
        except RecursionError:
            return DAMAGED
        except Exception:  # of a schema that it refers to, or of a pattern
            raise _unreadable(number) from None

    def _opened(self, number: int) -> Any:
        found = self._registry.schema(number)
        if found.kind != "JSON":
            raise ConnectorError(f"registry: schema {number} is of the kind {found.kind}; correct format: json-schema")
        try:
            self._validators[number] = _validator(found)
        except Exception:  # of jsonschema, and of what it is built on
            raise _unreadable(number) from None
        return self._validators[number]

    def _record(self, message: Raw) -> bytes | None:
        """One line of JSON; None if it is a removal. Inside JSON a line end can only be where a space could be."""
        value: bytes | None = message.value[PREFIX:].replace(b"\n", b" ")
        if self._envelope:
            value = row_after(value or b"")
        return with_fields(value, message.fields) if message.fields and value is not None else value


def _validator(found: Found) -> Any:
    """
    >>> found = Found("JSON", '{"properties": {"age": {"$ref": "age.json"}}}', {"age.json": '{"type": "integer"}'})
    >>> [_validator(found).is_valid({"age": age}) for age in (7, "7")]
    [True, False]
    """
    import referencing
    from jsonschema.validators import validator_for  # type: ignore[import-untyped]
    from referencing.jsonschema import DRAFT7

    schema = json.loads(found.text)
    others = [(name, referencing.Resource.from_contents(json.loads(text), DRAFT7)) for name, text in found.others.items()]
    kind = validator_for(schema)
    kind.check_schema(schema)
    return kind(schema, registry=referencing.Registry().with_resources(others))


def _unreadable(number: int) -> ConnectorError:
    return ConnectorError(f"registry: schema {number} cannot be read as json-schema; correct it")
