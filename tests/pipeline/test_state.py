"""What a pipeline remembers: for how long, encrypted, damaged, and beside what has changed since."""

from __future__ import annotations

import gc
import io
import os
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import ConnectorError, StateError
from shoal.pipeline import FileCipher, Pipe, PipelineFile, readiness
from shoal.pipeline.store import Store

from .base import KEY, POLICY, Crash, crashing_at, lines, outputs, place, record
from .pipes import COUNT, Small, poured, stopped


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
        if path.name not in ("lock", "progress"):
            for piece in FileCipher(KEY).pieces(path.read_bytes()):
                if zipfile.is_zipfile(io.BytesIO(piece)):
                    with zipfile.ZipFile(io.BytesIO(piece)) as archive:
                        yield from (archive.read(name) for name in archive.namelist())
                yield piece


def test_the_state_is_private_and_encrypted(tmp_path: Path) -> None:
    file = place(tmp_path, 100, window="{count: 1000}", follow=True)
    assert stopped(file).held == 100
    for path in file.state.dir.iterdir():
        assert path.stat().st_mode & 0o077 == 0
        assert b"disease" not in path.read_bytes()
    assert os.listdir(file.state.dir)


def test_a_state_of_several_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.pipeline.store.PIECE", 1000)
    file = place(tmp_path, 100, window="{count: 1000}", follow=True)
    assert stopped(file).held == 100
    newest = max(file.state.dir.glob("checkpoint-*"))
    assert sum(1 for _ in FileCipher(KEY).pieces(newest.read_bytes())) > 3
    pipe = Pipe(file)
    pipe.stop(drain=True)
    assert pipe.run().released == 100


def test_a_journal_that_nothing_depends_on_yet(tmp_path: Path) -> None:
    """After a checkpoint it is forced to the disk only with the first entry; nothing is amiss meanwhile, or if it is lost."""
    file = place(tmp_path, 100, window="{count: 1000}", follow=True)
    stopped(file)
    newest = max(file.state.dir.glob("journal-*"))
    before = list(readiness(file))
    assert before[1] == "the journal after it is whole: 0 entries"
    newest.unlink()
    assert list(readiness(file)) == before
    newest.touch()
    pipe = Pipe(file)
    pipe.stop(drain=True)
    assert pipe.run().released == 100


def test_the_collector_leaves_alone_what_was_loaded_before(tmp_path: Path) -> None:
    pipe = Pipe(place(tmp_path, 100, window=COUNT))
    deliver, frozen = pipe._deliver, []

    def delivered(*arguments: Any) -> None:
        frozen.append(gc.get_freeze_count())
        deliver(*arguments)

    pipe._deliver = delivered  # type: ignore[method-assign]
    gc.unfreeze()
    pipe.run()
    assert frozen[0] > 1000 and gc.get_freeze_count() == 0


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

    @pytest.mark.parametrize(
        "damage", [lambda b: b[: len(b) // 2], lambda b: b[:90] + bytes([b[90] ^ 1]) + b[91:], lambda b: b""]
    )
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
        assert "is missing or damaged; what came before the damage is used" in caplog.text

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
        assert next(readiness(file)) == f"{file.state.dir}: no state yet; the pipeline starts from the beginning"
        Pipe(file).run()
        assert "the state fits" in list(readiness(file))
