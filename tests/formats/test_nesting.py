"""Fields inside fields, as they are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Policy, PolicyError
from shoal.audit import audit
from shoal.column_types import as_nested
from shoal.formats import lines

POLICY = """
person: pid
attributes:
  body.age: {quasi: numeric, range: [0, 100], grid: 5}
  ill: {sensitive: true}
  body.size.cm: {quasi: numeric, range: [0, 250], grid: 5}
nesting: NESTING
privacy: {k: 3}
window: {count: 10}
algorithm: {name: fads}
"""


def nested(row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in row.items():
        *above, last = name.split(".")
        inner = found
        for step in above:
            inner = inner.setdefault(step, {})
        inner[last] = value
    return found


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(".".join), min_size=1, max_size=6, unique=True))
def test_any_paths_are_written_as_objects(names: list[str]) -> None:
    names = [name for name in names if not any(other.startswith(f"{name}.") for other in names)]
    batch = pa.record_batch({name: [i, i + 10] for i, name in enumerate(names)})
    found = [json.loads(line) for line in lines(as_nested(batch)).splitlines()]
    assert found == [nested(row) for row in batch.to_pylist()]


@pytest.mark.parametrize("nesting", ["flat", "keep"])
def test_the_judge_reads_both(tmp_path: Path, nesting: str) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY.replace("NESTING", nesting))
    rows = [{"pid": i % 13, "body": {"age": i * 7 % 90, "size": {"cm": 150 + i % 30}}, "ill": i % 3} for i in range(60)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = [tmp_path / name for name in ("policy.yaml", "in.jsonl", "out.jsonl")]
    shoal.run(*files, trace=tmp_path / "trace.jsonl")
    first = json.loads(files[2].read_text().splitlines()[0])
    assert list(first) == (["body", "ill"] if nesting == "keep" else ["body.age", "ill", "body.size.cm"])
    report = audit(*files, trace=tmp_path / "trace.jsonl")
    assert report.held, report.to_dict()
    shown = [json.loads(line) for line in files[2].read_text().splitlines()]
    if nesting == "keep":  # what is not published is found inside objects too
        shown[0]["body"]["secret"] = 1
        files[2].write_text("".join(json.dumps(row) + "\n" for row in shown))
        assert not audit(*files, trace=tmp_path / "trace.jsonl").held


def test_a_field_cannot_be_a_value_and_hold_others() -> None:
    with pytest.raises(PolicyError) as error:
        Policy.parse(POLICY.replace("NESTING", "keep").replace("  ill:", "  body: {publish: keep}\n  ill:"))
    assert error.value.problems == (
        "nesting: 'body' cannot be a value and hold 'body.age'; use flat, or publish one of them",
        "nesting: 'body' cannot be a value and hold 'body.size.cm'; use flat, or publish one of them",
    )
