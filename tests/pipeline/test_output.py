"""An output file that others touch: removed, replaced, cut or overwritten, while the pipeline runs and while it does not."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.errors import ConnectorError
from shoal.pipeline import Pipe, PipelineFile, readiness

from .base import outputs, place
from .pipes import COUNT, Small, stopped

Touch = Callable[[Path], object]


def replaced(path: Path) -> None:
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(10)


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more\n")


def overwritten(path: Path) -> None:
    data = path.read_bytes()
    middle = len(data) // 3
    path.write_bytes(data[:middle] + b"x" + data[middle + 1 :])


def overwritten_later(path: Path) -> None:
    """In another tick of the file system's clock."""
    time.sleep(0.02)
    overwritten(path)


WHILE_IT_RUNS = [
    (Path.unlink, "was removed or replaced while the pipeline wrote to it; restore that file"),
    (replaced, "was removed or replaced while the pipeline wrote to it; restore that file"),
    (cut, "was cut while the pipeline wrote to it; restore the file that was written"),
    (overwritten_later, r"before byte \d+ it is not what the pipeline wrote; restore that file"),
    (appended, "was written to by others while the pipeline wrote to it; restore the file that was written"),
]


@pytest.mark.parametrize("name", ["clean.jsonl", "trace.jsonl"])
@pytest.mark.parametrize(("touch", "said"), WHILE_IT_RUNS)
def test_while_it_runs(tmp_path: Path, touch: Touch, said: str, name: str) -> None:
    place(tmp_path, 400, window=COUNT)
    pipe = Small(tmp_path)
    real, calls = pipe._deliver, []

    def deliver(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        if pipe.sequence and not calls:
            calls.append(touch(tmp_path / name))

    pipe._deliver = deliver  # type: ignore[method-assign]
    with pytest.raises(ConnectorError, match=f"{name}: {said}"):
        pipe.run()


def test_it_is_noticed_although_nothing_is_written(tmp_path: Path) -> None:
    """At the next checkpoint, at the latest when it stops."""
    file = place(tmp_path, 100, window=COUNT, follow=True)
    pipe = Pipe(file)
    real = pipe._deliver

    def deliver(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        (tmp_path / "clean.jsonl").unlink()
        pipe.stop()

    pipe._deliver = deliver  # type: ignore[method-assign]
    with pytest.raises(ConnectorError, match="was removed or replaced"):
        pipe.run()


def test_overwritten_after_the_last_write(tmp_path: Path) -> None:
    """A later checkpoint does not take it for its own."""
    file = place(tmp_path, 300, window=COUNT, follow=True)
    pipe = Pipe(file)
    real = pipe._deliver

    def deliver(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        overwritten_later(tmp_path / "clean.jsonl")
        pipe.stop()

    pipe._deliver = deliver  # type: ignore[method-assign]
    pipe.run()
    with pytest.raises(ConnectorError, match=r"before byte \d+ it is not what the pipeline wrote"):
        Pipe(file).run()


def test_a_file_that_is_touched_and_the_same_serves(tmp_path: Path) -> None:
    place(tmp_path, 400, window=COUNT)
    pipe = Small(tmp_path)
    real = pipe._deliver

    def deliver(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        os.utime(tmp_path / "clean.jsonl")

    pipe._deliver = deliver  # type: ignore[method-assign]
    assert pipe.run().released == 400


class TestWhileItIsStopped:
    def placed(self, folder: Path) -> PipelineFile:
        file = place(folder, 300, window=COUNT, follow=True)
        stopped(file)
        return file

    @pytest.mark.parametrize("touch", [overwritten, lambda path: path.write_bytes(b"x" * path.stat().st_size)])
    @pytest.mark.parametrize("name", ["clean.jsonl", "trace.jsonl"])
    def test_overwritten_with_the_same_size(self, tmp_path: Path, touch: Touch, name: str) -> None:
        file = self.placed(tmp_path)
        touch(tmp_path / name)
        for start in (lambda: list(readiness(file)), Pipe(file).run):
            with pytest.raises(ConnectorError, match=rf"{name}: before byte \d+ it is not what the pipeline wrote"):
                start()

    def test_a_copy_of_it_serves(self, tmp_path: Path) -> None:
        file = self.placed(tmp_path)
        replaced(tmp_path / "clean.jsonl")
        before = outputs(tmp_path)
        pipe = Pipe(file)
        pipe.stop()
        pipe.run()
        assert outputs(tmp_path) == before


def test_the_trace_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    Pipe(place(tmp_path, 10)).run()
    assert (tmp_path / "trace.jsonl").stat().st_mode & 0o077 == 0
