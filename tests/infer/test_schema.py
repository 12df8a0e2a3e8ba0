"""Policies drafted from schemas, and tags as roles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.base import shoal_run
from shoal import Policy
from shoal.errors import InputError
from shoal.infer import from_schema

AVRO = {
    "type": "record", "name": "visit",
    "fields": [
        {"name": "patient_id", "type": "string"},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "body", "type": ["null", {"type": "record", "name": "body", "fields": [
            {"name": "sex", "type": {"type": "enum", "name": "sex", "symbols": ["f", "m", "x"]}},
            {"name": "shoe", "type": "int", "confluent:tags": ["QUASI"]},
        ]}]},
        {"name": "email", "type": "string"},
        {"name": "code", "type": "string", "confluent:tags": ["PII"]},
        {"name": "ward", "type": "string", "tags": "public"},
        {"name": "result", "type": "double", "tags": ["PHI"]},
        {"name": "drugs", "type": {"type": "array", "items": "string"}},
        {"name": "smokes", "type": "boolean", "tags": ["quasi-identifier"]},
    ],
}  # fmt: skip
JSON_SCHEMA = {
    "type": "object",
    "properties": {
        "user": {"type": "string", "confluent:tags": ["DATA_SUBJECT"]},
        "age": {"type": ["integer", "null"], "minimum": 0, "maximum": 120},
        "home": {"$ref": "#/definitions/place"},
        "grade": {"enum": ["a", "b"], "tags": ["quasi"]},
        "at": {"type": "string", "format": "date-time", "x-tags": ["event_time"]},
        "points": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "definitions": {"place": {"type": "object", "properties": {"gender": {"type": "boolean"}}}},
}
PROTO = """
syntax = "proto3";
import "confluent/meta.proto";
import "google/protobuf/timestamp.proto";
message Visit {
  enum Sex { unknown = 0; f = 1; m = 2; }
  message Body { Sex sex = 1; }
  string who = 1 [(confluent.field_meta).tags = "PERSON"];
  Body body = 2;
  string phone = 3;
  repeated string drugs = 4;
  int32 size = 5 [(confluent.field_meta).tags = "QUASI"];
  google.protobuf.Timestamp event_time = 6;
  string note = 7 [(confluent.field_meta).tags = "PII", (confluent.field_meta).tags = "PUBLIC"];
}
"""


def test_avro(tmp_path: Path) -> None:
    (tmp_path / "visit.avsc").write_text(json.dumps(AVRO))
    text = from_schema(str(tmp_path / "visit.avsc"))
    policy = Policy.parse(text)
    assert (policy.person, policy.time and policy.time.field) == ("patient_id", "ts")
    assert {name: attribute.role for name, attribute in policy.attributes.items()} == {
        "body.sex": "categorical", "ward": "kept", "smokes": "categorical",
    }  # fmt: skip
    for said in (
        "# 'body.shoe' is left out: the schema does not say its lowest and highest value; DECIDE the range.",
        "#body.shoe: {quasi: numeric, range: [0, 100], grid: 5}",
        "# 'email' is left out: by its name it holds",
        "# 'code' is left out: its tag says that it identifies persons; never publish it.",
        "# 'result' is left out: its tag says that it is sensitive.",
        "#result: {sensitive: true}",
        "# 'drugs' is left out: it holds lists",
    ):
        assert said in text


def test_json_schema(tmp_path: Path) -> None:
    (tmp_path / "visit.json").write_text(json.dumps(JSON_SCHEMA))
    text = from_schema(str(tmp_path / "visit.json"))
    policy = Policy.parse(text)
    assert (policy.person, policy.time and policy.time.field) == ("user", "at")
    assert {name: attribute.role for name, attribute in policy.attributes.items()} == {
        "age": "numeric", "home.gender": "categorical", "grade": "categorical",
    }  # fmt: skip
    assert policy.attributes["age"].low < 0 and policy.attributes["age"].high > 120
    assert "'points' is left out: it has no tag, and its name does not show" in text


def test_protobuf(tmp_path: Path) -> None:
    (tmp_path / "visit.proto").write_text(PROTO)
    text = from_schema(str(tmp_path / "visit.proto"))
    policy = Policy.parse(text)
    assert (policy.person, policy.time and policy.time.field) == ("who", "event_time")
    assert {name: attribute.role for name, attribute in policy.attributes.items()} == {"body.sex": "categorical"}
    assert "# 'note' is left out: its tag says that it identifies persons; never publish it." in text


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.txt", "", "is not a schema; its name must end in .avsc, .json, .proto"),
        ("a.avsc", "no JSON", "is not a schema of Avro; correct it"),
        ("a.json", "[]", "is not a schema of JSON; correct it"),
        ("a.proto", "message {", "is not a schema of Protobuf; correct it"),
    ],
)
def test_what_is_no_schema(tmp_path: Path, name: str, text: str, problem: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as error:
        from_schema(str(path))
    assert str(error.value) == f"{path}: {problem}"


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "visit.avsc").write_text(json.dumps(AVRO))
    done = shoal_run("infer", "--schema", "visit.avsc", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == from_schema(str(tmp_path / "visit.avsc"))
