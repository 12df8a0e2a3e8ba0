"""The filter as an anonymizer: what comes out, what is refused, how much it keeps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from naive.zanon import Observation
from observations.base import SECRET, TREE, batch, policy, pushed
from shoal import Anonymizer, FilterStats, Policy, SnapshotError
from shoal.algorithms.zanon import exposures
from shoal.anonymizer import filter as engine_module
from shoal.anonymizer.filter import Filter

LATE = "more than a window older than the newest of its item; sort the stream, or use a longer algorithm.window"


def test_what_is_published_and_in_what_order() -> None:
    rule = Policy.parse({
        "person": "user", "time": {"field": "t"}, "item": {"field": "site"},
        "attributes": {"note": {"publish": "keep"}, "plan": {"sensitive": True}},
        "algorithm": {"name": "zanon", "z": 2, "window": 10},
    })  # fmt: skip
    times = [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in (0, 1, 1, 2)]
    stream = pa.record_batch({
        "extra": [1, 2, 3, 4], "site": pa.array(["a", "b", "a", "a"]).dictionary_encode(), "plan": ["x", "y", None, "x"],
        "note": [1, 2, 3, None], "user": ["u", "v", "w", "u"], "t": pa.array(times, pa.timestamp("ms", "UTC")),
    })  # fmt: skip
    anonymizer = Anonymizer(rule)
    published = anonymizer.push_batch(stream)
    assert published.schema.names == ["t", "user", "site", "note", "plan"]
    assert published.schema.field("t").type == stream.schema.field("t").type
    assert published.column("t").to_pylist() == times[2:]
    assert published.column("site").to_pylist() == ["a", "a"]
    assert published.column("note").to_pylist() == [3, None]
    assert published.column("plan").to_pylist() == [None, "x"]
    assert anonymizer.trace.to_pylist() == [{"row": row, "how": "released", "z": 2} for row in (2, 3)]
    assert anonymizer.flush().schema == published.schema
    assert (anonymizer.flush().num_rows, anonymizer.tick(1e10).num_rows, anonymizer.trace.num_rows) == (0, 0, 0)


def test_fields_inside_fields_stay_with_their_rows() -> None:
    rule = Policy.parse({
        "person": "p.user", "time": {"field": "p.t"}, "item": {"field": "p.site"},
        "algorithm": {"name": "zanon", "z": 2, "window": 10},
    })  # fmt: skip
    rows = [("u", "a"), ("v", "b"), ("w", "a"), ("u", "a")]
    stream = pa.RecordBatch.from_pylist([{"p": {"t": t, "user": user, "site": site}} for t, (user, site) in enumerate(rows)])
    published = Anonymizer(rule).push_batch(stream)
    assert published.column("p.t").to_pylist() == [2, 3]
    assert published.column("p.site").to_pylist() == ["a", "a"]
    assert len(set(published.column("p.user").to_pylist())) == 2


def test_a_single_record_and_the_figures() -> None:
    anonymizer = Anonymizer(policy(2, 5, tree=TREE, withheld="blank"))
    assert anonymizer.push({"t": 0, "user": 1, "site": "news.bbc"})[0]["site"] is None
    assert anonymizer.push({"t": 0, "user": 2, "site": "sport.bbc"})[0]["site"] == "bbc"
    assert anonymizer.push({"t": 0, "user": 3, "site": "bbc"})[0]["site"] == "bbc"
    assert anonymizer.push({"t": 0, "user": 3, "site": "elsewhere"})[0]["site"] is None
    assert anonymizer.push({"t": 0, "site": "bbc"}) == []
    assert anonymizer.stats == FilterStats(
        received=5, rejected=1, reasons={"'user': the person is missing; give one": 1}, released=2, generalized=1,
        withheld=2, z=2,
    )  # fmt: skip


def test_what_is_rejected_tells_no_value() -> None:
    anonymizer = Anonymizer(policy(1, 5))
    rows: list[dict[str, Any]] = [
        {"t": 100, "user": "Agnes", "site": "secret.example"}, {"t": 94, "user": "Agnes", "site": "secret.example"},
        {"t": None, "user": "Agnes", "site": "secret.example"}, {"t": "Agnes", "user": 1, "site": "secret.example"},
        {"t": 100, "user": "", "site": "secret.example"}, {"t": 100, "user": "Agnes", "site": None},
        {"t": 100, "user": b"\xff", "site": "secret.example"},
    ]  # fmt: skip
    said = []
    for row in rows:
        anonymizer.push(row)
        said += [str(rejection) for rejection in anonymizer.rejected]
    assert said == [
        f"row 2, 't': {LATE}",
        "row 3, 't': the time is missing; every record needs one",
        "row 4, 't': not a time (value withheld); give seconds or ISO 8601",
        "row 5, 'user': the person is missing; give one",
        "row 6, 'site': the item is missing; give one",
        "row 7, 'user': bytes that are not UTF-8 (value withheld); give text",
    ]
    assert not any(word in " ".join(said) for word in ("Agnes", "secret.example", "94", SECRET))


def test_rejections_of_a_batch_come_in_order_of_rows() -> None:
    anonymizer = Anonymizer(policy(1, 5))
    stream = pa.record_batch({"t": [9, 0, None, 9], "user": [1, 1, 1, None], "site": ["a", "a", "a", "a"]})
    anonymizer.push_batch(stream, np.array([10, 20, 30, 40]))
    assert [rejection.row for rejection in anonymizer.rejected] == [20, 30, 40]


def test_a_snapshot_goes_with_its_policy() -> None:
    with pytest.raises(SnapshotError):
        Anonymizer(policy(2, 5)).restore(Anonymizer(policy(3, 5)).snapshot())


def engine(anonymizer: Anonymizer) -> Filter:
    assert isinstance(anonymizer._engine, Filter)
    return anonymizer._engine


@pytest.mark.slow
@pytest.mark.parametrize("z", [3, {"auto": {"k": 2, "probability": 0.9}, "floor": 3}])
def test_memory_does_not_grow_with_the_stream(z: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users and items come and never come back; after a few windows the arrays stay as they are."""
    monkeypatch.setattr(exposures, "ROOM", 65_536)
    anonymizer, rng, sizes = Anonymizer(policy(z, 100)), np.random.default_rng(1), []
    for step in range(40):
        time = np.sort(rng.uniform(step * 100, (step + 1) * 100, 20_000))
        user = rng.integers(0, 5_000, 20_000) + step * 4_000
        site = rng.zipf(1.3, 20_000) % 1_000_000 + step * 3_000
        anonymizer.push_batch(pa.record_batch({"t": time, "user": user, "site": site}))
        x = engine(anonymizer)._exposures
        sizes.append(sum(array.nbytes for array in x if isinstance(array, np.ndarray)))
    assert sizes[-1] == sizes[9]
    counters = engine(anonymizer)._exposures.counters
    assert counters.held < 200_000 and counters.items < 100_000


def test_items_do_not_keep_the_room_they_once_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty items, all of them always there, take turns at being popular."""
    monkeypatch.setattr(engine_module, "PAUSE", 100)
    anonymizer = Anonymizer(policy(1, 1))
    for turn in range(60):
        site = [*[turn % 30] * 512, *range(30)]
        seen = {"t": np.full(len(site), 1.5 * turn), "user": np.arange(len(site)), "site": np.array(site)}
        anonymizer.push_batch(pa.record_batch(seen))
    x = engine(anonymizer)._exposures
    assert x.items["size"][: int(x.counters.fresh_item)].sum() < 30 * 512 / 3
    assert x.counters.fresh < 30 * 512


def test_a_long_stream_of_two_users() -> None:
    seen = [Observation(float(t), 1 + t % 2, "a") for t in range(30_000)]
    anonymizer = Anonymizer(policy(2, 1))
    assert len(pushed(anonymizer, seen, range(0, 30_000, 700))) == 29_999
    assert engine(anonymizer)._exposures.counters.held == 2


def test_an_empty_batch() -> None:
    anonymizer = Anonymizer(policy())
    assert anonymizer.push_batch(batch([])).num_rows == 0
    assert anonymizer.stats.received == 0


@pytest.mark.parametrize("withheld", ["drop", "blank"])
def test_what_is_withheld_is_in_no_dictionary(withheld: str) -> None:
    time = pa.array(["2025-01-01T00:00:00Z", "2025-01-01T00:00:01Z", "2025-01-01T00:00:02Z", "2025-01-01T00:00:03Z"])
    site = pa.array(["bbc", "bbc", "secret", "bbc"])
    users = pa.array(["ann", "bo", "ann", "cy"])
    came = {"t": time.dictionary_encode(), "user": users.dictionary_encode(), "site": site.dictionary_encode()}
    published = Anonymizer(policy(z=2, withheld=withheld)).push_batch(pa.RecordBatch.from_pydict(came))
    shown = [column for column in published.columns if pa.types.is_dictionary(column.type)]
    assert len(shown) >= 2
    for column in shown:
        assert set(column.dictionary.to_pylist()) == set(column.to_pylist()) - {None}
    assert published.column("site").to_pylist() == {"drop": ["bbc", "bbc"], "blank": [None, "bbc", None, "bbc"]}[withheld]
