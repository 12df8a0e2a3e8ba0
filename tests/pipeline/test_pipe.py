"""A pipeline from file to file: what leaves, and when."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.audit import audit
from shoal.connectors.connector import Delivery
from shoal.errors import StateError
from shoal.pipeline import Pipe, PipelineFile
from shoal.pipeline.encryption import FileCipher
from shoal.pipeline.journal import Entry, JournalEntries
from shoal.pipeline.store import Checkpoint, Store
from shoal.pipeline.stream_time import StreamClock

from .base import KEY, Crash, crashing_at, lines, outputs, place, record
from .pipes import COUNT, Small, poured, stopped


def held(folder: Path) -> bool:
    report = audit(folder / "policy.yaml", folder / "raw.jsonl", folder / "clean.jsonl", trace=folder / "trace.jsonl")
    return report.held


def test_a_pipeline_publishes_what_a_run_does(tmp_path: Path) -> None:
    Pipe(place(tmp_path, 500, window=COUNT)).run()
    shoal.run(tmp_path / "policy.yaml", tmp_path / "raw.jsonl", tmp_path / "run.jsonl", trace=tmp_path / "run.trace.jsonl")
    assert (tmp_path / "clean.jsonl").read_bytes() == (tmp_path / "run.jsonl").read_bytes()
    assert (tmp_path / "trace.jsonl").read_bytes() == (tmp_path / "run.trace.jsonl").read_bytes()


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "jsonl.gz"])
def test_sources_of_every_kind(tmp_path: Path, kind: str) -> None:
    place(tmp_path, 300, window=COUNT)
    written = _converted(tmp_path, kind)
    text = (tmp_path / "pipeline.yaml").read_text().replace("raw.jsonl, follow: false", written.name)
    (tmp_path / "pipeline.yaml").write_text(text)
    Pipe(PipelineFile.load(tmp_path / "pipeline.yaml")).run()
    shoal.run(tmp_path / "policy.yaml", written, tmp_path / "run.jsonl")
    assert (tmp_path / "clean.jsonl").read_bytes() == (tmp_path / "run.jsonl").read_bytes() != b""


def _converted(folder: Path, kind: str) -> Path:
    from shoal.formats import open_reader, open_writer

    path, fields = folder / f"raw.{kind}", ["pid", "t", "age", "city", "disease"]
    with open_reader(str(folder / "raw.jsonl"), fields) as reader, open_writer(str(path)) as out:
        for block in reader:
            out.write(block.batch)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("what", ["_sync", "_publish", "_apply", "_checkpoint", "_saved"])
def test_a_crash_anywhere_changes_nothing(tmp_path: Path, what: str) -> None:
    """The same tuples leave in the same groups, once, wherever it crashes, as often as it does."""
    straight, crashed = tmp_path / "straight", tmp_path / "crashed"
    straight.mkdir()
    crashed.mkdir()
    for folder in (straight, crashed):
        place(folder, 400, window=COUNT, checkpoint="1ms")
    small = Small(straight)
    small.run()
    for times in range(60):
        pipe = Small(crashed)
        crashing_at(times % 7, what)(pipe)
        try:
            pipe.run()
            break
        except Crash:
            continue
    Small(crashed).run()
    assert outputs(crashed) == outputs(straight)
    assert held(crashed)


def test_what_is_visible_is_in_the_journal(tmp_path: Path) -> None:
    """On the disk, and not only in a buffer: a crash may come at once."""
    file = place(tmp_path, window="{count: 5}")
    pipe, source = poured(file, [lines([record(i)]).encode() for i in range(20)])
    write = pipe.sink.write

    def visible(batch: pa.RecordBatch, sequence: int) -> None:
        journal = max(file.state.dir.glob("journal-*"))
        assert [each.kind for each in JournalEntries(journal, FileCipher(KEY))].count("delivery") == source.read_in_all
        write(batch, sequence)

    pipe.sink.write = visible  # type: ignore[method-assign]
    assert pipe.run().released == 20


def test_the_source_may_forget_what_the_last_checkpoint_but_one_covers(tmp_path: Path) -> None:
    place(tmp_path, 400, window=COUNT, checkpoint="1ms")
    pipe = Small(tmp_path)
    covered, forgotten = [], []
    checkpoint = pipe._checkpoint

    def noted() -> Checkpoint:
        made = checkpoint()
        covered.append(made.facts["position"])
        return made

    pipe._checkpoint, pipe.source.acknowledge = noted, forgotten.append  # type: ignore[method-assign]
    pipe.run()
    assert len(forgotten) > 2
    assert forgotten == covered[: len(forgotten)] and len(covered) == len(forgotten) + 1


def test_what_waits_goes_on_waiting_over_a_stop(tmp_path: Path) -> None:
    file = place(tmp_path, 100, window="{count: 1000}", follow=True)
    assert stopped(file).held == 100
    drained = Pipe(file)
    drained.stop(drain=True)
    assert drained.run().released == 100
    assert held(tmp_path)


def test_the_clock_moves_on_while_nothing_comes(tmp_path: Path) -> None:
    file = place(tmp_path, 50, window="{time: 10s}", follow=True)
    now = [0.0]

    def monotonic() -> float:
        now[0] += 0.05
        return now[0]

    pipe = Pipe(file, monotonic=monotonic)
    real = pipe._tick

    def tick(moment: float | None) -> None:
        real(moment)
        if pipe.anonymizer.stats.released == 50:
            pipe.stop()

    pipe._tick = tick  # type: ignore[method-assign]
    assert pipe.run().held == 0  # type: ignore[union-attr]
    assert held(tmp_path)


def test_the_clock_stands_where_ticks_put_it_before_a_crash(tmp_path: Path) -> None:
    file = place(tmp_path, 50, window="{time: 10s}", follow=True)
    now, ticks = [0.0], []

    def monotonic() -> float:
        now[0] += 0.05
        return now[0]

    pipe = Pipe(file, monotonic=monotonic)
    apply = pipe._apply

    def crashing(entry: Entry, payloads: Any) -> None:
        apply(entry, payloads)
        ticks.extend([entry.at] if entry.kind == "tick" else [])
        if len(ticks) == 20:
            raise Crash

    pipe._apply = crashing  # type: ignore[method-assign]
    with pytest.raises(Crash):
        pipe.run()
    again = Pipe(file, monotonic=lambda: 0.0)
    again.stop()
    again.run()
    assert 4.9 < again._clock.now == ticks[-1] < 10


def test_the_clock_never_runs_backwards() -> None:
    clock = StreamClock(lambda: 100.0)
    clock.reached(5000.0)
    clock.reached(4000.0)
    assert clock.now == 5000.0


@pytest.mark.slow
def test_a_slow_disk_is_waited_for_without_haste(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe(place(tmp_path, 10, window=COUNT, follow=True, checkpoint="10ms"))
    save, read, reads = Store.save, pipe.source.read, 0

    def slow(*arguments: Any) -> int:
        time.sleep(0.3)
        return save(*arguments)

    def counted(seconds: float) -> Delivery | None:
        nonlocal reads
        reads += 1
        return read(seconds)

    monkeypatch.setattr(Store, "save", slow)
    pipe.source.read = counted  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(pipe.run)
        time.sleep(1.5)
        pipe.stop()
        running.result()
    assert reads < 100


def test_dead_letters_tell_where_and_why_and_never_what(tmp_path: Path) -> None:
    file = place(tmp_path, window=COUNT, more="dead_letters: {file: dead.jsonl}")
    bad = record(3, city="Atlantis")
    (tmp_path / "raw.jsonl").write_text(lines([record(1), bad]) + "{broken\n" + lines([record(5)]))
    stats = Pipe(file).run()
    letters = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert [(letter["row"], letter["field"]) for letter in letters] == [(2, "city"), (3, None)]  # from 1
    assert "Atlantis" not in (tmp_path / "dead.jsonl").read_text() and stats.rejected == 2
    assert set(letters[0]) == {"time", "row", "field", "reason", "position"}
    assert set(letters[0]["position"]) == {"at"}  # and no checksum of what was read


def test_dead_letters_hold_the_record_only_encrypted(tmp_path: Path) -> None:
    from shoal.pipeline import read_dead_letters

    file = place(tmp_path, window=COUNT, more="dead_letters: {file: dead.jsonl, encrypt: {env: SHOAL_KEY}}")
    (tmp_path / "raw.jsonl").write_text(lines([record(1), record(3, city="Atlantis"), record(5)]))
    Pipe(file).run()
    assert "Atlantis" not in (tmp_path / "dead.jsonl").read_text()
    (letter,) = read_dead_letters(tmp_path / "dead.jsonl", KEY)
    assert letter["record"]["city"] == "Atlantis"


def test_dead_letters_that_are_not_there_or_not_whole(tmp_path: Path) -> None:
    from shoal.pipeline import read_dead_letters

    path = tmp_path / "dead.jsonl"
    with pytest.raises(StateError, match=r"dead.jsonl: cannot be read \(no such file or directory\); run the pipeline first"):
        list(read_dead_letters(path, KEY))
    path.write_text('{"row": 1}\n{"row": 2, "rec')  # the pipeline is writing it
    assert list(read_dead_letters(path, KEY)) == [{"row": 1}]
    path.write_text('{"row": 1}\n{"row":\n{"row": 3}\n')
    with pytest.raises(StateError, match=r"dead.jsonl: line 2 is damaged; restore an intact copy"):
        list(read_dead_letters(path, KEY))


def test_records_too_far_behind_are_rejected(tmp_path: Path) -> None:
    file = place(tmp_path, more="late: {allow: 5s}\ndead_letters: {file: dead.jsonl}")
    (tmp_path / "raw.jsonl").write_text(lines(record(i, moment) for i, moment in enumerate([0, 10, 5, 4.9, 12])))
    stats = Pipe(file).run()
    (letter,) = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert stats.rejected == 1 and letter["row"] == 4
    assert letter["reason"] == "came more than 5 s after newer ones; raise late.allow"
    files = tmp_path / "policy.yaml", tmp_path / "raw.jsonl", tmp_path / "clean.jsonl", tmp_path / "trace.jsonl"
    assert audit(*files, late=5).held
    assert not audit(*files).held and not audit(*files, late=3.9).held


def test_records_too_far_behind_are_rejected_after_a_restart_too(tmp_path: Path) -> None:
    file = place(tmp_path, follow=True, more="late: {allow: 5s}")
    (tmp_path / "raw.jsonl").write_text(lines([record(0, 10)]))
    assert stopped(file).rejected == 0
    with open(tmp_path / "raw.jsonl", "a") as raw:
        raw.write(lines([record(1, 4.9), record(2, 11)]))
    assert stopped(file).rejected == 1


def test_private_files_are_private(tmp_path: Path) -> None:
    Pipe(place(tmp_path, 10)).run()
    assert (tmp_path / "trace.jsonl").stat().st_mode & 0o077 == 0


def test_a_slow_sink_holds_the_source_back(tmp_path: Path) -> None:
    """Nothing is read while something is being written, so that nothing piles up."""
    file = place(tmp_path, window="{count: 5}")
    pipe, source = poured(file, [lines(record(10 * i + j) for j in range(10)).encode() for i in range(20)])
    ahead, write = [], pipe.sink.write

    def slow(batch: pa.RecordBatch, sequence: int) -> None:
        before = source.read_in_all
        time.sleep(0.01)
        write(batch, sequence)
        ahead.append((source.read_in_all - before, 10 * source.read_in_all - sequence))

    pipe.sink.write = slow  # type: ignore[method-assign]
    pipe.run()
    assert len(ahead) > 10
    assert {more for more, _ in ahead} == {0}
    assert max(waiting for _, waiting in ahead) <= 10 + 5 + 1  # a delivery, the window, and the tuple that makes it due
