"""The algorithms on real data: promises judged from the files, and release for release against the naive twins."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal import Anonymizer, Policy
from shoal.algorithms import WINDOWED
from shoal.audit import audit
from shoal.conformance.streams import worn
from tests.data.published import Published
from tests.data.real import CITIES, STREAMS, adult, informs, pm25
from tests.naive import Release, simulate

K, LENGTH = 50, 2000
WAITS = {"xband": 2 * LENGTH}

pytestmark = pytest.mark.slow


@pytest.mark.long
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", WINDOWED)
def test_promises_hold_from_file_to_file(name: str, stream: str, tmp_path: Path) -> None:
    real = STREAMS[stream]()
    real.write(tmp_path / "in.csv")
    policy = Policy.parse(real.policy(K, {"count": LENGTH}, name=name))
    stats = shoal.run(policy, tmp_path / "in.csv", tmp_path / "out.parquet", trace=tmp_path / "trace.jsonl")
    assert (stats.received, stats.rejected, stats.held, stats.faults) == (len(real.rows), 0, 0, {})
    published = Published(real, tmp_path / "out.parquet", tmp_path / "trace.jsonl")
    published.leaves_once()
    published.leaves_in_time(WAITS.get(name, LENGTH))
    published.has_k_persons(K)
    published.is_true()
    report = audit(policy, tmp_path / "in.csv", tmp_path / "out.parquet", tmp_path / "trace.jsonl")
    assert {finding.promise for finding in report.promises if finding.verdict != "held"} == set()
    assert report["k persons"].figures["smallest"] == stats.smallest_group
    assert report["in time"].figures["longest"] == stats.longest_wait
    assert audit(policy, tmp_path / "in.csv", tmp_path / "out.parquet").held
    assert stats.smallest_group is not None and stats.smallest_group >= K
    assert stats.suppressed < 0.1 * len(real.rows), "most tuples leave in company"


@pytest.mark.parametrize("name", WINDOWED)
def test_no_pattern_of_nulls_stands_out(name: str, tmp_path: Path) -> None:
    real = adult(3).head(8000)
    real.write(tmp_path / "in.csv")
    policy = Policy.parse(real.policy(10, {"count": LENGTH}, "extended", name=name))
    stats = shoal.run(policy, tmp_path / "in.csv", tmp_path / "out.parquet", trace=tmp_path / "trace.jsonl")
    assert stats.faults == {}
    report = audit(policy, tmp_path / "in.csv", tmp_path / "out.parquet", tmp_path / "trace.jsonl")
    assert {finding.promise for finding in report.promises if finding.verdict != "held"} == set()
    assert report.nulls["extended"].below == 0, "every row that is not suppressed has k equals"
    assert audit(policy, tmp_path / "in.csv", tmp_path / "out.parquet").held


TWINS = {"castle": 300, "xband": 600, "tide": 450}


@pytest.mark.long
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", WINDOWED)
def test_releases_equal_the_naive_twins(name: str, stream: str) -> None:
    agree(name, stream)


@pytest.mark.long
@pytest.mark.parametrize("name", WINDOWED)
def test_releases_equal_the_naive_twins_under_extended_match(name: str) -> None:
    agree(name, "adult, up to 7 missing", "extended")


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("stream", STREAMS)
def test_releases_equal_the_naive_twin_of_a_thorough_tide(stream: str) -> None:
    agree("tide", stream, effort="thorough")


def agree(name: str, stream: str, match: str = "maybe", **parameters: Any) -> None:
    real = STREAMS[stream]().head(TWINS.get(name, 1500))
    made = Anonymizer(Policy.parse(real.policy(10, {"count": 200}, match, name=name, **parameters)))
    releases: list[Release] = []
    for person, row in zip(real.persons, real.rows, strict=True):
        releases += releases_of(made, made.push({"pid": person, **dict(zip(real.quasi, row, strict=True))}))
    releases += releases_of(made, made.to_records(made.flush()))
    assert releases == simulate(name, real.domains(), 10, ("count", 200), real.arrivals(), match=match, **parameters)


def releases_of(made: Anonymizer, records: list[dict[str, Any]]) -> list[Release]:
    found = []
    for shown, how in zip(records, made.trace.to_pylist(), strict=True):
        dress = tuple(map(worn, shown.values()))
        found.append(Release(how["row"], how["how"], how["cluster"], dress, how["arrived"], how["released"]))
    return found


def test_every_format_says_the_same(tmp_path: Path) -> None:
    real = informs(7).head(5000)
    real.write(tmp_path / "in.csv")
    policy = Policy.parse(real.policy(K, {"count": LENGTH}, name="idea"))
    for suffix in ("jsonl", "csv"):
        shoal.run(policy, tmp_path / "in.csv", tmp_path / f"out.{suffix}")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    table = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert len(lines) == len(table) == len(real.rows)
    for line, row in zip(lines, table, strict=True):
        assert {name: "" if value is None else str(value) for name, value in line.items()} == row


def test_the_loader() -> None:
    """Sizes, persons, and how many values are missing, as the data's own page tells them."""
    assert [len(adult(None).rows), len(adult(0).rows), len(informs(None).rows)] == [48_842, 45_222, 33_961]
    assert [len(pm25(city, None).rows) for city in CITIES] == [52_584] * 5
    for real, most in ((adult(3), 3), (informs(3), 3), (adult(7), 7), (informs(7), 7)):
        missing = [row.count(None) for row in real.rows]
        share = len(missing) / (most + 1)
        assert all(abs(missing.count(number) - share) < 1 for number in range(most + 1))
        by_column = [sum(row[q] is None for row in real.rows) for q in range(len(real.quasi))]
        assert max(by_column) < 1.1 * min(by_column)
    assert all(None not in row for row in adult(0).rows)
    assert adult(7).rows == adult.__wrapped__(7).rows, "the seed is fixed"
