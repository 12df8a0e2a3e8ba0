"""Times that lie: records from the future, rejected records, and a clock that was moved ahead."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.anonymizer import Anonymizer
from shoal.audit import audit
from shoal.files.pace import Pace
from shoal.formats import Block
from shoal.pipeline import Pipe, PipelineFile
from shoal.policy import Policy

from .base import POLICY, Crash, lines, place, record

LETTERS = "dead_letters: {file: dead.jsonl}"
ZANON = """
person: pid
item: {field: disease}
time: {field: t}
algorithm: {name: zanon, z: 2, window: 100s, secret_file: secret}
"""
YEARS = 10 * 365 * 86_400.0


def letters(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "dead.jsonl").read_text().splitlines()]


def stream(now: float, wrong: dict[str, Any] | None = None, count: int = 40) -> str:
    """Records of the last seconds; the sixth may be wrong."""
    good = [record(i, now - 4 + i / 10) for i in range(count)]
    return lines([*good[:5], *([wrong] if wrong else []), *good[5:]])


class TestAhead:
    """A record whose time is far ahead is rejected, and does not move the clock."""

    @pytest.mark.parametrize("more", ["", "late: {allow: 1s, then: reject}"])
    def test_it_is_a_dead_letter_and_all_others_are_accepted(self, tmp_path: Path, more: str) -> None:
        now = time.time()
        file = place(tmp_path, more=f"{LETTERS}\n{more}")
        (tmp_path / "raw.jsonl").write_text(stream(now, record(7, now + YEARS)))
        stats = Pipe(file).run()
        (letter,) = letters(tmp_path)
        assert (letter["row"], letter["field"]) == (6, "t") and stats.released == 40
        assert letter["reason"] == "more than 3600 s ahead of the clock; set the sender's clock, or raise ahead.allow"

    def test_what_waits_goes_on_waiting(self, tmp_path: Path) -> None:
        now = time.time()
        file = place(tmp_path, window="{time: 1h}", follow=True)
        (tmp_path / "raw.jsonl").write_text(stream(now, record(7, now + YEARS)))
        pipe = Pipe(file)
        after_first_delivery(pipe, pipe.stop)
        stats: Any = pipe.run()
        assert (stats.held, stats.released, stats.rejected) == (40, 0, 1)

    def test_the_bound_is_the_files(self, tmp_path: Path) -> None:
        now = time.time()
        (tmp_path / "raw.jsonl").touch()
        for more, rejected in (("ahead: {allow: 2h}", 0), ("ahead: {allow: 10m}", 1), ("ahead: {then: accept}", 0)):
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            file = place(folder, more=more)
            (folder / "raw.jsonl").write_text(stream(now, record(7, now + 5400)))
            assert Pipe(file).run().rejected == rejected

    def test_a_replay_rejects_the_same(self, tmp_path: Path) -> None:
        """By the time of day at which a record was read, not by that of the replay."""
        file = place(tmp_path, window="{count: 1000}", follow=True)
        (tmp_path / "raw.jsonl").write_text(stream(1000.0, record(7, 1000.0 + 7200)))
        pipe = Pipe(file, today=lambda: 1000.0)
        after_first_delivery(pipe, crash)
        with pytest.raises(Crash):
            pipe.run()
        again = Pipe(file, today=lambda: 1e9)
        again.stop(drain=True)
        stats = again.run()
        assert (stats.rejected, stats.released) == (1, 40)

    def test_z_anonymity(self, tmp_path: Path) -> None:
        now = time.time()
        file = zanon_place(tmp_path)
        observed = [record(i, now - 50 + i / 10, disease="d") for i in range(401)]
        observed[1] = record(1, now + YEARS, disease="d")
        (tmp_path / "raw.jsonl").write_text(lines(observed))
        stats = Pipe(file).run()
        assert stats.rejected == 1 and stats.released == 399  # all but the first, which was alone


def zanon_place(folder: Path) -> PipelineFile:
    file = place(folder)
    (folder / "policy.yaml").write_text(ZANON)
    (folder / "secret").write_text("a secret of many bytes")
    return file


@pytest.mark.parametrize("wrong", [{"age": 999}, {"city": "Atlantis"}, {"pid": None}])
@pytest.mark.parametrize("more", ["", "late: {allow: 1s, then: reject}"])
def test_times_of_rejected_records_do_not_count(tmp_path: Path, wrong: dict[str, Any], more: str) -> None:
    now = time.time()
    file = place(tmp_path, window="{time: 1h}", follow=True, more=more)
    (tmp_path / "raw.jsonl").write_text(stream(now, record(7, now + 1800, **wrong)))
    pipe = Pipe(file)
    after_first_delivery(pipe, pipe.stop)
    stats: Any = pipe.run()
    assert (stats.held, stats.released, stats.rejected) == (40, 0, 1)
    assert pipe._clock.now == pytest.approx(now, abs=20)


class TestSetClock:
    """A clock that was moved ahead, by a record that was accepted, is set back; the state stays."""

    def poisoned(self, folder: Path, more: str = "") -> PipelineFile:
        file = place(folder, window="{time: 1h}", follow=True, more=f"ahead: {{then: accept}}\n{more}")
        (folder / "raw.jsonl").write_text(stream(1000.0, record(7, YEARS)))
        pipe = Pipe(file)
        after_first_delivery(pipe, pipe.stop)
        pipe.run()
        return file

    def test_records_are_accepted_again(self, tmp_path: Path) -> None:
        file = self.poisoned(tmp_path, "late: {allow: 1s, then: reject}")
        (tmp_path / "raw.jsonl").open("a").write(lines(record(i, 1010.0) for i in range(9)))
        pipe = Pipe(file)
        pipe.set_clock(1005.0)
        after_first_delivery(pipe, pipe.stop)
        stats: Any = pipe.run()
        assert stats.rejected == 35 and stats.held == 10  # what came after the poison; nothing since

    def test_what_waits_leaves_at_its_time(self, tmp_path: Path) -> None:
        """A tuple that arrived at the wrong time has waited no longer than before."""
        file = self.poisoned(tmp_path)
        pipe = Pipe(file)
        pipe.set_clock(1005.0)
        pipe.stop(drain=False)
        pipe.run()
        anonymizer = pipe.anonymizer
        held = anonymizer.stats.held  # type: ignore[union-attr]
        assert held == 36
        assert len(anonymizer.tick(1005.0 + 3590)) == 0
        assert len(anonymizer.tick(1005.0 + 3610)) == held
        assert max(anonymizer.trace.column("released").to_pylist()) == pytest.approx(4615)

    def test_it_stays_set_after_a_checkpoint(self, tmp_path: Path) -> None:
        file = self.poisoned(tmp_path)
        for clock in (1005.0, None):
            pipe = Pipe(file)
            if clock is not None:
                pipe.set_clock(clock)
            pipe.stop(drain=False)
            pipe.run()
        assert len(pipe.anonymizer.tick(1005.0 + 3590)) == 0
        assert len(pipe.anonymizer.tick(1005.0 + 3610)) == 36

    def test_it_stays_set_over_a_crash(self, tmp_path: Path) -> None:
        file = self.poisoned(tmp_path)
        pipe = Pipe(file)
        pipe.set_clock(1005.0)
        pipe._flow = crash  # type: ignore[method-assign, assignment]
        with pytest.raises(Crash):
            pipe.run()
        again = Pipe(file, monotonic=lambda: 0.0)
        again.stop()
        again.run()
        assert again._clock.now == pytest.approx(1005.0)

    def test_a_clock_that_is_not_ahead_stays(self, tmp_path: Path) -> None:
        file = place(tmp_path, 10, follow=True)
        pipe = Pipe(file, monotonic=lambda: 0.0)
        after_first_delivery(pipe, pipe.stop)
        pipe.run()
        again = Pipe(file, monotonic=lambda: 0.0)
        again.set_clock(5000.0)
        again.stop()
        again.run()
        assert again._clock.now == pytest.approx(0.9)

    def test_z_anonymity_forgets_what_was_exposed_later(self) -> None:
        policy = Policy.parse(ZANON.replace(", secret_file: secret", ""))
        anonymizer = Anonymizer(policy, secret=b"a secret of many bytes")

        def push(pid: int, moment: float) -> int:
            return len(anonymizer.push({"pid": pid, "disease": "d", "t": moment}))

        assert [push(1, 10.0), push(2, 20.0), push(3, 1e6)] == [0, 1, 0]
        assert push(4, 30.0) == 0 and anonymizer.rejected
        anonymizer.set_clock(25.0)
        assert push(5, 31.0) == 0 and not anonymizer.rejected  # what was exposed before is forgotten by now
        assert push(6, 32.0) == 1 and anonymizer.sizes["exposures"] == 2


def after_first_delivery(pipe: Pipe, then: Any) -> None:
    deliver = pipe._deliver

    def delivered(*arguments: Any) -> None:
        deliver(*arguments)
        then()

    pipe._deliver = delivered  # type: ignore[method-assign]


def crash(*_: Any) -> None:
    raise Crash


class TestPace:
    """`shoal run --ahead`: a record that the stream does not follow. A gap is none."""

    def ran(self, folder: Path, moments: list[float], ahead: float | None = 3600) -> Any:
        place(folder)
        (folder / "raw.jsonl").write_text(lines(record(i, moment) for i, moment in enumerate(moments)))
        files = folder / "raw.jsonl", folder / "run.jsonl"
        stats = shoal.run(folder / "policy.yaml", *files, trace=folder / "run.trace.jsonl", ahead=ahead)
        report = audit(folder / "policy.yaml", *files, trace=folder / "run.trace.jsonl", ahead=ahead)
        assert report.held, report.to_dict()
        return stats

    def test_a_record_from_the_future(self, tmp_path: Path) -> None:
        moments = [i / 10 for i in range(300)]
        moments[0] = moments[150] = moments[151] = YEARS
        assert self.ran(tmp_path, moments).rejected == 3

    def test_a_gap(self, tmp_path: Path) -> None:
        moments = [i / 10 + (86_400 if i >= 200 else 0) + (86_400 if i == 299 else 0) for i in range(300)]
        assert self.ran(tmp_path, moments).rejected == 0

    def test_over_the_borders_of_blocks(self) -> None:
        policy = Policy.parse(POLICY.format(window="{time: 3s}"))
        moments = [i / 10 for i in range(500)]
        for at in (99, 100, 350, 498):
            moments[at] = YEARS
        for size in (1, 7, 100, 500):
            blocks = [
                Block(pa.record_batch({"t": moments[i : i + size]}), np.arange(i, min(i + size, 500)), [])
                for i in range(0, 500, size)
            ]
            found = list(Pace(policy, 3600).blocks(blocks))
            assert [row for block in found for row, _ in block.bad] == [99, 100, 350, 498]
            assert sum(len(block.rows) for block in found) == 496


def test_the_judge_counts_times_of_accepted_records_alone(tmp_path: Path) -> None:
    """Under `late` too: a rejected record with a later time makes no other late."""
    now = time.time()
    file = place(tmp_path, more="late: {allow: 1s, then: reject}")
    wrong = lines([record(7, now + 1800, age=999), record(8, now + YEARS)])
    good = stream(now, count=200).splitlines(keepends=True)
    (tmp_path / "raw.jsonl").write_text("".join([*good[:5], wrong, *good[5:]]))
    assert Pipe(file).run().rejected == 2
    names = ("policy.yaml", "raw.jsonl", "clean.jsonl", "trace.jsonl")
    assert audit(*(tmp_path / name for name in names), late=1, ahead=3600).held
    assert not audit(*(tmp_path / name for name in names), late=1).held
