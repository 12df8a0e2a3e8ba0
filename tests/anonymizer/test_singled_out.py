"""What a kept field singles out: counted on the stream, in bounded memory."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymizer import Anonymizer
from shoal.anonymizer.singled_out import KeptField
from shoal.policy import Policy

POLICY = """
person: pid
time: {field: ts, publish: keep}
attributes:
  age: {quasi: numeric, range: [0, 100]}
  note: {publish: keep}
  ill: {sensitive: true}
privacy: {k: 3}
window: {count: 10}
algorithm: {name: fads}
"""


def naive(pairs: list[tuple[int, int]], k: int) -> int:
    """Rows whose value belongs to fewer than k persons."""
    persons = defaultdict(set)
    for value, person in pairs:
        persons[value].add(person)
    return sum(len(persons[value]) < k for value, _ in pairs)


def seen(pairs: list[tuple[int, int]], k: int, cuts: int, room: int = 10_000) -> KeptField:
    field = KeptField(k, room)
    for part in np.array_split(np.array(pairs, np.uint64).reshape(-1, 2), cuts):
        values, code = np.unique(part[:, 0], return_inverse=True)
        field.see(np.append(values, np.uint64(0)), code.ravel(), part[:, 1])
    return field


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=80), st.integers(1, 5), st.integers(1, 6)
)
def test_it_counts_as_one_would_by_hand(pairs: list[tuple[int, int]], k: int, cuts: int) -> None:
    found = seen(pairs, k, cuts).found
    assert (found.rows, found.of, found.exact) == (naive(pairs, k), len(pairs), True)


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=2, max_size=80), st.integers(1, 5))
def test_it_goes_on_from_what_was_saved(pairs: list[tuple[int, int]], k: int) -> None:
    half = len(pairs) // 2
    first, again = seen(pairs[:half] or pairs[:1], k, 1), KeptField(k)
    again.restore(first.saved())
    rest = pairs[half:] if half else pairs[1:]
    values, code = np.unique(np.array(rest, np.uint64)[:, 0], return_inverse=True)
    again.see(values, code.ravel(), np.array(rest, np.uint64)[:, 1])
    assert again.found.rows == naive(pairs, k)


def test_beyond_its_room_it_estimates_and_stays_small() -> None:
    draw = np.random.default_rng(1)
    field, rows = KeptField(3, room=1000), 200_000
    for start in range(0, rows, 10_000):
        rare = draw.integers(1, 2**63, 5_000, np.uint64)  # each of a person of its own
        common = np.array([draw.integers(1, 50) * 2**57 + 12_345 for _ in range(5_000)], np.uint64)
        values, code = np.unique(np.concatenate([rare, common]), return_inverse=True)
        field.see(values, code.ravel(), np.arange(start, start + 10_000, dtype=np.uint64))
    found = field.found
    assert not found.exact and found.of == rows
    assert abs(found.rows - rows / 2) < rows / 10
    assert sum(map(len, field.saved().values())) < 4_000


def records() -> list[dict[str, object]]:
    return [{"pid": n % 20, "ts": n, "age": n % 90, "note": "x" if n % 2 else f"n{n}", "ill": "flu"} for n in range(200)]


def test_the_statistics_tell_it_field_by_field() -> None:
    anonymizer = Anonymizer(Policy.parse(POLICY))
    anonymizer.push_batch(pa.RecordBatch.from_pylist(records()))
    found = anonymizer.stats.kept  # type: ignore[union-attr]
    assert {name: (each.rows, each.of) for name, each in found.items()} == {
        "ts": (200, 200),
        "note": (100, 200),
        "ill": (0, 200),
    }


def test_a_snapshot_carries_it_without_values() -> None:
    whole, first, second = (Anonymizer(Policy.parse(POLICY)) for _ in range(3))
    batch = pa.RecordBatch.from_pylist(records())
    whole.push_batch(batch)
    first.push_batch(batch.slice(0, 77))
    second.restore(first.snapshot())
    second.push_batch(batch.slice(77))
    assert second.stats.kept == whole.stats.kept  # type: ignore[union-attr]


def test_records_one_by_one_count_as_in_one_batch() -> None:
    """Some notes are missing, so that columns change their type; more records than are counted together; a snapshot between."""
    made = [{"pid": i % 7, "ts": i, "age": i % 90, "note": f"n{i % 40}" if i % 3 else None, "ill": "flu"} for i in range(600)]
    whole, alone = Anonymizer(Policy.parse(POLICY)), Anonymizer(Policy.parse(POLICY))
    whole.push_batch(pa.RecordBatch.from_pylist(made))
    for record in made[:450]:
        alone.push(record)
    other = Anonymizer(Policy.parse(POLICY))
    other.restore(alone.snapshot())
    for record in made[450:]:
        other.push(record)
    assert other.stats.kept == whole.stats.kept  # type: ignore[union-attr]
    assert whole.stats.kept["note"].of == 400  # type: ignore[union-attr]
