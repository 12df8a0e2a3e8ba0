"""Kinds of values that typed sources hold: booleans, decimals, times with zones, Unicode anywhere."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from shoal import Anonymizer, Policy

CITY = "Zürich 東京"
POLICY = {
    "person": "wer.é",
    "time": {"field": "zeit", "publish": "keep"},
    "attributes": {
        "größe": {"quasi": "numeric", "range": [0, 3], "grid": 0.5},
        "wahr": {"quasi": "categorical", "hierarchy": {"🌍": ["true", "false"]}},
        "preis": {"quasi": "categorical", "hierarchy": {"any": ["1.5", "20"]}},
        "tag": {"quasi": "categorical", "hierarchy": {"builder": "dates", "range": ["2024-01-01", "2024-12-31"]}},
        "ort": {"quasi": "categorical", "hierarchy": {"世界": {"Ελλάδα": [CITY], "Ísland": ["Ký"]}}},
    },
    "privacy": {"k": 2},
    "window": {"count": 2},
    "algorithm": {"name": "fads"},
}
MOMENT = datetime(2024, 5, 17, 12, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "-03:30"])
def test_they_are_all_understood(zone: str) -> None:
    made = Anonymizer(Policy.parse(POLICY))
    columns: dict[str, Any] = {
        "wer": pa.array([{"é": "ä"}, {"é": "ö"}]),
        "zeit": pa.array([MOMENT, MOMENT], pa.timestamp("ms", zone)),
        "größe": pa.array([Decimal("1.70"), Decimal("1.90")], pa.decimal128(5, 2)),
        "wahr": pa.array([True, True]),
        "preis": pa.array([Decimal("1.50"), Decimal("20.00")], pa.decimal128(5, 2)),
        "tag": pa.array([date(2024, 5, 17), date(2024, 6, 1)]),
        "ort": pa.array(["Zu\u0308rich 東京", " Ký "]),
    }
    made.push_batch(pa.RecordBatch.from_pydict(columns))
    published = made.to_records(made.flush())
    assert made.stats.rejected == 0
    assert [{**record, "zeit": record["zeit"].timestamp()} for record in published] == [{
        "zeit": MOMENT.timestamp(), "größe": [1.5, 2], "wahr": "true", "preis": "any", "tag": "2024-Q2", "ort": "世界",
    }] * 2  # fmt: skip


def test_a_boolean_is_no_number() -> None:
    made = Anonymizer(Policy.parse(POLICY))
    made.push({"wer": {"é": 1}, "zeit": 0, "größe": True})
    assert made.stats.reasons == {"'größe': not a number (value withheld); is it text? (quasi: categorical)": 1}


def test_very_many_leaves_show_only_what_is_published() -> None:
    tree = {"builder": "prefix", "range": ["00000", "19999"], "levels": [4, 2]}
    policy = {**POLICY, "person": "none", "time": None, "attributes": {"zip": {"quasi": "categorical", "hierarchy": tree}}}
    policy["privacy"] = {**POLICY["privacy"], "nulls_match": "maybe"}
    made = Anonymizer(Policy.parse({key: value for key, value in policy.items() if value is not None}))
    made.push_batch(pa.RecordBatch.from_pydict({"zip": ["00010", "00011", None, "19999"]}))
    published = made.flush().column("zip")
    assert set(published.dictionary.to_pylist()) == set(published.to_pylist()) - {None}
    assert len(published.dictionary) > 0
