from __future__ import annotations

import errno
import json
from pathlib import Path

import pyarrow as pa
import pytest

from connectors.conformance import Feed, SinkConformance, SourceConformance, Store
from shoal.connectors.connector import Position
from shoal.connectors.file import FileSink, FileSource
from shoal.errors import ConnectorError
from shoal.formats import open_writer


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


def test_a_table_whose_last_rows_cannot_be_read(tmp_path: Path) -> None:
    wrong = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\x01\0\0\0"), pa.py_buffer(b"\xff"))
    path, schema = tmp_path / "raw.arrow", pa.schema([("n", pa.string())])
    with pa.ipc.new_file(path, schema) as writer:
        for column in (pa.array(["1"]), wrong, pa.array([], pa.string())):
            writer.write_batch(pa.record_batch([column], schema=schema))
    source = FileSource(FileSource.Settings(path=path))
    source.fields = ["n"]
    beginning = source.begin(None)
    found = []
    while not source.ended:
        found += [delivery] if (delivery := source.read(0)) else []
    assert [(block.rows.tolist(), [row for row, _ in block.bad]) for (block,), _ in found] == [([0], []), ([], [1])]
    again = FileSource(FileSource.Settings(path=path))
    again.fields = ["n"]
    again.begin(beginning)
    assert [len(again.replay(position)) for _, position in found] == [1, 1]
    later = FileSource(FileSource.Settings(path=path))
    later.fields = ["n"]
    later.begin(found[-1].position)
    assert later.read(0) is None and later.ended


def test_a_disk_that_is_full_is_told_when_it_is_hardened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = FileSink(FileSink.Settings(path=tmp_path / "clean.jsonl"))
    sink.begin(None, 0)

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ConnectorError) as error:
        sink.make_durable()
    sink.close()
    said = "cannot be written (no space left on device); make room, and start again"
    assert str(error.value) == f"{tmp_path / 'clean.jsonl'}: {said}"


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_another_file_under_the_same_name_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"raw.{kind}"

    def write(numbers: range) -> None:
        with open_writer(str(path)) as writer:
            writer.write(pa.record_batch({"n": numbers}))

    def begun(position: Position | None) -> FileSource:
        source = FileSource(FileSource.Settings(path=path))
        source.fields = ["n"]
        source.begin(position)
        return source

    write(range(10, 90))
    first = begun(None)
    delivery = first.read(0)
    assert delivery
    position = json.loads(json.dumps(delivery.position))
    begun(position).close()
    write(range(11, 91))
    with pytest.raises(ConnectorError) as error:
        begun(position)
    said = "is not the file that was read before; restore that one, or start with another state"
    assert str(error.value) == f"{path}: {said}"
    with pytest.raises(ConnectorError, match=said):
        begun({"at": 2 if kind == "csv" else 0}).replay(position)
