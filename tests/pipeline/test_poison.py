"""Input that is poison: open quotes, records that are too long, floods of rejects, files that were cut and refilled."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import shoal.connectors.file as files
import shoal.connectors.text_buffer as text_buffer
import shoal.formats.reading.jsonl_regular as jsonl_regular
from shoal.connectors.text_buffer import TextBuffer
from shoal.errors import ConnectorError
from shoal.pipeline import Pipe, PipelineFile
from shoal.pipeline.journal import Entry

from .base import Crash, lines, outputs, place, record
from .pipes import poured

LETTERS = "dead_letters: {file: dead.jsonl}"


def letters(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "dead.jsonl").read_text().splitlines()]


def csv_place(folder: Path, text: str) -> PipelineFile:
    place(folder, window="{count: 1000}", follow=True, more=LETTERS)
    path = folder / "pipeline.yaml"
    path.write_text(path.read_text().replace("raw.jsonl", "raw.csv"))
    (folder / "raw.csv").write_text("pid,t,age,city,disease\n" + text)
    return PipelineFile.load(path)


def followed(file: PipelineFile, received: int) -> Pipe:
    """Run a pipeline until it has received so many records."""
    pipe = Pipe(file)
    running = threading.Thread(target=pipe.run)
    running.start()
    until = time.monotonic() + 60
    while pipe.anonymizer.received < received and time.monotonic() < until:
        time.sleep(0.02)
    pipe.stop()
    running.join()
    return pipe


def test_an_open_quote_in_a_followed_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "UNFINISHED", 0.2)
    good = "".join(f"{i},{i / 10},{i},Paris,d\n" for i in range(20))
    file = csv_place(tmp_path, good + '1,2,3,"Oslo,d\n' + good)
    pipe = followed(file, 41)
    (letter,) = letters(tmp_path)
    assert (letter["row"], letter["line"]) == (21, 22)
    assert letter["reason"] == "a quoted value is not closed; close it, or double the quotes inside it"
    assert pipe.anonymizer.stats.held == 40  # type: ignore[union-attr]
    again = Pipe(file)
    again.stop(drain=True)
    assert again.run().released == 40


class TestOverlong:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (text_buffer, jsonl_regular):
            monkeypatch.setattr(module, "LONGEST", 4096)

    def test_a_line_is_a_dead_letter_and_the_stream_goes_on(self, tmp_path: Path) -> None:
        file = place(tmp_path, window="{count: 1000}", more=LETTERS)
        long = lines([record(3, note="x" * 9_000_000)])
        (tmp_path / "raw.jsonl").write_text(lines([record(1)]) + long + lines([record(5)]))
        stats = Pipe(file).run()
        (letter,) = letters(tmp_path)
        assert letter["row"] == 2 and letter["reason"] == "longer than 0 MB; give shorter lines" and stats.released == 2

    @pytest.mark.parametrize("kind", ["jsonl", "csv"])
    @pytest.mark.parametrize("chunk", [1, 7, 1000, 100_000])
    def test_it_does_not_matter_how_the_text_is_cut(self, kind: str, chunk: int) -> None:
        text = b"short\n" + b"x" * 5000 + b"\n" + b"y" * 4095 + b"\n" + b"z" * 4096 + b"\nlast\n" + b"w" * 9000
        buffer, found = TextBuffer(kind), b""
        size = 0
        for start in range(0, len(text), chunk):
            buffer.add(text[start : start + chunk])
            while taken := buffer.take():
                found, size = found + taken[0], size + taken[1]
            assert buffer.size <= 4096 + chunk or buffer._passed
            assert len(buffer._data) <= 4096 + chunk
        while taken := buffer.rest():
            found, size = found + taken[0], size + taken[1]
        wrong = {"jsonl": b'"a line that is too long"\n', "csv": b'"a record that is too long\n'}[kind]
        assert found == b"short\n" + wrong + b"y" * 4095 + b"\n" + wrong + b"last\n" + wrong
        assert size == len(text) and buffer.tail == text[-text_buffer.TAIL :]


class TestFlood:
    """Many rejects in one delivery."""

    def test_letters_are_bounded_and_summed_up(self, tmp_path: Path) -> None:
        file = place(tmp_path, window="{count: 1000}", more=LETTERS)
        pipe, _ = poured(file, [b"{}\n" * 100_000, b"{\n" * 3 + lines([record(1)]).encode()])
        moments = iter([1000.0, 1000.0, 1000.5, 1000.5, *[1002.0] * 9])  # the manifest asks first
        pipe._today = lambda: next(moments)
        stats = pipe.run()
        found = letters(tmp_path)
        assert [letter["row"] for letter in found[:100]] == list(range(1, 101)) and len(found) == 102
        assert (found[100]["row"], found[100]["count"]) == (101, 99_900)
        assert (found[100]["last"], found[100]["field"]) == (100_000, "pid")
        assert (found[101]["row"], found[101]["last"], found[101]["count"]) == (100_001, 100_003, 3)
        assert stats.rejected == 100_003

    def test_sums_do_not_wait_for_another_reject(self, tmp_path: Path) -> None:
        file = place(tmp_path, window="{count: 1000}", more=LETTERS)
        pipe, _ = poured(file, [b"{}\n" * 150, lines([record(1)]).encode()])
        seconds, found, real = iter(range(1000, 1100)), [], pipe._take_in
        pipe._today = lambda: next(seconds)

        def taken(*arguments: Any) -> None:
            found.append(len(letters(tmp_path)))
            real(*arguments)

        pipe._take_in = taken  # type: ignore[method-assign]
        pipe.run()
        assert found[0] == 0 and found[-1] == 101

    @pytest.mark.parametrize("later", [0.0, 2.0])
    def test_sums_wait_neither_for_a_delivery_nor_for_the_next_start(self, tmp_path: Path, later: float) -> None:
        """They are written when the second is over, or at the latest when it stops."""
        file = place(tmp_path, window="{count: 1000}", follow=True, more=LETTERS)
        (tmp_path / "raw.jsonl").write_text("{}\n" * 150)
        pipe, begun = Pipe(file), time.time()
        pipe._today = lambda: begun + (later if len(letters(tmp_path)) >= 100 else 0.0)
        read, calls = pipe.source.read, [0]

        def reading(seconds: float) -> Any:
            calls[0] += 1
            if calls[0] == 4:
                assert len(letters(tmp_path)) == (101 if later else 100)
                pipe.stop()
            return read(seconds)

        pipe.source.read = reading  # type: ignore[method-assign]
        pipe.run()
        assert letters(tmp_path)[100]["count"] == 50

    def test_a_crash_changes_nothing(self, tmp_path: Path) -> None:
        deliveries = [b"{}\n" * 150, lines(record(i) for i in range(90)).encode(), b"{\n" * 30] * 4
        found = []
        for name, crash in (("straight", False), ("crashed", True)):
            folder = tmp_path / name
            folder.mkdir()
            file = place(folder, window="{count: 60}", more=LETTERS, checkpoint="1ms")
            ticks = iter(range(10**6))
            left = list(deliveries)
            for _ in range(40 if crash else 1):
                pipe, source = poured(file, left)
                pipe._today = lambda: 1000 + next(ticks) / 3  # noqa: B023
                calls, real = [0], pipe._take_in
                source.read_in_all = len(deliveries) - len(left)

                def taken(*arguments: Any) -> None:
                    real(*arguments)  # noqa: B023
                    calls[0] += 1  # noqa: B023
                    if crash and calls[0] == 3:  # noqa: B023
                        raise Crash

                pipe._take_in = taken  # type: ignore[method-assign]
                try:
                    pipe.run()
                    break
                except Crash:
                    left = left[source.read_in_all - len(deliveries) + len(left) :]
            found.append((outputs(folder), [letter["row"] for letter in letters(folder)][:100]))
        assert found[0][0][0] == found[1][0][0]

    def test_ticks_come_within_a_delivery(self, tmp_path: Path) -> None:
        """And at the same rows in a replay."""
        file = place(tmp_path, window="{time: 10s}", follow=True)
        (tmp_path / "raw.jsonl").write_text(lines(record(i, i / 1e6) for i in range(100)) + "{}\n" * 100_000)
        now = [0.0]

        def monotonic() -> float:
            now[0] += 0.1
            return now[0]

        pipe = Pipe(file, monotonic=monotonic)
        apply, applied = pipe._apply, []

        def noted(entry: Entry, *rest: Any) -> None:
            apply(entry, *rest)
            applied.append((entry.kind, (entry.position or {}).get("row")))
            if entry.kind == "delivery":
                raise Crash

        pipe._apply = noted  # type: ignore[method-assign]
        with pytest.raises(Crash):
            pipe.run()
        within = [row for kind, row in applied if kind == "tick" and row is not None]
        assert len(within) > 2 and 100 < within[1] < 100_000
        again = Pipe(file, monotonic=lambda: 0.0)
        apply, live = again._apply, list(applied)

        def replayed(entry: Entry, *rest: Any) -> None:
            applied.append((entry.kind, (entry.position or {}).get("row")))
            apply(entry, *rest)

        again._apply = replayed  # type: ignore[method-assign]
        applied.clear()
        again.stop()
        again.run()
        assert [each for each in applied if each[0] == "tick"] == [each for each in live if each[0] == "tick"]
        assert again._clock.now == pytest.approx(pipe.anonymizer._engine._lane.now)  # type: ignore[attr-defined]


@pytest.mark.parametrize("refilled", [500, 100])
def test_a_followed_file_that_was_cut_and_refilled(tmp_path: Path, refilled: int) -> None:
    """Between two looks: its length alone does not tell, what lies before the position does."""
    file = place(tmp_path, 100, window="{count: 1000}", follow=True)
    pipe = Pipe(file)
    real = pipe._deliver

    def deliver(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        with (tmp_path / "raw.jsonl").open("r+") as raw:
            raw.truncate(0)
            raw.write(lines(record(i + 7) for i in range(refilled)))

    pipe._deliver = deliver  # type: ignore[method-assign]
    with pytest.raises(ConnectorError, match="was replaced or cut while it was followed"):
        threading.Timer(20, pipe.stop).start()
        pipe.run()


@pytest.mark.parametrize("text", [
    '{"pid": 1, "pid": 2, "t": 1, "age": 3}', '{"pid": 1, "t": 1, "age": 3, "age": 4}',
    '{"pid": 1, "t": 1, "\\u0061ge": 3, "age": 4}', '{"pid": 1,\n"pid": 2, "t": 1, "age": 3}',
])  # fmt: skip
@pytest.mark.parametrize("others", [0, 300])
def test_doubled_keys_are_rejected(tmp_path: Path, text: str, others: int) -> None:
    file = place(tmp_path, window="{count: 1000}")
    good = lines(record(i) for i in range(others)).encode()
    pipe, _ = poured(file, [good, text.encode(), good + text.replace("\n", " ").encode() + b"\n" + good])
    stats = pipe.run()
    assert stats.released == 3 * others and stats.rejected >= 2


def test_doubled_keys_that_nobody_asked_for(tmp_path: Path) -> None:
    file = place(tmp_path, window="{count: 1000}")
    pipe, _ = poured(file, [b'{"pid": 1, "t": 1, "age": 3, "note": 1, "note": 2}\n'])
    assert pipe.run().rejected == 0


def test_dead_letters_of_a_csv_name_its_lines(tmp_path: Path) -> None:
    """Also after a restart, when the parser begins in the middle of the file."""
    good = "".join(f'{i},{i / 10},{i},"Paris",d\n' for i in range(20))
    file = csv_place(tmp_path, good + '1,2,3,"Atlantis",d\n\n1,2,3,"Atl\nantis",d\n' + good)
    followed(file, 42)
    with (tmp_path / "raw.csv").open("a") as raw:
        raw.write(good + "1,2,3,Atlantis,d\n")
    followed(file, 63)
    found = [(letter["row"], letter["line"]) for letter in letters(tmp_path)]
    assert found == [(21, 22), (22, 24), (63, 66)]
