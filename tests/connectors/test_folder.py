from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from connectors.conformance import Feed, SourceConformance, deliveries, drained
from shoal.connectors.folder_source import FolderSource
from shoal.errors import ConnectorError


class FolderFeed(Feed):
    def __init__(self, path: Path, after: str = "keep") -> None:
        self.path, self._after, self._names = path, after, itertools.count()
        path.mkdir()

    def source(self) -> FolderSource:
        return FolderSource(FolderSource.Settings.model_validate({"path": self.path, "after": self._after}))

    def give(self, numbers: range) -> None:
        """Two files, each under another name until it is whole."""
        middle = (numbers.start + numbers.stop) // 2
        for part in (range(numbers.start, middle), range(middle, numbers.stop)):
            hidden = self.path / ".draft"
            hidden.write_text("".join(json.dumps({"n": number}) + "\n" for number in part))
            hidden.rename(self.path / f"{next(self._names):05}.jsonl")


class TestSource(SourceConformance):
    knows_its_reader = False

    @pytest.fixture
    def feed(self, tmp_path: Path) -> FolderFeed:
        return FolderFeed(tmp_path / "drop")


def test_files_that_are_still_written_are_left_alone(tmp_path: Path) -> None:
    feed = FolderFeed(tmp_path / "drop")
    for name in (".a.jsonl", "_b.jsonl", "c.jsonl.part", "d.csv"):
        (feed.path / name).write_text('{"n": 99}\n')
    feed.give(range(4))
    source = feed.source()
    source.begin(None)
    assert drained(source, 4)[0] == [0, 1, 2, 3]
    assert source.read(0) is None
    assert source.lag == 0


def test_what_two_checkpoints_cover_is_deleted(tmp_path: Path) -> None:
    feed = FolderFeed(tmp_path / "drop", after="delete")
    source = feed.source()
    source.begin(None)
    feed.give(range(10))
    some = list(deliveries(source, 10))
    source.acknowledge(some[0].position)  # the end of its file was not seen yet
    assert len(list(feed.path.iterdir())) == 2
    source.acknowledge(some[1].position)
    assert [path.name for path in feed.path.iterdir()] == ["00001.jsonl"]
    feed.give(range(10, 12))
    _, position = drained(source, 2)
    assert position["done"] == ["00001.jsonl", "00002.jsonl"]  # what is gone is forgotten
    source.close()


def test_other_columns(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("n,city\n1,Oslo\n")
    (tmp_path / "2.csv").write_text("city,n\nOslo,2\n")
    source = FolderSource(FolderSource.Settings(path=tmp_path, pattern="*.csv"))
    source.begin(None)
    assert source.read(0)
    with pytest.raises(ConnectorError) as error:
        source.read(0)
    source.close()
    said = "has other columns than the files before it; put it into a folder of its own"
    assert str(error.value) == f"{tmp_path / '2.csv'}: {said}"


def test_a_file_that_must_come_again_is_gone(tmp_path: Path) -> None:
    feed = FolderFeed(tmp_path / "drop")
    source = feed.source()
    beginning = source.begin(None)
    feed.give(range(4))
    _, position = drained(source, 4)
    source.close()
    (feed.path / "00000.jsonl").unlink()
    again = feed.source()
    again.begin(beginning)
    with pytest.raises(ConnectorError) as error:
        again.replay(position)
    assert str(error.value) == f"{feed.path / '00000.jsonl'}: no longer exists, and must be read again; restore it"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConnectorError) as error:
        FolderSource(FolderSource.Settings(path=tmp_path / "none")).begin(None)
    assert str(error.value) == f"{tmp_path / 'none'}: is not a folder; create it, or correct the path"
