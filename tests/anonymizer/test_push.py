"""`push` takes plain records without a batch for their quasi-identifiers; the outcome is the same as with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal import Anonymizer, Policy
from shoal.anonymizer.records import to_batch

POLICY = Policy.parse(
    """
    person: who.id
    attributes:
      age: {quasi: numeric, range: [0, 100]}
      body.weight: {quasi: numeric, range: [0.5, 300]}
      city: {quasi: categorical, hierarchy: {any: {north: [a, b], south: [c]}}}
      illness: {sensitive: true}
    privacy: {k: 2}
    window: {count: 3}
    """
)
PLAIN: dict[str, Any] = {"who": {"id": "p"}, "age": 30, "body": {"weight": 70.5}, "city": "a", "illness": "flu"}
ODD = [
    {"age": True}, {"age": "31"}, {"age": 101}, {"age": float("nan")}, {"age": np.float64(4.0)}, {"age": 2**60}, {"age": ""},
    {"age": None}, {"city": None}, {"city": "nowhere"}, {"city": 7}, {"city": ""}, {"body": None}, {"body": {}}, {"who": None},
    {"body.weight": 3}, {"more": 1}, {"illness": None}, {"illness": ["flu"]},
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_record_alone_is_a_batch_of_one(odd: dict[str, Any]) -> None:
    records = [{**PLAIN, "who": {"id": f"p{i}"}, "age": 20 + i, "city": "abc"[i % 3]} for i in range(12)]
    records[4] = {**records[4], **odd}
    records[7].pop("age")
    alone, batched = Anonymizer(POLICY), Anonymizer(POLICY)
    for record in records:
        published = alone.push(record)
        batch = to_batch(record, batched._engine.fields)
        assert published == batched.to_records(batched.push_batch(batch, names=list(record)))
        assert [(each.row, each.reason) for each in alone.rejected] == [(each.row, each.reason) for each in batched.rejected]
        assert alone.trace.equals(batched.trace)
    assert alone.to_records(alone.flush()) == batched.to_records(batched.flush())
    assert alone.stats == batched.stats and alone.stats.drift == batched.stats.drift


def test_plain_records_take_no_batch_for_their_quasi_identifiers() -> None:
    anonymizer = Anonymizer(POLICY)
    assert anonymizer._engine.arrive_alone(PLAIN, 0) is not None
    assert anonymizer._engine.arrive_alone({**PLAIN, "age": "31"}, 1) is None
