"""What lies under a null: nothing of the group, and nothing of the record."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.anonymizer import Anonymizer
from shoal.columns.floats import blank_nulls
from shoal.policy import Policy

POLICY = """
person: pid
attributes:
  age:  {{quasi: numeric, range: [0, 100], grid: 5}}
  city: {{quasi: categorical, hierarchy: {{World: {{France: [Paris, Lyon], Norway: [Oslo]}}}}}}
  note: {{keep: true, why: it is one of few}}
privacy: {{k: 2, nulls_match: {match}}}
window: {{count: 4}}
algorithm: {{name: fads}}
"""


def hidden(array: pa.Array) -> bytes:
    """All bytes of a column, also those under nulls, but for the bitmaps of nulls."""
    return b"".join(buffer.to_pybytes() for buffer in array.buffers()[1:] if buffer is not None)


@pytest.mark.parametrize("match", ["maybe", "blurred", "extended"])
def test_the_groups_interval_does_not_lie_under_a_null(match: str) -> None:
    policy = Policy.parse(POLICY.format(match=match).replace("  note: {keep: true, why: it is one of few}\n", ""))
    anonymizer = Anonymizer(policy)
    rows = [{"pid": i, "age": None if i % 2 else 77, "city": None if i % 2 else "Oslo"} for i in range(4)]
    anonymizer.push_batch(pa.RecordBatch.from_pylist(rows))
    released = anonymizer.flush()
    assert len(released) == 4
    ages = released.column("age")
    for row in range(4):
        if not ages[row].is_valid:
            for end in range(2):
                values = ages.field(end).to_numpy(zero_copy_only=False)
                assert values[row] == 0


@pytest.mark.parametrize("array", [
    pa.array([1, 42]), pa.array(["a", "needle"]), pa.array([1.0, 42.0]), pa.array([[1], [42]]), pa.array([{"x": 1}, {"x": 42}]),
])  # fmt: skip
def test_what_is_passed_through_is_blank_under_nulls(array: pa.Array) -> None:
    children = [array.field(i) for i in range(array.type.num_fields)] if pa.types.is_struct(array.type) else None
    children = [array.values] if pa.types.is_list(array.type) else children
    masked = pa.Array.from_buffers(
        array.type, 2, [pa.py_buffer(bytes([1])), *array.buffers()[1 : 1 if pa.types.is_struct(array.type) else 3]][
            : 1 if pa.types.is_struct(array.type) else 2 if children else None
        ], children=children,
    )  # fmt: skip
    assert masked.to_pylist() == [array[0].as_py(), None]
    blank = blank_nulls(masked)
    assert blank.to_pylist() == masked.to_pylist()
    assert b"needle" not in hidden(blank) and b"\x2a\0\0\0\0\0\0\0" not in hidden(blank)
