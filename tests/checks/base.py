"""A policy and data that fit, to be changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shoal.checks import Findings, check
from shoal.policy import Policy

WRITTEN: dict[str, Any] = {
    "person": "pid",
    "attributes": {
        "age": {"quasi": "numeric", "range": [0, 100], "grid": 5},
        "city": {"quasi": "categorical", "hierarchy": {"World": {"France": ["Paris", "Lyon"], "Norway": "Oslo"}}},
        "disease": {"sensitive": True},
    },
    "privacy": {"k": 3, "nulls_match": "maybe"},
    "window": {"count": 20},
    "algorithm": {"name": "fads"},
}
MAYBE = "privacy.nulls_match: maybe lets a null stand for any value; an observer who takes nulls as values sees smaller groups"


def policy(**sections: Any) -> Policy:
    return Policy.parse({**WRITTEN, **sections})


def attribute(name: str, **keys: Any) -> Policy:
    """The policy with one attribute changed or added."""
    return policy(attributes={**WRITTEN["attributes"], name: {**WRITTEN["attributes"].get(name, {}), **keys}})


def record(number: int, **changes: Any) -> dict[str, Any]:
    cities = ("Paris", "Lyon", "Oslo")
    return {"pid": number % 17, "age": number % 100, "city": cities[number % 3], "disease": f"d{number % 3}", **changes}


def found(folder: Path, records: list[dict[str, Any] | str], by: Policy | None = None, rows: int = 10_000) -> Findings:
    """What a check of these records finds."""
    path = folder / "people.jsonl"
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in records))
    return check(by or policy(), path, rows=rows)
