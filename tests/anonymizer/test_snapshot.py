"""Snapshots: what is refused, in which words, and that a refusal changes nothing."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import pytest

from shoal import Anonymizer, Policy, SnapshotError
from shoal.anonymizer.snapshot import Snapshot

WRITTEN: dict[str, Any] = {
    "person": "pid",
    "attributes": {"age": {"quasi": "numeric", "range": [0, 100]}, "note": {"publish": "keep"}},
    "privacy": {"k": 2},
    "window": {"count": 6},
    "algorithm": {"name": "fads"},
}
DAMAGED = "these bytes are not a snapshot, or are damaged; restore from an intact copy"
OTHER_POLICY = "a snapshot of another policy; restore it with the policy it was made under"


def anonymizer(**sections: Any) -> Anonymizer:
    return Anonymizer(Policy.parse({**WRITTEN, **sections}))


def used(**sections: Any) -> Anonymizer:
    made = anonymizer(**sections)
    for i in range(9):
        made.push({"pid": i, "age": i, "note": f"n{i}"})
    return made


def rest(made: Anonymizer) -> list[dict[str, Any]]:
    return [*made.push({"pid": 99, "age": 50, "note": "last"}), *made.to_records(made.flush())]


def refusal(data: bytes, **sections: Any) -> str:
    """Why a snapshot is refused by an anonymizer in use, which then goes on as if nothing had been."""
    expected, made = rest(used(**sections)), used(**sections)
    with pytest.raises(SnapshotError) as caught:
        made.restore(data)
    assert rest(made) == expected
    return str(caught.value)


@pytest.mark.parametrize(
    "other",
    [
        {"privacy": {"k": 3}}, {"window": {"count": 7}}, {"window": {"buffer": 6}}, {"algorithm": {"name": "idea"}},
        {"algorithm": {"name": "fads", "reuse_age": 5}}, {"person": "note2"}, {"nulls": ["?"]},
        {"attributes": {"age": {"quasi": "numeric", "range": [0, 101]}, "note": {"publish": "keep"}}},
    ],
)  # fmt: skip
def test_another_policy_is_refused(other: dict[str, Any]) -> None:
    assert refusal(anonymizer(**other).snapshot()) == OTHER_POLICY


def test_another_version_is_refused() -> None:
    made = used()
    snapshot = Snapshot.from_bytes(made.snapshot(), made.policy.fingerprint)
    newer = snapshot._replace(header={**snapshot.header, "version": 7}).to_bytes()
    assert refusal(newer) == "a snapshot of version 7, but this shoal reads 6; use the shoal that made it"
    older = b"PK\x03\x04" + bytes(100)  # archives of numpy, until version 4
    assert refusal(hashlib.sha256(older).digest() + older) == (
        "a snapshot of version 4 or less, but this shoal reads 6; use the shoal that made it"
    )


@pytest.mark.parametrize("data", [b"", b"x", b"PK\x03\x04", b"\x93NUMPY\x01\x00" * 20, bytes(1000)])
def test_other_bytes_are_refused(data: bytes) -> None:
    assert refusal(data) == DAMAGED


def test_a_cut_snapshot_is_refused() -> None:
    whole = used().snapshot()
    for size in [*range(60), *range(60, len(whole), 997), len(whole) - 1]:
        with pytest.raises(SnapshotError) as caught:
            anonymizer().restore(whole[:size])
        assert str(caught.value) == DAMAGED
    assert refusal(whole + b"x") == DAMAGED


def test_any_flipped_bit_is_noticed() -> None:
    whole, draw = used().snapshot(), random.Random(1)
    made = anonymizer()
    for at in [*range(64), *(draw.randrange(len(whole)) for _ in range(2000))]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << draw.randrange(8)
        with pytest.raises(SnapshotError) as caught:
            made.restore(bytes(damaged))
        assert str(caught.value) == DAMAGED


def test_persons_are_still_known_after_a_restore() -> None:
    """The same person before and after counts once: the key of the fingerprints goes along."""
    made = anonymizer()
    made.push({"pid": "a", "age": 1})
    restored = anonymizer()
    restored.restore(made.snapshot())
    restored.push({"pid": "a", "age": 2})
    restored.flush()
    assert restored.stats.suppressed == 2


def test_counts_and_rows_go_on() -> None:
    made = anonymizer()
    for record in ({"pid": 1, "age": 1}, {"age": 2}, {"pid": 2, "age": 1000}):
        made.push(record)
    restored = anonymizer()
    restored.restore(made.snapshot())
    assert restored.stats == made.stats
    assert restored.push({"pid": 3}) == []
    assert restored.push({"age": 3}) == []
    assert [rejection.row for rejection in restored.rejected] == [4]
    restored.flush()
    assert restored.trace.column("row").to_pylist() == [0, 3]


def test_those_who_waited_longer_are_still_counted() -> None:
    made, restored = anonymizer(sparse={"stretch": 2}), anonymizer(sparse={"stretch": 2})
    for i in range(60):
        made.push({"pid": "a", "age": i})
    restored.restore(made.snapshot())
    assert made.stats.stretched > 0
    assert restored.stats == made.stats


def test_numbers_once_broken_stay_broken() -> None:
    """Whether a column came in whole numbers so far is part of the state."""
    made = anonymizer()
    made.push({"pid": 1, "age": 1.5})
    restored = anonymizer()
    restored.restore(made.snapshot())
    restored.push({"pid": 2, "age": 3})
    assert restored.to_records(restored.flush())[0]["age"] == [1.5, 3]


def test_no_identity_in_a_snapshot() -> None:
    made = anonymizer()
    made.push({"pid": "somebody by name", "age": 1})
    assert b"somebody" not in made.snapshot()
