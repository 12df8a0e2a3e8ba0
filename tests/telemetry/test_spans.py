"""The last hour and day, a log and checks: what is kept over a restart, and what is said when."""

from __future__ import annotations

import json
import math
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal import Anonymizer, Policy
from shoal.telemetry import HISTORY, Bounds, Telemetry, keeping
from shoal.telemetry.arrivals import Arrivals
from shoal.telemetry.checks import sink_check
from shoal.telemetry.spans import SPANS, Spans
from tests.web.base import POLICY, Clock, people, policy

IN, HELD = HISTORY.index("in"), HISTORY.index("held")


class Day:
    """A stream of which a second passes when a test says so; the time of day goes with it."""

    def __init__(self, **more: Any) -> None:
        self.clock = Clock()
        self.anonymizer = Anonymizer(policy())
        self.telemetry = Telemetry(policy(), clock=self.clock, today=lambda: 1e9 + self.clock.now, **more)

    def take(self, size: int, seconds: float = 1, seed: int = 0, **changes: Any) -> None:
        if size:
            batch = people(size, seed, **changes)
            self.telemetry.after(self.anonymizer, self.anonymizer.push_batch(batch))
        self.clock.now += seconds
        self.telemetry.advance()

    def levels(self) -> dict[str, str]:
        return {name: check["level"] for name, check in self.telemetry.snapshot()["checks"].items()}

    def log(self) -> list[tuple[str, str]]:
        entries = self.telemetry.snapshot(logged=-1)["log"]["entries"]
        return [(entry["level"], entry["text"]) for entry in entries]


def test_an_hour_and_a_day_are_means_of_the_seconds_and_bounded() -> None:
    day = Day()
    for second in range(480):
        day.take(10 if second < 240 else 0, seed=second)
    hour, whole = day.telemetry.span("hour"), day.telemetry.span("day")
    assert [row[IN] for row in hour["rows"]] == [10] * 24 + [0] * 24
    assert [row[IN] for row in whole["rows"]] == [10, 0]
    assert whole["begun"] == day.telemetry.snapshot()["begun"]
    day.take(0, 10**7)
    for name, (step, rows) in SPANS.items():
        told = day.telemetry.span(name)
        assert len(told["rows"]) == rows
        assert told["begun"] + step * rows == pytest.approx(1e9 + day.clock.now, abs=step)


def test_spans_are_the_same_after_a_restart() -> None:
    random = np.random.default_rng(0)
    straight, first = Spans(["a", "b"], ["b"]), Spans(["a", "b"], ["b"])
    rows = random.random((700, 2))
    for row in rows[:500]:
        straight.add(row)
        first.add(row)
    second = Spans(["a", "b"], ["b"])
    second.restore(json.loads(json.dumps(first.saved())), gap=60)
    straight.skip(60)
    for row in rows[500:]:
        straight.add(row)
        second.add(row)
    assert straight.next == second.next
    for name in SPANS:
        (begin, expected), (other, found) = straight.of(name), second.of(name)
        assert begin == other
        changed = np.flatnonzero(~np.isclose(expected, found, rtol=1e-3, equal_nan=True).all(axis=1))
        assert set(changed) <= {500 // SPANS[name][0]}  # the row that was not complete
    assert np.allclose(straight.since(0)[1], second.since(0)[1], rtol=1e-3, equal_nan=True)


def test_what_is_kept_outlives_the_process_and_no_other(tmp_path: Path) -> None:
    day = Day()
    with keeping(day.telemetry, tmp_path):
        for second in range(30):
            day.take(7, seed=second)
    assert list(tmp_path.iterdir()) == []  # it never ran, so the folder may be another's
    with keeping(day.telemetry, tmp_path):
        day.telemetry.started()
        day.take(7)
        day.telemetry.stopped("it was asked to stop")
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    later = Day()
    later.clock.now = day.clock.now + 40
    again = Telemetry(policy(), clock=later.clock, today=lambda: 1e9 + later.clock.now)
    with keeping(again, tmp_path):
        again.started(day.anonymizer.stats)
        later.clock.now += 2
        assert again.snapshot()["rates"]["in"] == 0
        rows = again.snapshot()["history"]["rows"]
        assert [row[IN] for row in rows] == [7] * 31 + [None] * 40 + [0] * 2
        assert again.snapshot()["history"]["begun"] == pytest.approx(day.telemetry.snapshot()["begun"])
        texts = [entry["text"] for entry in again.log.entries()]
        assert texts == [
            "The pipeline has started.",
            "The pipeline has stopped: it was asked to stop.",
            "The pipeline continues.",
        ]
    file.write_text("{")
    with keeping(Telemetry(policy()), tmp_path):
        pass  # what cannot be read is left


@pytest.mark.parametrize(
    "damage",
    [
        {"log": [{"text": "The pipeline has started."}]},
        {"log": "none"},
        {"at": math.inf},
        {"losses": [1]},
        {"history": {"names": list(HISTORY), "next": 5000, "rows": [], "spans": {}}},
    ],
)
def test_damaged_figures_are_left_as_a_whole(tmp_path: Path, damage: dict[str, Any]) -> None:
    day = Day()
    day.take(7)
    (tmp_path / "figures").write_text(json.dumps({**day.telemetry.saved(), **damage}))
    later = Day()
    with keeping(later.telemetry, tmp_path):
        for second in range(4):
            later.take(7, seed=second)
        history = later.telemetry.snapshot()["history"]
        assert (history["first"], [row[IN] for row in history["rows"]]) == (0, [7] * 4)


def test_rejects_above_a_bound_are_amber_then_red_then_fine() -> None:
    day = Day()
    for second in range(60):
        day.take(40, seed=second)
    assert day.levels()["rejected"] == "info"
    day.take(40, age=[300] * 40)
    assert day.levels()["rejected"] == "amber"
    for second in range(8):
        day.take(40, age=[300] * 40, seed=second)
    assert day.levels()["rejected"] == "red"
    for second in range(80):
        day.take(40, seed=second)
    assert day.levels()["rejected"] == "info"
    told = [(level, text.split("%")[1]) for level, text in day.log() if "rejected" in text]
    assert [level for level, _ in told] == ["amber", "red", "info"]
    assert {text for _, text in told} == {" of the last minute's records were rejected."}


def test_a_share_just_below_all_is_not_written_as_a_power_of_ten() -> None:
    assert sink_check(0.997, Bounds()).text == "The pipeline waits for its sink 99.7 % of the time."


def test_a_lost_connection_is_red_and_said_once() -> None:
    links: dict[str, bool | None] = {"source": True, "sink": None}
    day = Day(links=lambda: links)
    day.take(5)
    links["source"] = False
    for _ in range(5):
        day.take(0)
    assert (day.levels()["source"], "sink" in day.levels()) == ("red", False)
    links["source"] = True
    for _ in range(12):
        day.take(0)
    said = [("red", "The source has lost its connection."), ("info", "The source is connected.")]
    assert [entry for entry in day.log() if "source" in entry[1]] == said


def test_back_pressure_is_told_while_a_write_still_lasts() -> None:
    day = Day()
    for _ in range(10):
        day.telemetry.phase("source")
        day.take(0, 0.75)
        day.telemetry.phase("work")
        day.take(0, 0.25)
    assert day.telemetry.snapshot()["shares"]["source"] == pytest.approx(0.75, abs=0.03)
    day.telemetry.phase("sink")
    for _ in range(12):
        day.take(0)
    assert day.telemetry.snapshot()["shares"] == {"source": 0, "sink": 1}
    assert day.levels()["backpressure"] == "red"


def test_checkpoints_that_fail_or_are_late() -> None:
    day = Day(checkpoint=5.0)
    day.telemetry.started()
    day.telemetry.checkpointed(0.1, 10)
    day.take(0, 15)
    assert day.levels()["checkpoint"] == "info"
    day.take(0, 6)
    assert day.levels()["checkpoint"] == "amber"
    day.telemetry.failed("state: cannot be written (no space left on device)")
    assert day.log()[-1] == ("red", "A checkpoint could not be written: state: cannot be written (no space left on device).")


def test_fields_that_came_or_went_are_said_without_their_names_if_these_may_be_data() -> None:
    day = Day()
    day.take(5)
    batch = people(5).append_column("PLANTED", people(5).column("note")).drop_columns(["weight"])
    day.telemetry.after(day.anonymizer, day.anonymizer.push_batch(batch))
    day.take(0)
    texts = [text for level, text in day.log() if level == "amber"]
    new = "Records have fields that the first ones did not have; these are not published."
    assert texts == [new, "Records lack fields of the policy: weight."]


def test_waits_by_the_wall_clock_with_their_tolerance() -> None:
    timed = Policy.parse(f"time: {{field: t}}\n{POLICY.replace('count: 200', 'time: 10s')}")
    clock = Clock()
    anonymizer, telemetry = Anonymizer(timed), Telemetry(timed, clock=clock, tick=0.1)
    telemetry.started()
    for _ in range(60):
        batch = people(20).append_column("t", [clock.now] * 20)
        telemetry.after(anonymizer, anonymizer.push_batch(batch))
        for _ in range(10):
            clock.now += 0.1
            telemetry.after(anonymizer, anonymizer.tick(clock.now))
    wall = telemetry.snapshot()["wall"]
    assert wall["deadline"] == 10 and wall["tolerance"] == pytest.approx(0.36)
    assert 10 <= wall["longest"] <= 10.11
    assert sum(wall["total"]) == anonymizer.stats.released and wall["total"][-1] == 0
    assert telemetry.snapshot()["checks"]["wait"]["level"] == "info"
    clock.now += 20  # nothing ticks, so what waits is late
    telemetry.after(anonymizer, anonymizer.tick(clock.now))
    clock.now += 1
    told = telemetry.snapshot()
    assert told["wall"]["recent"][-1] > 0 and told["checks"]["wait"]["level"] == "red"


def test_arrivals_take_bounded_memory_and_stay_within_their_step() -> None:
    arrivals, truth = Arrivals(coarsest=0.4, most=64), {}
    random = np.random.default_rng(1)
    now, row = 0.0, 0
    held: list[int] = []
    for _ in range(2000):
        now += 0.03
        for _ in range(3):
            truth[row] = now
            held.append(row)
            row += 1
        arrivals.came(row, 3, now)
        assert len(arrivals._times) <= 64
        if len(held) > 150:
            random.shuffle(held)
            leaving, held = held[:120], held[120:]
            waits = arrivals.left(np.array(leaving), now)
            exact = np.array([now - truth[each] for each in leaving])
            assert len(waits) == len(exact) and (waits - exact >= -1e-9).all() and (waits - exact <= arrivals.step).all()
