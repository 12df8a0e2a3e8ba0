from __future__ import annotations

import json
from pathlib import Path

import pytest

from connectors.conformance import Feed, SinkConformance, SourceConformance, Store
from shoal.connectors.file import FileSink, FileSource


class FileFeed(Feed):
    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()

    def source(self) -> FileSource:
        return FileSource(FileSource.Settings(path=self._path, follow=True))

    def give(self, numbers: range) -> None:
        with self._path.open("a") as file:
            file.write("".join(json.dumps({"n": number}) + "\n" for number in numbers))


class FileStore(Store):
    def __init__(self, path: Path) -> None:
        self._path = path

    def sink(self) -> FileSink:
        return FileSink(FileSink.Settings(path=self._path))

    def held(self) -> list[tuple[int, int]]:
        return [(json.loads(line)["n"],) * 2 for line in self._path.read_text().splitlines()]


class TestSource(SourceConformance):
    knows_its_reader = False

    @pytest.fixture
    def feed(self, tmp_path: Path) -> FileFeed:
        return FileFeed(tmp_path / "raw.jsonl")


class TestSink(SinkConformance):
    @pytest.fixture
    def store(self, tmp_path: Path) -> FileStore:
        return FileStore(tmp_path / "clean.jsonl")
