"""A pipeline from file to file: what leaves, what is remembered, and what is refused."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.anonymizer import Stats
from shoal.audit import audit
from shoal.connectors.connector import Delivery, Position, Source
from shoal.errors import ConnectorError, PolicyError, ShoalError, StateError
from shoal.pipeline.pipe import Pipe
from shoal.pipeline.pipeline_file import PipelineFile
from shoal.pipeline.readiness import readiness
from shoal.pipeline.store import Store
from shoal.pipeline.vault import Vault

from .base import KEY, POLICY, Crash, crashing_at, lines, outputs, place, record

COUNT = "{count: 60}"


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


class Small(Pipe):
    """Reads a few records at a time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(PipelineFile.load(folder / "pipeline.yaml"))

    def run(self) -> Stats:  # type: ignore[override]
        from shoal.connectors import file

        before, file.CHUNK = file.CHUNK, 1 << 11
        try:
            return super().run()  # type: ignore[return-value]
        finally:
            file.CHUNK = before


def stopped(file: PipelineFile, drain: bool = False) -> Stats:
    """Stop a pipeline after its first delivery."""
    pipe = Pipe(file)
    real = pipe._deliver

    def deliver(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        pipe.stop(drain)

    pipe._deliver = deliver  # type: ignore[method-assign]
    return pipe.run()  # type: ignore[return-value]


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
    assert [(letter["row"], letter["field"]) for letter in letters] == [(1, "city"), (2, None)]
    assert "Atlantis" not in (tmp_path / "dead.jsonl").read_text() and stats.rejected == 2
    assert set(letters[0]) == {"time", "row", "field", "reason", "position"}
    assert set(letters[0]["position"]) == {"at"}  # and no checksum of what was read


def test_dead_letters_hold_the_record_only_encrypted(tmp_path: Path) -> None:
    from shoal.pipeline.dead_letters import opened

    file = place(tmp_path, window=COUNT, more="dead_letters: {file: dead.jsonl, encrypt: {env: SHOAL_KEY}}")
    (tmp_path / "raw.jsonl").write_text(lines([record(3, city="Atlantis")]))
    Pipe(file).run()
    assert "Atlantis" not in (tmp_path / "dead.jsonl").read_text()
    (letter,) = opened(tmp_path / "dead.jsonl", KEY)
    assert letter["record"]["city"] == "Atlantis"


def test_dead_letters_that_are_not_there_or_not_whole(tmp_path: Path) -> None:
    from shoal.pipeline.dead_letters import opened

    path = tmp_path / "dead.jsonl"
    with pytest.raises(StateError, match=r"dead.jsonl: cannot be read \(no such file or directory\); run the pipeline first"):
        list(opened(path, KEY))
    path.write_text('{"row": 1}\n{"row": 2, "rec')  # the pipeline is writing it
    assert list(opened(path, KEY)) == [{"row": 1}]
    path.write_text('{"row": 1}\n{"row":\n{"row": 3}\n')
    with pytest.raises(StateError, match=r"dead.jsonl: line 2 is damaged; bring an intact copy back"):
        list(opened(path, KEY))


def test_records_too_far_behind_are_rejected(tmp_path: Path) -> None:
    file = place(tmp_path, more="late: {allow: 5s}\ndead_letters: {file: dead.jsonl}")
    (tmp_path / "raw.jsonl").write_text(lines(record(i, moment) for i, moment in enumerate([0, 10, 6, 4.9, 12])))
    stats = Pipe(file).run()
    (letter,) = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert stats.rejected == 1 and letter["row"] == 3
    assert letter["reason"] == "came more than 5 s after newer ones; raise late.allow"
    files = tmp_path / "policy.yaml", tmp_path / "raw.jsonl", tmp_path / "clean.jsonl", tmp_path / "trace.jsonl"
    assert audit(*files, late=5).held
    assert not audit(*files).held and not audit(*files, late=3.9).held


def test_a_second_instance_is_refused(tmp_path: Path) -> None:
    file = place(tmp_path, 10)
    Pipe(file).run()
    store = Store(file.state.dir, Vault(KEY))
    assert "the state fits" in list(readiness(file))  # to look is allowed
    with pytest.raises(StateError, match="another pipeline uses this state; stop it first"):
        Pipe(file).run()
    store.close()
    Pipe(file).run()


def test_output_that_no_state_knows_of_is_refused(tmp_path: Path) -> None:
    file = place(tmp_path, 10)
    (tmp_path / "clean.jsonl").write_text("{}\n")
    with pytest.raises(ConnectorError, match="holds something that no state knows of"):
        Pipe(file).run()


def test_a_state_older_than_its_output_is_refused(tmp_path: Path) -> None:
    import shutil

    file = place(tmp_path, 200, window=COUNT, checkpoint="1ms")
    pipe = Small(tmp_path)
    crashing_at(3, "_apply")(pipe)
    with pytest.raises(Crash):
        pipe.run()
    shutil.copytree(file.state.dir, tmp_path / "old")
    Small(tmp_path).run()
    shutil.rmtree(file.state.dir)
    shutil.copytree(tmp_path / "old", file.state.dir)
    before = outputs(tmp_path)
    with pytest.raises(ConnectorError, match="the state is older than its output"):
        Pipe(file).run()
    assert outputs(tmp_path) == before


def test_output_that_was_changed_is_refused(tmp_path: Path) -> None:
    file = place(tmp_path, 300, window=COUNT)
    pipe = Small(tmp_path)
    crashing_at(5, "_deliver")(pipe)
    with pytest.raises(Crash):
        pipe.run()
    clean = tmp_path / "clean.jsonl"
    assert clean.stat().st_size
    clean.write_bytes(clean.read_bytes().replace(b'"age"', b'"AGE"'))
    with pytest.raises(ConnectorError, match="from byte 2 on it is not what the pipeline wrote"):
        Pipe(file).run()


def test_several_workers_are_refused(tmp_path: Path) -> None:
    file = place(tmp_path, 10)
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.format(window=COUNT).replace("name: fads", "name: fast, workers: 2"))
    with pytest.raises(PolicyError, match=r"algorithm.workers: what several workers do cannot be repeated"):
        Pipe(file)
    policy.write_text(POLICY.format(window=COUNT) + "lanes: 2\n")
    assert Pipe(file).run().released == 10


def test_one_file_for_two_things_is_refused(tmp_path: Path) -> None:
    place(tmp_path, 10)
    said = tmp_path / "pipeline.yaml"
    said.write_text(said.read_text().replace("trace.jsonl", "clean.jsonl"))
    with pytest.raises(PolicyError, match="trace: is the same file as sink; name another one"):
        Pipe(PipelineFile.load(said))


def test_two_pipelines_into_one_file_are_refused(tmp_path: Path) -> None:
    from shoal.connectors.file import FileSink

    file = place(tmp_path, 10)
    other = FileSink(FileSink.Settings(path=tmp_path / "clean.jsonl"))
    other.begin(None, 0)
    with pytest.raises(ConnectorError, match="another pipeline writes to it; name another file"):
        Pipe(file).run()
    other.close()


def test_a_followed_file_that_is_exchanged_is_noticed(tmp_path: Path) -> None:
    file = place(tmp_path, 100, window=COUNT, follow=True)
    pipe = Pipe(file)
    real = pipe._deliver

    def deliver(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        (tmp_path / "new.jsonl").write_text(lines(record(i) for i in range(300)))
        (tmp_path / "new.jsonl").replace(tmp_path / "raw.jsonl")

    pipe._deliver = deliver  # type: ignore[method-assign]
    with pytest.raises(ConnectorError, match="was replaced or cut while it was followed"):
        pipe.run()


def test_private_files_are_private(tmp_path: Path) -> None:
    Pipe(place(tmp_path, 10)).run()
    assert (tmp_path / "trace.jsonl").stat().st_mode & 0o077 == 0


class Poured(Source):
    """Gives deliveries as fast as they are asked for; none can come again."""

    replays = False

    def __init__(self, deliveries: list[bytes]) -> None:
        self._left = list(deliveries)
        self.read_in_all = 0

    def begin(self, position: Position | None) -> Position:
        return {"at": self.read_in_all}

    def read(self, seconds: float) -> Delivery | None:
        if not self._left:
            self.ended = True
            return None
        self.read_in_all += 1
        return Delivery([self._left.pop(0)], {"at": self.read_in_all})

    def acknowledge(self, position: Position) -> None: ...

    def close(self) -> None: ...


def poured(file: PipelineFile, deliveries: list[bytes]) -> tuple[Pipe, Poured]:
    pipe, source = Pipe(file), Poured(deliveries)
    source.fields, source.passed = pipe.source.fields, pipe.source.passed
    pipe.source = source
    return pipe, source


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
    assert max(waiting for _, waiting in ahead) <= 10 + 5 + 1  # a delivery, the window, and who makes it due


def test_raw_data_is_gone_two_checkpoints_after_it_left(tmp_path: Path) -> None:
    """Looked for in the state as it is before encryption: there while it waits, and in nothing later on."""
    file = place(tmp_path, window="{count: 5}", checkpoint="10s")
    first = lines([record(0, disease="needle")] + [record(i) for i in range(1, 4)]).encode()
    pipe, _ = poured(file, [first, *(lines([record(i)]).encode() for i in range(4, 24))])
    found: list[bool] = []
    real = pipe._deliver

    def deliver(*arguments: Any) -> None:
        real(*arguments)
        found.append(b"needle" in b"".join(opened_state(file)))
        if len(found) in (12, 15, 18):
            with ThreadPoolExecutor(1) as pool:
                pipe._save(pipe_store(pipe), pool)

    pipe._deliver = deliver  # type: ignore[method-assign]
    pipe_store = keep_store(pipe)
    pipe.run()
    assert (tmp_path / "clean.jsonl").read_text().count("needle") == 1
    assert found[0] and found[11]  # in the journal
    assert not any(found[18:])


def keep_store(pipe: Pipe) -> Callable[[Pipe], Store]:
    """The store that a pipe has open, once it runs."""
    kept: list[Store] = []
    flow = pipe._flow

    def flowing(store: Store, pool: ThreadPoolExecutor) -> None:
        kept.append(store)
        flow(store, pool)

    pipe._flow = flowing  # type: ignore[method-assign]
    return lambda pipe: kept[0]


def opened_state(file: PipelineFile) -> Iterator[bytes]:
    """Everything in the folder of the state, as it is before it is encrypted."""
    for path in file.state.dir.iterdir():
        if path.name != "lock":
            for piece in Vault(KEY).opened(path.read_bytes()):
                if zipfile.is_zipfile(io.BytesIO(piece)):
                    with zipfile.ZipFile(io.BytesIO(piece)) as archive:
                        yield from (archive.read(name) for name in archive.namelist())
                yield piece


class TestDamage:
    """Checkpoints and journals that are torn or corrupted."""

    def crashed(self, folder: Path) -> PipelineFile:
        file = place(folder, 400, window=COUNT, checkpoint="1ms")
        pipe = Small(folder)
        crashing_at(6, "_deliver")(pipe)
        with pytest.raises(Crash):
            pipe.run()
        return file

    def straight(self, folder: Path) -> tuple[bytes, bytes]:
        other = folder / "straight"
        other.mkdir()
        place(other, 400, window=COUNT)
        Small(other).run()
        return outputs(other)

    @pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b[:90] + b"x" + b[91:], lambda b: b""])
    def test_the_checkpoint_before_is_used(self, tmp_path: Path, damage: object, caplog: pytest.LogCaptureFixture) -> None:
        file = self.crashed(tmp_path)
        newest = max(file.state.dir.glob("checkpoint-*"))
        newest.write_bytes(damage(newest.read_bytes()))  # type: ignore[operator]
        Pipe(file).run()
        assert "is damaged; the one before it is used" in caplog.text
        assert outputs(tmp_path) == self.straight(tmp_path)

    def test_no_checkpoint_is_left(self, tmp_path: Path) -> None:
        file = self.crashed(tmp_path)
        for each in file.state.dir.glob("checkpoint-*"):
            each.write_bytes(b"")
        with pytest.raises(StateError, match="no checkpoint in it can be read"):
            Pipe(file).run()

    def test_a_torn_end_of_the_journal_was_never_visible(self, tmp_path: Path) -> None:
        file = self.crashed(tmp_path)
        newest = max(file.state.dir.glob("journal-*"))
        newest.write_bytes(newest.read_bytes() + b"\0\0\0\x70half an entry")
        Pipe(file).run()
        assert outputs(tmp_path) == self.straight(tmp_path)

    def test_a_journal_damaged_before_what_is_visible_is_refused(self, tmp_path: Path) -> None:
        file = place(tmp_path, 400, window=COUNT)
        pipe = Small(tmp_path)
        crashing_at(6, "_deliver")(pipe)
        with pytest.raises(Crash):
            pipe.run()
        newest = max(file.state.dir.glob("journal-*"))
        damaged = bytearray(newest.read_bytes())
        damaged[60] ^= 1
        newest.write_bytes(damaged)
        with pytest.raises(ConnectorError, match="the state is older than its output"):
            Pipe(file).run()

    def test_a_journal_that_lost_its_end_is_noticed(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Also if what is left of it looks whole, since the next one knows how many entries it had."""
        file = place(tmp_path, 400, window=COUNT)
        pipe = Small(tmp_path)
        crashing_at(6, "_deliver")(pipe)
        with pytest.raises(Crash):
            pipe.run()
        again = Small(tmp_path)
        crashing_at(0, "_checkpoint")(again)  # a new journal, and no checkpoint with it
        with pytest.raises(Crash):
            again.run()
        first, last = sorted(file.state.dir.glob("journal-*"))
        assert last.stat().st_size < first.stat().st_size
        first.write_bytes(first.read_bytes()[:-3])
        with pytest.raises(ConnectorError, match="the state is older than its output"):
            Small(tmp_path).run()
        assert "is damaged; what came before the damage is used" in caplog.text

    def test_drafts_and_journals_that_never_began_are_removed(self, tmp_path: Path) -> None:
        file = self.crashed(tmp_path)
        number = int(max(file.state.dir.glob("journal-*")).name.removeprefix("journal-")) + 1
        (file.state.dir / f"journal-{number:010}").write_bytes(b"")
        (file.state.dir / "checkpoint-0000000099.part").write_bytes(b"x")
        Pipe(file).run()
        assert not list(file.state.dir.glob("*.part"))
        assert outputs(tmp_path) == self.straight(tmp_path)

    def test_a_damaged_checkpoint_is_not_one_of_the_two(self, tmp_path: Path) -> None:
        file = self.crashed(tmp_path)
        newest = max(file.state.dir.glob("checkpoint-*"))
        newest.write_bytes(b"")
        Pipe(file).run()
        assert newest not in set(file.state.dir.glob("checkpoint-*"))

    def test_a_refusal_lets_go_of_the_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = place(tmp_path, 10)
        Pipe(file).run()
        monkeypatch.setenv("SHOAL_KEY", "another key, which is long enough too")
        with pytest.raises(StateError, match="is not the key"):
            Pipe(file).run()
        monkeypatch.setenv("SHOAL_KEY", KEY)
        assert Pipe(file).run().received == 10  # since the beginning

    def test_another_key(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = self.crashed(tmp_path)
        monkeypatch.setenv("SHOAL_KEY", KEY[::-1])
        with pytest.raises(StateError, match="is not the key that the state was written with"):
            Pipe(file).run()

    @pytest.mark.parametrize(("key", "said"), [("", "is not set"), ("short", "is shorter than 32 bytes")])
    def test_no_key(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, said: str) -> None:
        file = place(tmp_path, 10)
        monkeypatch.setenv("SHOAL_KEY", key)
        with pytest.raises((StateError, ConnectorError), match=said):
            Pipe(file).run()
        assert not file.state.dir.exists()


class TestChange:
    """A policy, a source or a sink that changed since the state was written."""

    def changed(self, folder: Path, drain: bool) -> PipelineFile:
        file = place(folder, 100, window="{count: 1000}", follow=True)
        stopped(file, drain)
        (folder / "policy.yaml").write_text(POLICY.format(window="{count: 1000}").replace("k: 3", "k: 4"))
        return file

    def test_what_is_held_must_leave_first(self, tmp_path: Path) -> None:
        file = self.changed(tmp_path, drain=False)
        said = r"tuples were taken in under another policy \(privacy\) \(100 were held at the last checkpoint\); let them leave"
        with pytest.raises(StateError, match=said):
            Pipe(file).run()
        with pytest.raises(StateError, match=said):
            list(readiness(file))

    def test_after_a_drain_it_goes_on_under_the_new_policy(self, tmp_path: Path) -> None:
        file = self.changed(tmp_path, drain=True)
        assert "changed since: policy (privacy); nothing is held, so it can start" in list(readiness(file))
        said = tmp_path / "pipeline.yaml"
        said.write_text(said.read_text().replace("follow: true", "follow: false"))
        with (tmp_path / "raw.jsonl").open("a") as raw:
            raw.write(lines(record(i) for i in range(100, 150)))
        pipe = Pipe(PipelineFile.load(tmp_path / "pipeline.yaml"))
        assert pipe.run().received == 50  # whether it is followed does not make it another source
        assert len((tmp_path / "clean.jsonl").read_text().splitlines()) == 150

    def test_another_source_begins_at_its_beginning(self, tmp_path: Path) -> None:
        place(tmp_path, 60)
        Pipe(PipelineFile.load(tmp_path / "pipeline.yaml")).run()
        (tmp_path / "other.jsonl").write_text(lines(record(i) for i in range(40)))
        said = tmp_path / "pipeline.yaml"
        said.write_text(said.read_text().replace("raw.jsonl", "other.jsonl"))
        Pipe(PipelineFile.load(said)).run()
        assert len((tmp_path / "clean.jsonl").read_text().splitlines()) == 100

    def test_what_is_late_must_not_change_in_between(self, tmp_path: Path) -> None:
        place(tmp_path, 200, window=COUNT, more="late: {allow: 1s}")
        pipe = Small(tmp_path)
        crashing_at(3, "_deliver")(pipe)
        with pytest.raises(Crash):
            pipe.run()
        said = tmp_path / "pipeline.yaml"
        said.write_text(said.read_text().replace("1s", "10s"))
        with pytest.raises(StateError, match="under another late"):
            Small(tmp_path).run()

    def test_another_trace(self, tmp_path: Path) -> None:
        file = place(tmp_path, 100, window="{count: 1000}", follow=True)
        stopped(file)
        said = tmp_path / "pipeline.yaml"
        said.write_text(said.read_text().replace("trace.jsonl", "other.jsonl"))
        pipe = Pipe(PipelineFile.load(said))
        pipe.stop(drain=True)
        pipe.run()
        assert len((tmp_path / "other.jsonl").read_text().splitlines()) == 100

    def test_the_same_state_fits(self, tmp_path: Path) -> None:
        file = place(tmp_path, 10)
        assert next(readiness(file)) == f"{file.state.dir}: no state yet; the pipeline begins anew"
        Pipe(file).run()
        assert "the state fits" in list(readiness(file))


class TestReadiness:
    """What is told of a pipeline that has not started: all that would keep it from starting, and nothing is changed."""

    def test_nothing_is_written(self, tmp_path: Path) -> None:
        file = place(tmp_path, 10, more="dead_letters: {file: dead.jsonl}")
        before = sorted(path.name for path in tmp_path.iterdir())
        assert list(readiness(file))[1:] == [
            "source: file can be read", "sink: file can be written", "trace: file can be written",
            "dead_letters: file can be written",
        ]  # fmt: skip
        assert sorted(path.name for path in tmp_path.iterdir()) == before

    def test_beside_a_pipeline_that_runs(self, tmp_path: Path) -> None:
        pipe = Pipe(place(tmp_path, 100, window=COUNT, follow=True))
        real, told = pipe._deliver, []

        def deliver(*arguments: object) -> None:
            real(*arguments)  # type: ignore[arg-type]
            told.extend(readiness(pipe.file))
            pipe.stop()

        pipe._deliver = deliver  # type: ignore[method-assign]
        assert pipe.run().held > 0  # type: ignore[union-attr]
        assert told[1:] == ["the state fits", "source: file can be read", "sink: file can be written",
            "trace: file can be written"]  # fmt: skip

    @pytest.mark.parametrize(("old", "new", "said"), [
        ("raw.jsonl", "none.jsonl", r"none.jsonl: cannot be read \(no such file or directory\)"),
        ("{path: clean.jsonl", "{path: none/clean.jsonl", "clean.jsonl: cannot be written; check its folder"),
        ("{path: clean.jsonl", "{path: other.jsonl", "other.jsonl: holds something that no state knows of"),
        ("trace.jsonl", "clean.jsonl", "trace: is the same file as sink"),
        ("dir: state", "dir: raw.jsonl/state", "raw.jsonl/state: cannot be written; name another folder"),
        ("{file: {path: clean.jsonl}}", "{mqtt: {host: 127.0.0.1, port: 9, topic: t}}", "mqtt 127.0.0.1:9: cannot be reached"),
        ("{file: {path: clean.jsonl}}", "{http: {url: 'http://127.0.0.1:9/'}}", r"http http://127.0.0.1:9/: cannot be reached"),
    ])  # fmt: skip
    def test_what_would_keep_it_from_starting(self, tmp_path: Path, old: str, new: str, said: str) -> None:
        place(tmp_path, 10)
        (tmp_path / "other.jsonl").write_text("{}\n")
        text = (tmp_path / "pipeline.yaml").read_text()
        (tmp_path / "pipeline.yaml").write_text(text.replace(old, new))
        with pytest.raises(ShoalError, match=said):
            list(readiness(PipelineFile.load(tmp_path / "pipeline.yaml")))

    def test_a_source_that_was_exchanged(self, tmp_path: Path) -> None:
        file = place(tmp_path, 100, window="{count: 1000}", follow=True)
        stopped(file)
        (tmp_path / "raw.jsonl").write_text(lines(record(i) for i in range(1, 150)))
        for start in (lambda: list(readiness(file)), Pipe(file).run):
            with pytest.raises(ConnectorError, match="is not the file that was read before"):
                start()


class TestFile:
    """What a pipeline's file may say."""

    @pytest.mark.parametrize(("text", "said"), [
        ("policy: p.yaml", ["source: is missing; add where records come from, such as {file: {path: raw.jsonl}}"]),
        ("source: {kafak: {}}", ["source.kafak: is no connector here; known are"]),
        ("source: {file: {path: a.txt}}", ["source.file.path: unknown kind of file"]),
        ("sink: {file: {path: a.parquet}}", ["sink.file.path: cannot be written to its end; name it .jsonl or .csv"]),
        ("source: {file: {path: a.jsonl, folow: true}}", ["source.file.folow: unknown key; did you mean 'follow'?"]),
        ("state: {dir: s, checkpoint: soon}", ["state.checkpoint: is no duration", "state.key: is missing"]),
        ("state: {dir: s, key: {}}", ["state.key: names no one place; write {env: NAME} or {file: PATH}"]),
        ("trace: t.txt", ["trace: is written as JSON lines; name it .jsonl"]),
        ("dead_letters: {file: d.csv}", ["dead_letters.file: is written as JSON lines; name it .jsonl"]),
        ("stat: {}", ["stat: unknown key; did you mean 'state'?"]),
        ("- a", ["the pipeline is not a mapping"]),
    ])  # fmt: skip
    def test_problems_name_their_place(self, text: str, said: list[str]) -> None:
        with pytest.raises(PolicyError) as error:
            PipelineFile.parse(text)
        for each in said:
            assert each in str(error.value)


def test_the_state_is_private_and_encrypted(tmp_path: Path) -> None:
    file = place(tmp_path, 100, window="{count: 1000}", follow=True)
    assert stopped(file).held == 100
    for path in file.state.dir.iterdir():
        assert path.stat().st_mode & 0o077 == 0
        assert b"disease" not in path.read_bytes()
    assert os.listdir(file.state.dir)
