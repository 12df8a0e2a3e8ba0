"""Journals that were damaged, cut or removed: nothing that was acknowledged is lost without a word."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.errors import StateError
from shoal.pipeline import Pipe, PipelineFile, readiness
from shoal.pipeline.encryption import HEADER

from .base import Crash, lines, place, record
from .pipes import Small, poured, stopped

LENGTH = 20  # bytes of a piece's sealed length
REFUSED = "a journal is damaged, and the source cannot give again what it held; restore an intact copy, or continue without"
Damage = Callable[[bytes], bytes]


def flipped(at: int) -> Damage:
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def crashed(folder: Path, deliveries: int = 6) -> PipelineFile:
    """A pipeline that acknowledged deliveries which cannot come again, published nothing, and crashed."""
    file = place(folder, window="{count: 1000}")
    pipe, _ = poured(file, [lines([record(i)]).encode() for i in range(deliveries)])

    def flow(*_: object) -> None:
        while delivery := pipe.source.read(0):
            pipe._deliver(delivery.payloads, delivery.position)
        raise Crash

    pipe._flow = flow  # type: ignore[method-assign, assignment]
    with pytest.raises(Crash):
        pipe.run()
    return file


def again(file: PipelineFile, accept_loss: bool = False) -> Pipe:
    pipe, _ = poured(file, [])
    if accept_loss:
        pipe.accept_loss()
    return pipe


def journal(file: PipelineFile) -> Path:
    return max(file.state.dir.glob("journal-*"))


class TestAcknowledged:
    def test_a_crash_alone_loses_nothing(self, tmp_path: Path) -> None:
        assert again(crashed(tmp_path)).run().released == 6

    @pytest.mark.parametrize("at", [0, 3, 10, 20, HEADER - 3, HEADER, HEADER + 3, HEADER + LENGTH + 5, -200, -5])
    def test_one_flipped_bit_is_noticed_wherever_it_is(self, tmp_path: Path, at: int) -> None:
        """In the magic number, the key's id, the salt, a length, an entry; of the first entry too."""
        file = crashed(tmp_path)
        data = journal(file).read_bytes()
        journal(file).write_bytes(flipped(at % len(data))(data))
        with pytest.raises(StateError, match=REFUSED):
            again(file).run()
        assert journal(file).exists() and not (tmp_path / "clean.jsonl").read_bytes()

    @pytest.mark.slow
    def test_every_single_cut_is_noticed(self, tmp_path: Path) -> None:
        """At an entry's border too, where what is left looks whole."""
        file = crashed(tmp_path, 2)
        path, data = journal(file), journal(file).read_bytes()
        for size in range(len(data)):
            path.write_bytes(data[:size])
            with pytest.raises(StateError, match=REFUSED):
                again(file).run()
        path.write_bytes(data)
        assert again(file).run().released == 2

    @pytest.mark.parametrize("name", ["journal-*", "progress"])
    def test_a_missing_file_is_noticed(self, tmp_path: Path, name: str) -> None:
        file = crashed(tmp_path)
        max(file.state.dir.glob(name)).unlink()
        with pytest.raises(StateError, match=REFUSED):
            again(file).run()

    def test_a_journal_of_another_run_is_noticed(self, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        other = crashed(tmp_path / "other")
        file = crashed(tmp_path)
        journal(file).write_bytes(journal(other).read_bytes())
        with pytest.raises(StateError, match=REFUSED):
            again(file).run()

    def test_the_check_reads_all_of_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = crashed(tmp_path)
        monkeypatch.setattr(sys.modules["shoal.pipeline.readiness"], "Pipe", again)
        assert "the journal after it is whole: 6 entries" in list(readiness(file))
        data = journal(file).read_bytes()
        journal(file).write_bytes(flipped(len(data) - 5)(data))
        with pytest.raises(StateError, match=REFUSED):
            list(readiness(file))


class TestMissingCheckpoints:
    def test_what_was_taken_in_is_not_forgotten_without_a_word(self, tmp_path: Path) -> None:
        file = crashed(tmp_path)
        for path in file.state.dir.glob("checkpoint-*"):
            path.unlink()
        for rest in ("progress", "journal-*"):  # one of them is enough to tell
            with pytest.raises(StateError, match="its checkpoints are missing; restore an intact copy of the folder"):
                again(file).run()
            max(file.state.dir.glob(rest)).unlink()

    def test_of_a_first_start_that_was_killed(self, tmp_path: Path) -> None:
        """Before its first checkpoint nothing was taken in: it begins anew."""
        file = place(tmp_path, window="{count: 1000}")
        pipe, _ = poured(file, [b"never read"])
        pipe._checkpoint = lambda: (_ for _ in ()).throw(Crash())  # type: ignore[method-assign]
        with pytest.raises(Crash):
            pipe.run()
        assert list(file.state.dir.glob("journal-*")) and not list(file.state.dir.glob("checkpoint-*"))
        assert again(file).run().received == 0


class TestUnused:
    """What was never acknowledged may be torn: a crash does that."""

    @pytest.mark.parametrize("end", [b"\0\0\0\x70half an entry", b"\0" * 500, b"x", b"garbage" * 100])
    def test_an_end_that_was_never_used_is_left_out(self, tmp_path: Path, end: bytes) -> None:
        file = crashed(tmp_path)
        journal(file).write_bytes(journal(file).read_bytes() + end)
        assert again(file).run().released == 6

    def test_a_journal_that_was_never_used(self, tmp_path: Path) -> None:
        file = crashed(tmp_path)
        number = int(journal(file).name.removeprefix("journal-")) + 1
        (file.state.dir / f"journal-{number:010}").write_bytes(b"shoal-2\nhalf a header")
        assert again(file).run().released == 6


class TestAcceptedLoss:
    def test_it_goes_on_and_counts(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        file = crashed(tmp_path)
        data = journal(file).read_bytes()
        journal(file).write_bytes(flipped(len(data) - 5)(data))
        pipe = again(file, accept_loss=True)
        with caplog.at_level(logging.WARNING):
            pipe.run()
        assert pipe.lost == 1
        assert "accepted a loss: 1 journal entry with 1 record, and 5 tuples that waited" in caplog.text
        after, _ = poured(file, [lines([record(i)]).encode() for i in range(6, 9)])
        assert after.run().received == 9 and after.lost == 1
        rows = (tmp_path / "trace.jsonl").read_text()
        assert [f'"row": {row}' in rows for row in (5, 6, 8)] == [False, True, True]

    def test_without_damage_it_changes_nothing(self, tmp_path: Path) -> None:
        pipe = again(crashed(tmp_path), accept_loss=True)
        assert pipe.run().released == 6 and pipe.lost == 0

    @pytest.mark.parametrize("at", [HEADER + 200, -5])
    def test_what_is_in_the_output_stays_and_nothing_leaves_twice(self, tmp_path: Path, at: int) -> None:
        """The source could give the lost records again; they may have left already, so it goes on behind them."""
        file = place(tmp_path, 400, window="{count: 60}")
        pipe = Small(tmp_path)
        real, left = pipe._deliver, [6]

        def deliver(*arguments: object) -> None:
            left[0] -= 1
            if not left[0]:
                raise Crash
            real(*arguments)  # type: ignore[arg-type]

        pipe._deliver = deliver  # type: ignore[method-assign]
        with pytest.raises(Crash):
            pipe.run()
        data, before = journal(file).read_bytes(), (tmp_path / "clean.jsonl").read_bytes()
        journal(file).write_bytes(flipped(at % len(data))(data))
        knowing = Pipe(file)
        knowing.accept_loss()
        stats = knowing.run()
        after = (tmp_path / "clean.jsonl").read_bytes()
        assert after.startswith(before) and len(after.splitlines()) < 400 == stats.received
        assert knowing.sequence == len(after.splitlines())
        rows = [json.loads(line)["row"] for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
        assert len(set(rows)) == len(rows)

    def test_a_state_before_the_loss_is_not_used_again(self, tmp_path: Path) -> None:
        file = crashed(tmp_path)
        data = journal(file).read_bytes()
        journal(file).write_bytes(data[: len(data) - 5])
        pipe = again(file, accept_loss=True)
        pipe._flow = lambda *_: (_ for _ in ()).throw(Crash())  # type: ignore[method-assign]
        with pytest.raises(Crash):
            pipe.run()
        max(file.state.dir.glob("checkpoint-*")).write_bytes(b"")
        with pytest.raises(StateError, match=REFUSED):
            again(file).run()


class TestHeader:
    @pytest.mark.parametrize("at", [8, 15, 16, 30, 34])
    def test_a_damaged_key_id_is_damage_and_no_other_key(
        self, tmp_path: Path, at: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        file = place(tmp_path, 100, window="{count: 1000}", follow=True)
        stopped(file)
        newest = max(file.state.dir.glob("checkpoint-*"))
        newest.write_bytes(flipped(at)(newest.read_bytes()))
        pipe = Pipe(file)
        pipe.stop(drain=True)
        assert pipe.run().released == 100
        assert "is damaged; the one before it is used" in caplog.text

    def test_a_state_of_the_version_before_is_refused(self, tmp_path: Path) -> None:
        file = place(tmp_path, 100, window="{count: 1000}", follow=True)
        stopped(file)
        for path in file.state.dir.iterdir():
            path.write_bytes(path.read_bytes().replace(b"shoal-2\n", b"shoal-1\n"))
        with pytest.raises(
            StateError, match="was written by another version of shoal; let what is held leave with that version"
        ):
            Pipe(file).run()
