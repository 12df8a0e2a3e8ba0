"""The stream: its length, its rows, its missing values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shoal.bench import Adult, plain
from shoal.datasets import losses
from shoal.datasets.adult import QUASI, SENSITIVE, folder
from shoal.errors import InputError
from tests.bench.adult import ROWS, TINY

pytestmark = pytest.mark.slow

NAMES = [*QUASI, SENSITIVE]
COMPLETE = ROWS - ROWS // 10


def test_every_row_without_a_gap_comes_once_a_round(data: Path) -> None:
    adult = Adult(data / "adult")
    table = pa.Table.from_batches(adult.stream(2 * COMPLETE, replace(TINY, missing=0)))
    lines = (data / "adult" / "adult.data").read_text().splitlines()
    kept = sorted(line for line in lines if line and "?" not in line)
    rows = [", ".join(map(str, row.values())) for row in table.to_pylist()]
    assert table.schema.names == NAMES
    assert sorted(rows[:COMPLETE]) == sorted(rows[COMPLETE:]) == kept
    assert rows[:COMPLETE] != rows[COMPLETE:]


def test_the_stream_is_the_same_each_time(data: Path) -> None:
    one, other = (Adult(data / "adult").stream(500, TINY) for _ in range(2))
    assert one == other
    assert [batch.num_rows for batch in one] == [64] * 7 + [52]


def test_labels_are_dictionaries_or_strings(data: Path) -> None:
    batch = Adult(data / "adult").stream(50, TINY)[0]
    assert pa.types.is_dictionary(batch.schema.field("sex").type)
    assert plain(batch).schema.field("sex").type == pa.string()
    assert plain(batch).to_pylist() == batch.to_pylist()


@pytest.mark.parametrize("most", [0, 1, 3, 13])
def test_counts_of_missing_values_are_equally_frequent_and_places_uniform(most: int) -> None:
    lost = losses(14_000, 14, most, np.random.default_rng(1))
    counts = np.bincount(lost.sum(axis=0), minlength=most + 1)
    assert len(counts) == most + 1
    assert counts.max() - counts.min() <= 1
    expected = lost.sum() / 14
    assert (np.abs(lost.sum(axis=1) - expected) < 6 * np.sqrt(expected + 1)).all()


def test_the_places_of_the_data(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATA", str(data))
    assert folder() == data / "adult"
    with pytest.raises(InputError, match="no Adult data in "):
        folder(tmp_path)
    monkeypatch.delenv("SHOAL_DATA")
    monkeypatch.chdir(data.parent)
    (tmp_path / "data").symlink_to(data)
    monkeypatch.chdir(tmp_path)
    assert folder() == Path("data/adult")


def test_an_empty_source_is_refused(data: Path, tmp_path: Path) -> None:
    home = tmp_path / "adult"
    home.mkdir()
    (home / "hierarchies").symlink_to(data / "adult" / "hierarchies")
    (home / "adult.data").write_text("")
    with pytest.raises(InputError, match="download it again"):
        Adult(home).stream(10, TINY)
