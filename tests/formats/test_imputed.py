"""IoT Anonymization's imputed groups: a value with how many members its group has and how many had a value."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from shoal.column_types import interval
from shoal.formats import open_writer

BATCH = pa.RecordBatch.from_pydict(
    {
        "age": pa.array(
            [{"value": {"lo": 18.0, "hi": 20.0}, "of": 3, "had": 3}, {"value": {"lo": 1.5, "hi": 2.0}}, None],
            pa.struct([("value", interval(pa.float64())), ("of", pa.int64()), ("had", pa.int64())]),
        ),
        "sex": pa.StructArray.from_arrays(
            [pa.array(["Male", 'a "b"', None]).dictionary_encode(), pa.array([3, None, None]), pa.array([2, None, None])],
            ["value", "of", "had"],
            mask=pa.array([False, False, True]),
        ),
    }
)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (
            "jsonl",
            '{"age": {"value": [18, 20], "of": 3, "had": 3}, "sex": {"value": "Male", "of": 3, "had": 2}}\n'
            '{"age": [1.5, 2], "sex": "a \\"b\\""}\n'
            '{"age": null, "sex": null}\n',
        ),
        (
            "csv",
            "age,sex\n"
            '"{""value"": [18, 20], ""of"": 3, ""had"": 3}","{""value"": ""Male"", ""of"": 3, ""had"": 2}"\n'
            '"[1.5, 2]","a ""b"""\n'
            ",\n",
        ),
    ],
)
def test_imputed_values_are_objects_and_others_plain(tmp_path: Path, suffix: str, text: str) -> None:
    target = tmp_path / f"out.{suffix}"
    with open_writer(str(target)) as writer:
        writer.write(BATCH)
    assert target.read_text() == text
