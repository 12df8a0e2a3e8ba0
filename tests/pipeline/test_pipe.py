"""A pipeline from file to file: what leaves, what is remembered, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import shoal
from shoal.anonymizer import Stats
from shoal.audit import audit
from shoal.errors import ConnectorError, PolicyError, StateError
from shoal.pipeline.fitness import fitness
from shoal.pipeline.pipe import Pipe
from shoal.pipeline.pipeline_file import PipelineFile

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


def test_dead_letters_tell_where_and_why_and_never_what(tmp_path: Path) -> None:
    file = place(tmp_path, window=COUNT, more="dead_letters: {file: dead.jsonl}")
    bad = record(3, city="Atlantis")
    (tmp_path / "raw.jsonl").write_text(lines([record(1), bad]) + "{broken\n" + lines([record(5)]))
    stats = Pipe(file).run()
    letters = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert [(letter["row"], letter["field"]) for letter in letters] == [(1, "city"), (2, None)]
    assert "Atlantis" not in (tmp_path / "dead.jsonl").read_text() and stats.rejected == 2
    assert set(letters[0]) == {"time", "row", "field", "reason", "position"}


def test_dead_letters_hold_the_record_only_encrypted(tmp_path: Path) -> None:
    from shoal.pipeline.dead_letters import opened

    file = place(tmp_path, window=COUNT, more="dead_letters: {file: dead.jsonl, encrypt: {env: SHOAL_KEY}}")
    (tmp_path / "raw.jsonl").write_text(lines([record(3, city="Atlantis")]))
    Pipe(file).run()
    assert "Atlantis" not in (tmp_path / "dead.jsonl").read_text()
    (letter,) = opened(tmp_path / "dead.jsonl", KEY)
    assert letter["record"]["city"] == "Atlantis"


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
    from shoal.pipeline.store import Store
    from shoal.pipeline.vault import Vault

    file = place(tmp_path, 10)
    store = Store(file.state.dir, Vault(KEY))
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
        said = r"100 tuples were taken in under another policy \(privacy\); let them leave with the old files first"
        with pytest.raises(StateError, match=said):
            Pipe(file).run()
        with pytest.raises(StateError, match=said):
            list(fitness(file))

    def test_after_a_drain_it_goes_on_under_the_new_policy(self, tmp_path: Path) -> None:
        file = self.changed(tmp_path, drain=True)
        assert "changed since: policy (privacy); nothing is held, so it can start" in list(fitness(file))
        said = tmp_path / "pipeline.yaml"
        said.write_text(said.read_text().replace("follow: true", "follow: false"))
        with (tmp_path / "raw.jsonl").open("a") as raw:
            raw.write(lines(record(i) for i in range(100, 150)))
        pipe = Pipe(PipelineFile.load(tmp_path / "pipeline.yaml"))
        assert pipe.run().received == 150  # the source changed too, so it begins at its beginning
        assert len((tmp_path / "clean.jsonl").read_text().splitlines()) == 250

    def test_the_same_state_fits(self, tmp_path: Path) -> None:
        file = place(tmp_path, 10)
        assert list(fitness(file)) == [f"{file.state.dir}: no state yet; the pipeline begins anew"]
        Pipe(file).run()
        assert list(fitness(file))[-1] == "the state fits"


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
