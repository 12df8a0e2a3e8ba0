"""How many rows look like fewer than k persons with the kept fields: counted on the stream, and again by the audit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymizer import Anonymizer, Stats
from shoal.audit import WindowReport, audit
from shoal.cli.run_display import singled_out
from shoal.policy import Policy

SPELLINGS = ["gold", "gold ", "silver", "", None, "NA"]


def policy(plan: Any = "keep", time: str = "drop", **sections: Any) -> Policy:
    privacy = {"k": 3, **sections.pop("privacy", {})}
    return Policy.parse({
        "person": "pid", "nulls": ["", "NA"],
        "time": {"field": "ts", "publish": time, **({"grid": 20} if time == "generalize" else {})},
        "attributes": {
            "age": {"quasi": "numeric", "range": [0, 100], "grid": 20},
            "city": {"quasi": "categorical", "values": ["Oslo", "Bergen", "Bodo"]},
            "plan": {"publish": plan},
            "ill": {"sensitive": True},
        },
        "privacy": privacy, "window": {"count": 24}, "algorithm": {"name": "fads"}, **sections,
    })  # fmt: skip


def people(seed: int, rows: int = 300) -> pa.RecordBatch:
    """Persons who come back; a kept field that is written in several ways, and a few rows alone with theirs."""
    draw = np.random.default_rng(seed)
    made = [
        {
            "pid": int(draw.integers(60)), "ts": 10 * n, "age": int(draw.integers(100)) if draw.random() > 0.1 else None,
            "city": ["Oslo", "Bergen", "Bodo", None][draw.integers(4)],
            "plan": "gold" if draw.random() < 0.8 else SPELLINGS[draw.integers(len(SPELLINGS))], "ill": "ab"[draw.integers(2)],
        }
        for n in range(rows)
    ]  # fmt: skip
    return pa.RecordBatch.from_pylist(made)


def published(chosen: Policy, batch: pa.RecordBatch, cuts: int = 1, restored: bool = False) -> tuple[pa.Table, pa.Table, Stats]:
    anonymizer, rows, traces = Anonymizer(chosen), [], []
    for part in np.array_split(np.arange(batch.num_rows), cuts):
        rows.append(anonymizer.push_batch(batch.slice(part[0], len(part))))
        traces.append(anonymizer.trace)
        if restored:
            again = Anonymizer(chosen)
            again.restore(anonymizer.snapshot())
            anonymizer = again
    rows.append(anonymizer.flush())
    traces.append(anonymizer.trace)
    assert isinstance(anonymizer.stats, Stats)
    table = pa.concat_tables(map(pa.Table.from_batches, ([each] for each in rows)), promote_options="permissive")
    return table, pa.Table.from_batches(traces), anonymizer.stats


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"time": "generalize"},
        {"time": "keep"},
        {"privacy": {"nulls_match": "maybe"}},
        {"privacy": {"nulls_match": "extended"}},
        {"privacy": {"one_in_k": False}},
        {"suppressed": "publish"},
        {"suppressed": "drop", "window": {"count": 5}},
        {"suppressed": "publish", "window": {"count": 5}},
        {"lanes": 2},
    ],
    ids=str,
)
def test_it_is_what_the_audit_counts(sections: dict[str, Any]) -> None:
    chosen = policy(**sections)
    for seed in range(4):
        batch = people(seed)
        rows, trace, stats = published(chosen, batch, cuts=1 + 3 * seed)
        report = audit(chosen, pa.Table.from_batches([batch]), rows, trace)
        assert isinstance(report, WindowReport) and stats.below_k is not None
        assert report.held and report.whole.below > 0
        assert (stats.below_k.rows, stats.below_k.of, stats.below_k.exact) == (report.whole.below, report.whole.rows, True)


def test_bytes_that_are_no_text_differ() -> None:
    draw = np.random.default_rng(5)
    plan = [bytes([0xFF, n % 2]) if n % 50 else b"\xfe" for n in range(300)]
    batch = people(4).set_column(4, "plan", pa.array(plan, pa.binary()))
    for kind in (pa.binary(), pa.large_binary()):
        kept = batch.set_column(4, "plan", batch.column(4).cast(kind))
        rows, trace, stats = published(policy(), kept, cuts=int(draw.integers(1, 5)))
        report = audit(policy(), pa.Table.from_batches([kept]), rows, trace)
        assert isinstance(report, WindowReport) and stats.below_k is not None
        assert stats.below_k.rows == report.whole.below > 0


def test_a_snapshot_carries_it() -> None:
    for sections in ({}, {"lanes": 2}):
        straight, resumed = (published(policy(**sections), people(1), 6, restored)[2] for restored in (False, True))
        assert straight.below_k == resumed.below_k


def test_records_one_by_one_count_as_in_one_batch() -> None:
    batch = people(2)
    alone = Anonymizer(policy())
    for record in batch.to_pylist():
        alone.push(record)
    alone.flush()
    assert isinstance(alone.stats, Stats) and alone.stats.below_k == published(policy(), batch)[2].below_k


def test_a_reason_may_come_or_go_between_snapshots() -> None:
    """The fingerprint of a policy does not depend on it, so a stream goes on."""
    reasoned, bare = policy({"keep": True, "because": "drawn at random"}), policy()
    batch = people(3)
    for before, after in ((reasoned, bare), (bare, reasoned)):
        first, second, whole = Anonymizer(before), Anonymizer(after), Anonymizer(after)
        left = first.push_batch(batch.slice(0, 150))
        second.restore(first.snapshot())
        rows = [left, second.push_batch(batch.slice(150)), second.flush()]
        assert sum(each.num_rows for each in rows) == batch.num_rows
        assert rows[1].schema.names == whole.push_batch(batch).schema.names
        assert isinstance(second.stats, Stats) and (second.stats.below_k is None) == (after is reasoned)


def test_the_run_says_it() -> None:
    chosen = policy()
    stats = published(chosen, people(0))[2]
    assert stats.below_k
    share = f"{stats.below_k.rows} ({100 * stats.below_k.rows / stats.below_k.of:.1f} %)"
    first = singled_out(chosen, stats)[0]
    assert first == f"with 'plan', published as it is, {share} rows look like fewer than 3 persons: no group hides it"
    both = policy(time="keep")
    assert singled_out(both, published(both, people(0))[2])[0].startswith("with 'ts' and 'plan', published as they are, ")
    reasoned = policy({"keep": True, "because": "drawn at random"})
    assert not any("look like" in line for line in singled_out(reasoned, published(reasoned, people(0))[2]))


def test_no_person_is_published() -> None:
    rows, _, _ = published(policy(), people(0))
    assert rows.schema.names == ["age", "city", "plan", "ill"]
