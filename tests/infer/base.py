"""A table with one field of each sort, in each format, and what its draft must not hold."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from shoal.policy import Policy

COUNT = 400
CITIES = ("Lyon", "Oslo", "Paris")
NOTES = ("came back on foot and asked for the same doctor", "left early; will call", "asked twice for a receipt")

SECRETS = [
    "1733", "94477", "18.31", "203.77",
    "Longyearbyen", "Ann", "example.org", "receipt", "P-1007", "10.0.0.7", "+31 6", "52.37", "2024-05-01",
    "sarcoidosis",
]  # fmt: skip
"""Extremes, a rare category, names, ids, free text: none may stand anywhere in a draft."""


def record(number: int) -> dict[str, Any]:
    return {
        "patient_id": f"P-{1000 + number % 90}",
        "ts": f"2024-05-01T{number // 60:02d}:{number % 60:02d}:00Z",
        "age": 17 + number * 7 % 74,
        "sex": "fm"[number % 2],
        "city": "Longyearbyen" if number in (5, 95, 185) else "?" if number % 9 == 0 else CITIES[number % 3],
        "height": None if number % 10 == 0 else 18.31 if number == 1 else 203.77 if number == 2 else 150.0 + number % 40,
        "steps": 1733 if number == 3 else 94477 if number == 4 else 2000 + number % 97 * 90,
        "mood": ("calm", "glad", "tense")[number % 3],
        "diagnosis": "sarcoidosis" if number == 7 else f"d{number % 4}",
        "name": f"Ann {number % 90}",
        "email": f"ann{number % 90}@example.org",
        "phone": f"+31 6 {10_000_000 + number % 90}",
        "address_ip": f"10.0.0.{number % 90}",
        "latitude": 52.37 + number / 1000,
        "note": NOTES[number % 3] if number % 3 else f"{NOTES[0]}, number {number}",
        "source": "app",
    }


def records(count: int = COUNT) -> list[dict[str, Any]]:
    return [record(number) for number in range(count)]


def write(folder: Path, suffix: str, rows: list[dict[str, Any]]) -> Path:
    """A file of these rows."""
    path = folder / f"people{suffix}"
    if suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif suffix == ".parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    else:
        table = pa.Table.from_pylist(rows)
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


def settings(draft: str) -> list[str]:
    """The inactive settings of a draft, each with its lines made active."""
    found: list[str] = []
    for line in draft.splitlines():
        if line.startswith("  #  "):
            found[-1] += f"\n  {line[3:]}"
        elif line.startswith("  #") and not line.startswith("  # "):
            found.append(f"  {line[3:]}")
    return found


def tokens(text: str) -> list[float]:
    """All numbers that stand in a text."""
    return [float(token) for token in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])", text)]


def published(policy: Policy) -> dict[str, str]:
    return {name: attribute.role for name, attribute in policy.attributes.items()}
