"""No text of an audit holds a value of the data."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from shoal.audit import audit
from shoal.errors import InputError
from tests.audit.stream import read, write

MARK = "zq7731"
POLICY = {
    "person": "pid",
    "attributes": {
        "age": {"quasi": "numeric", "range": [0, 999999], "grid": 10},
        "city": {"quasi": "categorical", "hierarchy": {"any": {"some": [f"{MARK}a", f"{MARK}b"], "others": f"{MARK}c"}}},
        "illness": {"sensitive": True},
    },
    "privacy": {"k": 2, "nulls_match": "maybe"},
    "window": {"count": 4},
    "algorithm": {"name": "fads"},
}


def test_reports_of_broken_promises_hold_no_value(tmp_path: Path) -> None:
    policy = shoal.Policy.parse(POLICY)
    source, target, trace_file = (tmp_path / f"{name}.jsonl" for name in ("in", "out", "trace"))
    lines = [
        {"pid": f"{MARK}{i % 9}", "age": 773100 + i, "city": f"{MARK}{'abc'[i % 3]}", "illness": f"{MARK}-{i}"}
        for i in range(60)
    ]
    write(source, lines)
    shoal.run(policy, source, target, trace=trace_file)
    output, trace = read(target), read(trace_file)
    output[3].update(age=[773119, 773119], city=f"{MARK}?", illness=f"{MARK}!", pid=f"{MARK}1")
    output[8].update(age=773111, city=None)
    output[12].update(age=f"{MARK}")
    trace[20]["arrived"] += 1
    trace[25]["cluster"] = 7731
    del output[40]
    write(target, output)
    write(trace_file, trace)
    report = audit(policy, source, target, trace_file)
    assert not report.held
    text = report.to_json() + repr(report.promises) + "".join(str(v) for f in report.promises for v in f.violations)
    assert {f.promise for f in report.promises if f.broken} >= {"once", "true", "unaltered", "silent", "in time"}
    assert MARK not in text
    assert "7731" not in text


@pytest.mark.parametrize("line", ["no json at all zq7731", '{"row": "zq7731"}', '{"row": 1, "how": "zq7731"}', '{"row": 0}'])
def test_errors_hold_no_value(line: str, tmp_path: Path) -> None:
    for name in ("in", "out"):
        write(tmp_path / f"{name}.jsonl", [])
    (tmp_path / "trace.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        audit(shoal.Policy.parse(POLICY), tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "trace.jsonl")
    assert MARK not in str(error.value)
