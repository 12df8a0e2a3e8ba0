"""Numbers at the end of what a double holds: ranges of few doubles, and whole numbers beyond 2^53 beside broken ones."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.audit import audit
from shoal.policy import Policy
from tests.audit.stream import broken

SUFFIXES = ["jsonl", "csv", "parquet", "arrow"]
LONG = 2**53
MIXED = [LONG + 1, LONG + 2, LONG + 3, 1.5, 4 * LONG + 1, 4 * LONG + 3, float(LONG), 7, 7.0, -LONG - 1]


def policy(span: list[float], **sensitive: Any) -> Policy:
    return Policy.parse({
        "person": "pid", "attributes": {"v": {"quasi": "numeric", "range": span}, "d": {"sensitive": True, **sensitive}},
        "privacy": {"k": 3}, "window": {"count": 40}, "algorithm": {"name": "fads"},
    })  # fmt: skip


def ran(folder: Path, chosen: Policy, records: list[dict[str, Any]], suffix: str) -> tuple[Path, Path, Path]:
    paths = folder / "in.jsonl", folder / f"out.{suffix}", folder / "trace.jsonl"
    paths[0].write_text("".join(json.dumps(record) + "\n" for record in records))
    shoal.run(chosen, paths[0], paths[1], trace=paths[2])
    return paths


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("low", [1e16, -1e16, 1.0, 2.0**80])
@pytest.mark.parametrize("doubles", [1, 2, 9, 100])
def test_a_range_of_few_doubles(low: float, doubles: int, traced: bool, tmp_path: Path) -> None:
    high = low
    for _ in range(doubles):
        high = math.nextafter(high, math.inf)
    chosen = policy([low, high])
    records = [{"pid": i, "v": low if i % 2 else high, "d": i % 3} for i in range(80)]
    source, target, trace = ran(tmp_path, chosen, records, "jsonl")
    assert audit(chosen, source, target, trace if traced else None).held


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("sensitive", [{}, {"l": 3}, {"t": 0.4}], ids=["kept", "l", "t"])
def test_long_whole_numbers_beside_broken_ones(sensitive: dict[str, Any], suffix: str, traced: bool, tmp_path: Path) -> None:
    chosen = policy([0, 100], **sensitive)
    records = [{"pid": MIXED[i * 7 % 10], "v": i * 13 % 100, "d": MIXED[i * 3 % 10]} for i in range(400)]
    source, target, trace = ran(tmp_path, chosen, records, suffix)
    assert audit(chosen, source, target, trace if traced else None).held


def test_long_whole_numbers_are_different_values(tmp_path: Path) -> None:
    """As doubles all of them would be two values."""
    chosen = policy([0, 100], l=3)
    records = [{"pid": i, "v": i * 13 % 100, "d": LONG + i % 6} for i in range(300)]
    source, target, trace = ran(tmp_path, chosen, records, "jsonl")
    assert audit(chosen, source, target, trace).held


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_the_last_digit_of_a_long_number_counts(suffix: str, tmp_path: Path) -> None:
    chosen = policy([0, 100])
    records = [{"pid": i, "v": i * 13 % 100, "d": MIXED[i * 3 % 10]} for i in range(200)]
    source, target, trace = ran(tmp_path, chosen, records, suffix)
    target.write_text(target.read_text().replace(str(LONG + 1), str(LONG), 1))
    report = audit(chosen, source, target, trace)
    assert broken(report) == ["unaltered"] and report["unaltered"].broken == 1
