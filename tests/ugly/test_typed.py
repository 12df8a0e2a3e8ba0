"""Files with types that few programs write: UUIDs, bytes, extension types, spans; through a draft, a run and an audit."""

from __future__ import annotations

import json
from datetime import time, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.anonymizer import Anonymizer
from shoal.audit import audit
from shoal.infer import draft

ROWS = 120
POLICY = """
person: pid
attributes:
  age: {{quasi: numeric, range: [0, 100], grid: 5}}
  odd: {{publish: keep}}
privacy: {{k: 3}}
window: {{count: 40}}
algorithm: {{name: fads}}
"""
IDS = [UUID(int=Random(i).getrandbits(128)) for i in range(30)]
STORED = [IDS[i * 7 % 30].bytes for i in range(ROWS)]


def extended(kind: Any, storage: list[Any], stored: pa.DataType) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, pa.array(storage, stored))


ODD: dict[str, tuple[pa.Array, Any]] = {
    "uuid": (extended(pa.uuid(), [*STORED[:-1], None], pa.binary(16)), str(IDS[0])),
    "bool8": (extended(pa.bool8(), [i % 2 for i in range(ROWS)], pa.int8()), False),
    "bytes": (pa.array([b"\xff\x00%d" % (i % 7) for i in range(ROWS)]), "/wAw"),
    "bytes that are text": (pa.array([b"abc"] * ROWS), "YWJj"),
    "bytes of one length": (pa.array([b"\xfe%d" % (i % 9) for i in range(ROWS)], pa.binary(2)), "/jA="),
    "spans": (pa.array([timedelta(hours=i % 5) for i in range(ROWS)], pa.duration("s")), None),
}  # fmt: skip


def table(folder: Path, suffix: str, odd: pa.Array, **more: pa.Array) -> Path:
    path = folder / f"in.{suffix}"
    data = pa.table(
        {"pid": [f"p{i * 7 % 30}" for i in range(ROWS)], "age": [i * 7 % 70 for i in range(ROWS)], "odd": odd, **more}
    )
    if suffix == "parquet":
        pq.write_table(data, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, data.schema) as writer:
            writer.write_table(data)
    return path


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("name", ODD)
def test_what_is_kept_is_read_the_same_by_all(name: str, suffix: str, tmp_path: Path) -> None:
    odd, first = ODD[name]
    source, policy = table(tmp_path, suffix, odd), shoal.Policy.parse(POLICY.format())
    for kind in ("jsonl", "csv", "parquet", "arrow"):
        target, trace = tmp_path / f"out.{kind}", tmp_path / "trace.jsonl"
        stats = shoal.run(policy, source, target, trace=trace)
        report = audit(policy, source, target, trace)
        assert (stats.rejected, report.held) == (0, True), report.to_dict()
    if first is not None:
        assert first in [each["odd"] for each in map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_person_by_uuid(suffix: str, tmp_path: Path) -> None:
    source = table(tmp_path, suffix, ODD["uuid"][0].slice(0, ROWS), patient_id=extended(pa.uuid(), STORED, pa.binary(16)))
    text = draft(source)
    assert "\nperson: pid\n" in text or "\n#person: patient_id\n" in text
    policy = shoal.Policy.parse(POLICY.format().replace("person: pid", "person: patient_id"))
    target, trace = tmp_path / "out.csv", tmp_path / "trace.jsonl"
    shoal.run(policy, source, target, trace=trace)
    report = audit(policy, source, target, trace)
    assert report.held and report.rows["accepted"] == ROWS
    anonymizer = Anonymizer(policy)
    anonymizer.push_batch(
        pq.read_table(source).to_batches()[0] if suffix == "parquet" else pa.ipc.open_file(source).get_batch(0)
    )
    anonymizer.flush()
    assert (anonymizer.stats.received, anonymizer.stats.rejected) == (ROWS, 0)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_altered_bytes_are_noticed(kind: str, tmp_path: Path) -> None:
    source, policy = table(tmp_path, "parquet", ODD["bytes"][0]), shoal.Policy.parse(POLICY.format())
    target, trace = tmp_path / f"out.{kind}", tmp_path / "trace.jsonl"
    shoal.run(policy, source, target, trace=trace)
    if kind == "jsonl":
        target.write_text(target.read_text().replace("/wAw", "/wAx", 1))
    else:
        published = pq.read_table(target)
        values = published["odd"].to_pylist()
        values[0] = b"\xff\x00x"
        pq.write_table(published.set_column(published.schema.get_field_index("odd"), "odd", pa.array(values)), target)
    report = audit(policy, source, target, trace)
    assert [each.promise for each in report.promises if each.broken] == ["unaltered"]


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (ODD["bytes"][0], "it holds bytes that are not UTF-8"),
        (ODD["spans"][0], "it holds times of day or spans of time, which cannot be generalized"),
        (pa.array([time(i % 24) for i in range(ROWS)], pa.time32("s")), "it holds times of day or spans of time"),
        (ODD["uuid"][0], "some values look like long codes; never publish it"),
    ],
    ids=["bytes", "spans", "times of day", "uuid"],
)
def test_a_draft_says_what_a_column_holds(odd: pa.Array, reason: str, tmp_path: Path) -> None:
    flat = " ".join(draft(table(tmp_path, "parquet", odd)).replace("#", " ").split())
    assert f"'odd' is left out: {reason}" in flat
