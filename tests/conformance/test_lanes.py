"""Lanes: every promise holds as with one, and neither threads nor batches change what leaves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Anonymizer, Policy
from shoal.algorithms import WINDOWED
from shoal.anonymizer import lane, lanes, split_tree, windowed
from shoal.anonymizer.lanes import SplitLanes
from shoal.conformance import promises, stronger
from shoal.conformance.cutting import is_the_same_in_batches, is_the_same_interrupted
from shoal.conformance.parameters import generated, promised
from shoal.conformance.streams import Stream, engine, policy_of
from tests.audit.base import FIELDS, judged_from_files, people
from tests.examples import examples
from tests.naive import Release


@pytest.fixture(autouse=True)
def quick_to_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_tree, "SAMPLE", 12)
    monkeypatch.setattr(split_tree, "_EACH", 1)
    monkeypatch.setattr(lanes, "_FEW", 0)
    monkeypatch.setattr(windowed, "_PIECE", 17)


def split(stream: Stream, count: int) -> Stream:
    """The same in lanes; in fewer, where a buffer has too little room."""
    kind, length = stream.window
    return stream._replace(lanes=min(count, int(length) // stream.k) if kind == "buffer" else count)


def in_order(releases: Sequence[Release]) -> list[Release]:
    """The same with groups numbered as they left."""
    numbers: dict[int | None, int | None] = {None: None}
    return [r._replace(cluster=numbers.setdefault(r.cluster, len(numbers) - 1)) for r in releases]


@pytest.mark.slow
@pytest.mark.streams
@pytest.mark.parametrize("count", [2, 8])
@pytest.mark.parametrize("name", WINDOWED)
def test_every_promise_holds(name: str, count: int) -> None:
    @examples(0.15)
    @given(generated(name))
    def holds(stream: Stream) -> None:
        stream = split(stream, count)
        anonymizer = Anonymizer(policy_of(name, stream))
        promises.check(stream, in_order(engine(anonymizer, stream)), name)
        assert anonymizer.stats.faults == {}
        assert anonymizer.stats.held == 0

    holds()


@pytest.mark.streams
@pytest.mark.parametrize("name", WINDOWED)
def test_stronger_promises_hold(name: str) -> None:
    @examples(0.13)
    @given(promised(name), st.sampled_from([2, 5]))
    def hold(stream: Stream, count: int) -> None:
        stream = split(stream._replace(stretch=1), count)
        releases = in_order(engine(Anonymizer(policy_of(name, stream)), stream))
        stronger.check(stream, releases, name)
        if stream.window[0] == "count":
            shown = stronger.Values(stream)
            for step in promises.steps(releases):
                shown.add(step, (int(step[0].released), int(step[0].released) + 1))

    hold()


@pytest.mark.slow
@pytest.mark.streams
@pytest.mark.parametrize("name", WINDOWED)
def test_batches_equal_single_records(name: str) -> None:
    @examples(0.1)
    @given(generated(name), st.sampled_from([2, 5]))
    def equal(stream: Stream, count: int) -> None:
        is_the_same_in_batches(policy_of(name, split(stream, count)), stream)

    equal()


@pytest.mark.slow
@pytest.mark.streams
@pytest.mark.parametrize("name", ["castle", "fads", "tide", "xband"])
def test_snapshot_and_restore_go_on_as_if_nothing_had_been(name: str) -> None:
    @examples(0.06)
    @given(generated(name), st.sampled_from([2, 5]), st.data())
    def equal(stream: Stream, count: int, data: st.DataObject) -> None:
        is_the_same_interrupted(policy_of(name, split(stream, count)), stream, data)

    equal()


@pytest.mark.parametrize("seed", [1, 8, 10])
def test_when_room_is_made_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tuples that are handed over may be older than those in X-BAND's pocket, and stay behind it when all move."""
    rest = "{count: 60}, lanes: 24, algorithm: {name: xband, reuse_age: 30}}"
    fields = "x: {quasi: numeric, range: [0, 1000]}, y: {quasi: numeric, range: [0, 1000]}, id: {publish: keep}"
    policy = Policy.parse(f"{{person: pid, attributes: {{{fields}}}, privacy: {{k: 3}}, window: {rest}")
    draw, size = np.random.default_rng(seed), 400
    x, y = draw.integers(0, 1000, (2, size)).astype(float)
    values = {name: pa.array(column, mask=draw.random(size) < 0.3) for name, column in (("x", x), ("y", y))}
    batch = pa.record_batch({"pid": np.arange(size), **values, "id": np.arange(size)})
    answers = []
    for slots in (1, 4096):
        monkeypatch.setattr(lane, "_SLOTS", slots)
        anonymizer = Anonymizer(policy)
        answers.append([*anonymizer.push_batch(batch).to_pylist(), *anonymizer.flush().to_pylist()])
    assert answers[0] == answers[1]


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    records = people(300, 80)
    answers = []
    for threads in (1, 2, 2):
        monkeypatch.setattr(lanes, "cores", lambda threads=threads: threads)
        rest = "privacy: {k: 3}\nwindow: {count: 40}\nlanes: 5\nalgorithm: {name: fads}"
        anonymizer = Anonymizer(Policy.parse(FIELDS + rest))
        left = [anonymizer.push_batch(pa.RecordBatch.from_pylist(records[i : i + 100])) for i in (0, 100, 200)]
        answers.append([batch.to_pylist() for batch in [*left, anonymizer.flush()]])
    assert answers[0] == answers[1] == answers[2]


def test_pieces_of_which_nothing_is_accepted_decide_no_type() -> None:
    records = [{**one, "note": i, "age": 1000 if i < 40 else one["age"]} for i, one in enumerate(people(60, 60))]
    rest = (
        "  note: {publish: keep}\nprivacy: {k: 3}\nsuppressed: publish\nwindow: {count: 12}\nlanes: 2\nalgorithm: {name: fads}"
    )
    anonymizer = Anonymizer(Policy.parse(FIELDS + rest))
    left = [anonymizer.push_batch(pa.RecordBatch.from_pylist(records)), anonymizer.flush()]
    assert sorted(pa.concat_batches(left).column("note").to_pylist()) == list(range(40, 60))


@pytest.mark.parametrize("count", [2, 8])
@pytest.mark.parametrize("name", WINDOWED)
def test_the_judge_finds_nothing(name: str, count: int, tmp_path: Path) -> None:
    """Persons who come back, what is asked of sensitive values, and the default reading of nulls."""
    rest = f"privacy: {{k: 4, l: 2, t: 0.9}}\nwindow: {{count: 40}}\nlanes: {count}\nalgorithm: {{name: {name}}}"
    report = judged_from_files(Policy.parse(FIELDS + rest), people(150, 50), tmp_path)
    assert [finding for finding in report.promises if finding.verdict == "broken"] == []
    assert report.held


def test_thin_lanes_hand_over_and_their_wait_goes_on() -> None:
    """Of 30 tuples two lie apart, in a lane of their own; they leave with others, within the window."""
    policy = Policy.parse(
        "{person: pid, attributes: {x: {quasi: numeric, range: [0, 100]}}, privacy: {k: 4}, window: {count: 20}, "
        "lanes: 2, algorithm: {name: fads}}"
    )
    anonymizer = Anonymizer(policy)
    whole: SplitLanes = anonymizer._engine._lane  # type: ignore[attr-defined]
    values = [*np.tile([10, 90], 6).tolist(), *([10] * 40)]
    values[20] = values[24] = 90
    traces = []
    for number, value in enumerate(values):
        anonymizer.push({"pid": number, "x": value})
        traces += anonymizer.trace.to_pylist()
        if number == 29:
            assert 20 in whole._lanes[1].state.window.arrival[: whole._lanes[1].held]
        if number == 30:
            assert whole._lanes[1].held == 1
            assert 20 in whole._common.state.window.arrival[: whole._common.held]
    waits = {left["row"]: left["released"] - left["arrived"] for left in traces}
    assert waits[20] <= 20 and waits[24] <= 20
    assert anonymizer.stats.faults == {}


def test_it_learns_anew_when_asked() -> None:
    """A stream that moves to where the old tree does not divide it takes one lane, until a tree is learned again."""
    policy = Policy.parse(
        "{person: pid, attributes: {x: {quasi: numeric, range: [0, 100]}}, privacy: {k: 2}, window: {count: 20}, "
        "lanes: 2, algorithm: {name: fads}}"
    )
    anonymizer = Anonymizer(policy)
    whole: SplitLanes = anonymizer._engine._lane  # type: ignore[attr-defined]
    draw = np.random.default_rng(5)

    def push(low: float, high: float, count: int) -> tuple[int, int]:
        """The most that each lane held while the last 20 came."""
        held = []
        for value in draw.uniform(low, high, count).tolist():
            anonymizer.push({"pid": value, "x": value})
            held.append([lane.held for lane in whole._lanes])
        return tuple(np.max(held[-20:], axis=0).tolist())

    assert min(push(0, 50, 60)) > 0
    assert push(60, 100, 60)[0] == 0
    anonymizer.relearn()
    saved = anonymizer.snapshot()
    anonymizer.restore(saved)
    whole = anonymizer._engine._lane  # type: ignore[attr-defined]
    assert min(push(60, 100, 60)) > 0
