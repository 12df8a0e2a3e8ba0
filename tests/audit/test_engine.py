"""Under every algorithm a run keeps each promise that a policy can ask for, as the judge finds from the files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import shoal
from shoal.audit import Verdict, audit
from tests.audit.stream import ALGORITHMS, CITIES, LEAVES, write

K = 3
SHARES = {"flu": 0.4, "gout": 0.3, "angina": 0.3}
ASKED: dict[str, dict[str, Any]] = {
    "blurred": {},
    "extended": {"privacy": {"nulls_match": "extended"}},
    "root": {"privacy": {"nulls_match": "root"}},
    "support": {"privacy": {"nulls_match": "maybe", "min_support": 2}},
    "distinct": {"privacy": {"l": 3}},
    "entropy": {"privacy": {"l": {"entropy": 1.8}, "nulls_match": "root"}},
    "recursive": {"privacy": {"l": {"recursive": [2.5, 2]}}},
    "close to the input": {"privacy": {"t": 0.5}},
    "close to a distribution": {"illness": {"t": 0.45, "distribution": SHARES}, "privacy": {"nulls_match": "maybe"}},
    "both of two": {"illness": {"l": 2, "t": 0.6}, "ward": {"l": {"entropy": 1.3}}},
    "weights": {"weights": {"age": 1000, "city": 0.001}},
    "stretch under count": {"sparse": {"stretch": 3}},
    "stretch under time": {"sparse": {"stretch": 2.5}, "window": {"time": "12s"}, "privacy": {"l": 2}},
}  # fmt: skip
OWN = {"fast": {"round": 8}}
KINDS = ("jsonl", "csv", "parquet")
CASES = [(algorithm, asked, KINDS[(i + j) % 3]) for i, algorithm in enumerate(ALGORITHMS) for j, asked in enumerate(ASKED)]


def records(rows: int) -> Iterator[dict[str, Any]]:
    """Persons who come back; now and then only two of them are there for a while, and the clock jumps."""
    random, ts = Random(7), 1_700_000_000.0
    for row in range(rows):
        few = row % 60 >= 30
        ts += random.choice((0, 1, 2)) + (15 if row % 50 == 49 else 0)
        yield {
            "pid": f"p{random.randrange(2 if few else 40)}",
            "ts": ts,
            "age": random.choice([random.randrange(100), random.randrange(100), None]),
            "pulse": random.choice([random.randrange(40, 200) / 2, 60.5, None]) if row % 70 else 300.0,
            "city": random.choice([*LEAVES, " Oslo ", "Atlantis", None]),
            "illness": random.choice(["flu", "flu ", "\tangina", "angina", "gout", "gout", "?", " ", None]),
            "ward": random.choice(["1", " 2", "3", None]),
            "note": row,
        }


def policy(algorithm: str, asked: str) -> shoal.Policy:
    more = dict(ASKED[asked])
    timed = "time" in more.get("window", {})
    written: dict[str, Any] = {
        "person": "pid",
        "nulls": ["", "?"],
        "attributes": {
            "age": {"quasi": "numeric", "range": [0, 100], "grid": 5},
            "pulse": {"quasi": "numeric", "range": [20, 200]},
            "city": {"quasi": "categorical", "hierarchy": CITIES, "unknown": "root"},
            "illness": {"sensitive": True, **more.pop("illness", {})},
            "ward": {"sensitive": True, **more.pop("ward", {})},
            "note": {"publish": "keep"},
        },
        "privacy": {"k": K, **more.pop("privacy", {})},
        "window": {"count": 14},
        "algorithm": {"name": algorithm, "reuse_age": 10 if "sparse" in more else 400, **OWN.get(algorithm, {})},
        **({"time": {"field": "ts"}} if timed else {}),
        **more,
    }
    return shoal.Policy.parse(written)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sources")
    paths = {kind: folder / f"in.{kind}" for kind in KINDS}
    lines = list(records(240))
    table = pa.Table.from_pylist(lines)
    write(paths["jsonl"], lines)
    pa.csv.write_csv(table, paths["csv"])
    pa.parquet.write_table(table, paths["parquet"])
    return paths


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "asked", "kind"), CASES)
def test_a_run_keeps_what_was_asked(algorithm: str, asked: str, kind: str, sources: dict[str, Path], tmp_path: Path) -> None:
    chosen, target, messages = policy(algorithm, asked), tmp_path / f"out.{kind}", tmp_path / "messages.jsonl"
    stats = shoal.run(chosen, sources[kind], target, trace=messages)
    assert stats.faults == {}
    assert stats.clustered > stats.received / 10
    assert stats.reused > 0 or "sparse" in ASKED[asked]
    report = audit(chosen, sources[kind], target, messages)
    verdicts = {finding.promise: finding.verdict for finding in report.promises}
    waits = Verdict.NOT_PROMISED if algorithm == "fast" and chosen.window.timed else Verdict.HELD
    assert stats.stretched == 0 or "sparse" in ASKED[asked]
    assert stats.stretched > 0 or algorithm != "fads" or "sparse" not in ASKED[asked]
    assert verdicts == {**dict.fromkeys(verdicts, Verdict.HELD), "in time": waits}
    assert {"diversity", "closeness", "support"} & verdicts.keys() == _on_request(chosen)
    outside = audit(chosen, sources[kind], target)
    assert outside.held
    assert {finding.verdict for finding in outside.promises if finding.promise in ("once", "alike")} == {Verdict.NOT_CHECKABLE}


def _on_request(chosen: shoal.Policy) -> set[str]:
    """The promises that a policy makes besides those that all make."""
    asked = {"diversity": any(d.l for d in chosen.requirements), "closeness": any(d.t for d in chosen.requirements)}
    return {name for name, is_asked in asked.items() if is_asked} | ({"support"} if chosen.privacy.support > 1 else set())


def small(algorithm: str = "fads", **more: Any) -> shoal.Policy:
    attributes = {"age": {"quasi": "numeric", "range": [0, 100]}, "illness": {"sensitive": True, **more.pop("illness", {})}}
    written = {"person": "pid", "attributes": attributes, "window": {"count": 6}, "algorithm": {"name": algorithm}}
    return shoal.Policy.parse({**written, "privacy": {"k": 3}, **more})


def judged(chosen: shoal.Policy, source: Path, target: Path) -> shoal.Stats:
    """The figures of a run, after the judge found nothing with a trace and without one."""
    messages = target.with_name("messages.jsonl")
    stats = shoal.run(chosen, source, target, trace=messages)
    for trace in (messages, None):
        report = audit(chosen, source, target, trace)
        assert [str(each) for finding in report.promises for each in finding.violations] == []
    assert stats.faults == {}
    return stats


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (['{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a": 1.0, "b": 2, "c": null}'], 1),
        (['[1, "x"]', '[1.0,"x"]'], 1),
        (['"flu"', '" flu"', '"fl\\u0075"'], 1),
        (["100", "1e2", '"100 "'], 1),
        (["[1, 2]", "[2, 1]"], 2),
        (['{"a": 1}', '{"a": 2}', "[]", "null"], 3),
        (["[1]", '"flu"', "3", "3.0", "true", '" "'], 4),
    ],
)
def test_one_value_however_it_is_written(written: list[str], values: int, tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [f'{{"pid": {i}, "age": {i}, "illness": {written[i % len(written)]}}}\n' for i in range(48)]
    source.write_text("".join(lines), encoding="utf-8")
    for least in (1, 2, 3):
        judged(small(privacy={"k": 3, "l": least}), source, target)
        shown = [json.loads(line)["illness"] for line in target.read_text(encoding="utf-8").splitlines()]
        assert any(each is not None for each in shown) == (least <= values)


@pytest.mark.parametrize("asked", [{"l": 2}, {"l": {"entropy": 1.5}}, {"t": 0.5}])
def test_bytes_that_are_no_text_are_values(asked: dict[str, Any], tmp_path: Path) -> None:
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    illness = pa.array([(b"\xff", b"\xfe", b"\xff", b"flu")[i % 4] for i in range(48)], pa.binary())
    pa.parquet.write_table(pa.table({"pid": range(48), "age": range(48), "illness": illness}), source)
    stats = judged(small(privacy={"k": 3, **asked}), source, target)
    assert stats.clustered > 24


def test_shares_that_add_up_to_almost_one(tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    write(source, [{"pid": i, "age": i, "illness": "ab"[i % 2]} for i in range(48)])
    third = {"t": 0.33333334, "distribution": {"a": 0.3333333, "b": 0.3333333, "c": 0.3333333}}
    assert judged(small(illness=third, privacy={"k": 4}), source, target).clustered > 0
