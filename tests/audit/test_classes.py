"""Classes under each reading of nulls, against a comparison of every row with every other."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from shoal.audit.classes import READINGS, classes
from shoal.audit.evidence import Evidence, gather
from shoal.policy import Policy
from tests.audit.stream import write

FIELDS = ("a", "b", "c", "d")
K = 3


def evidence(folder: Path, seed: int, traced: bool, shuffled: bool, nulls: float) -> tuple[Evidence, list[dict[str, Any]]]:
    """A made-up output of groups, in which rows miss this share of their values."""
    random = Random(seed)
    rows: list[dict[str, Any]] = []
    trace: list[dict[str, Any]] = []
    for cluster in range(40):
        worn = {name: sorted(random.choices(range(0, 30, 5), k=2)) for name in FIELDS}
        for _ in range(random.randrange(1, 6)):
            row = {name: value if random.random() > nulls else None for name, value in worn.items()}
            suppressed = random.random() < 0.05
            rows.append({name: [0, 100] for name in FIELDS} if suppressed else row)
            how, of = ("suppressed", None) if suppressed else ("cluster", cluster)
            trace.append({"row": len(trace), "how": how, "cluster": of, "arrived": len(trace), "released": len(trace)})
    if shuffled:
        order = random.sample(range(len(rows)), len(rows))
        rows, trace = [rows[i] for i in order], [trace[i] for i in order]
    people = [{"pid": random.randrange(60)} for _ in rows]
    policy = Policy.parse({
        "person": "pid",
        "attributes": {name: {"quasi": "numeric", "range": [0, 100]} for name in FIELDS},
        "privacy": {"k": K, "nulls_match": "maybe"}, "window": {"count": 100}, "algorithm": {"name": "fads"},
    })  # fmt: skip
    for name, lines in (("in", people), ("out", rows), ("trace", trace)):
        write(folder / f"{name}.jsonl", lines)
    trace_file = folder / "trace.jsonl" if traced else None
    found = gather(policy, folder / "in.jsonl", folder / "out.jsonl", trace_file)
    for row, line, hidden in zip(rows, trace, found.suppressed, strict=True):
        row["who"] = people[line["row"]]["pid"] if traced else json.dumps(line)
        row["hidden"] = bool(hidden)
    return found, rows


def matches(a: dict[str, Any], b: dict[str, Any], reading: str) -> bool:
    if a["hidden"] or b["hidden"]:
        return False
    if reading == "maybe":
        return all(a[name] is None or b[name] is None or a[name] == b[name] for name in FIELDS)
    same = all(a[name] == b[name] for name in FIELDS)
    return same and (reading == "extended" or a is b or all(a[name] is not None for name in FIELDS))


@pytest.mark.parametrize("nulls", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("reading", READINGS)
def test_sizes_are_those_of_comparing_each_row_with_every_other(
    reading: Any, traced: bool, shuffled: bool, nulls: float, tmp_path: Path
) -> None:
    for seed in range(3):
        found, rows = evidence(tmp_path, seed, traced, shuffled, nulls)
        expected = [len({other["who"] for other in rows if matches(row, other, reading)}) for row in rows]
        result = classes(found, reading)
        assert not result.unknown.any()
        assert result.floor == result.smallest == min(size for size in expected if size)
        for size, true, row in zip(result.size.tolist(), expected, rows, strict=True):
            assert (size == 0) == row["hidden"]
            assert (size < K) == (true < K)
            assert size <= true
            if true < K or reading != "maybe":
                assert size == true
