"""Pipes that read little at a time, stop early, or are poured into."""

from __future__ import annotations

from pathlib import Path

from shoal.anonymizer import Stats
from shoal.connectors.connector import Delivery, Position, Source
from shoal.pipeline import Pipe, PipelineFile

COUNT = "{count: 60}"


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
