from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from infer.base import records, write
from shoal.errors import InputError
from shoal.formats import field_names


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".arrow"])
def test_the_fields_of_each_format(tmp_path: Path, suffix: str) -> None:
    assert field_names(str(write(tmp_path, suffix, records(20)))) == list(records(1)[0])


def test_an_arrow_stream(tmp_path: Path) -> None:
    table = pa.table({"a": [1], "b": [2]})
    with pa.ipc.new_stream(tmp_path / "stream.arrow", table.schema) as writer:
        writer.write_table(table)
    assert field_names(str(tmp_path / "stream.arrow")) == ["a", "b"]


def test_a_name_that_comes_twice(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="has two columns named 'a'; rename one of them"):
        field_names(str(tmp_path / "x.parquet"))
