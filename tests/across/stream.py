"""Persons who come back, and what shoal publishes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import Anonymizer, Policy

VALUES = ("flu", "cold", "asthma", "none", "migraine", "diabetes")
BLOCKS = [["flu", "cold", "asthma"], ["none", "migraine", "diabetes"]]
K = 3


def policy(illness: dict[str, Any], **more: Any) -> Policy:
    """A policy whose sensitive attribute is published in one way or another."""
    return Policy.parse({
        "person": "pid",
        "time": {"field": "ts"},
        "attributes": {
            "age": {"quasi": "numeric", "range": [0, 100], "grid": 5},
            "illness": {"sensitive": True, **illness},
            **more.pop("others", {}),
        },
        "privacy": {"k": K, **more.pop("privacy", {})},
        "window": {"count": 40},
        "algorithm": {"name": "fads"},
        **more,
    })  # fmt: skip


def people(count: int = 600, persons: int = 60, seed: int = 5, unknown: float = 0.0) -> pa.Table:
    """Tuples of persons whose illness does not change; some have none, some one that no block lists."""
    draw = np.random.default_rng(seed)
    own = [VALUES[number] for number in draw.integers(0, len(VALUES), persons)]
    own = ["plague" if draw.random() < unknown else value for value in own]
    who = draw.integers(0, persons, count)
    return pa.table({
        "pid": who, "ts": np.arange(count), "age": draw.integers(0, 101, count),
        "illness": [None if draw.random() < 0.1 else own[each] for each in who],
    })  # fmt: skip


@dataclass
class Published:
    """What left, how it left, and the bags."""

    output: pa.Table
    trace: pa.Table
    bags: pa.Table
    anonymizer: Anonymizer

    @property
    def records(self) -> list[dict[str, Any]]:
        return [record for batch in self.output.to_batches() for record in self.anonymizer.to_records(batch)]


def published(by: Policy, rows: pa.Table, size: int = 100, restart: bool = False) -> Published:
    """Everything that leaves; with `restart`, a new anonymizer goes on from a snapshot after every batch."""
    anonymizer = Anonymizer(by)
    parts = []
    for batch in [*rows.combine_chunks().to_batches(max_chunksize=size), None]:
        left = anonymizer.flush() if batch is None else anonymizer.push_batch(batch)
        parts.append((left, anonymizer.trace, anonymizer.bags))
        if restart:
            saved, anonymizer = anonymizer.snapshot(), Anonymizer(by)
            anonymizer.restore(saved)
    output, trace, bags = (pa.Table.from_batches(each) for each in zip(*parts, strict=True))
    return Published(output, trace, bags, anonymizer)
