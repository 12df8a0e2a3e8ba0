"""A small stream for Spark, written to files, and its policy."""

from __future__ import annotations

import itertools
import json
import os
import random
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

SCHEMA = "pid string, ts double, age int, pulse int, ill string, id long"
KEY = "0123456789abcdef" * 2
POLICY = """
person: pid
time: {{field: ts}}
attributes:
  age: {{quasi: numeric, range: [0, 120], grid: 5}}
  pulse: {{quasi: numeric, range: [30, 220], grid: 10}}
  ill: {{sensitive: true}}
  id: {{publish: keep}}
privacy: {{k: 5}}
suppressed: publish
window: {window}
algorithm: {{name: fads}}
"""
FOLLOWING = """
policy: policy.yaml
source: {file: {path: "in/*.jsonl", follow: true}}
sink: {file: {path: clean.jsonl}}
state: {dir: state, checkpoint: 1s, key: {env: SHOAL_KEY}}
"""


_turns = itertools.count(int(time.time()) - 86_400)


def in_turn(file: Path) -> None:
    """Date a file a second after the one before. Spark reads files by time, and those of the same millisecond in any order."""
    turn = next(_turns)
    os.utime(file, (turn, turn))


def write(folder: Path, name: str, first: int, size: int, each: float = 0.01, suffix: str = "json") -> None:
    """Records by number, a second apart by `each`; the file appears when it is whole."""
    chance = random.Random(first)
    lines = []
    for i in range(first, first + size):
        pulse = chance.randrange(50, 150) if chance.random() < 0.8 else None
        record = {"pid": f"p{i % 300}", "ts": i * each, "age": chance.randrange(18, 90), "pulse": pulse, "ill": "flu", "id": i}
        lines.append(json.dumps(record))
    folder.mkdir(exist_ok=True)
    draft = folder.parent / f".{name}"
    draft.write_text("\n".join(lines) + "\n")
    in_turn(draft)
    draft.rename(folder / f"{name}.{suffix}")


def classes(rows: list, k: int) -> list[int]:
    """The sizes of classes of equal quasi-identifiers that are smaller than k; suppressed rows aside."""
    found: dict = {}
    for row in rows:
        if row.age is not None and (row.age.lo, row.age.hi) == (0, 120):
            continue
        found.setdefault((row.age, row.pulse), []).append(row.id % 300)
    return [len(set(persons)) for persons in found.values() if len(set(persons)) < k]


def committed(sink: Path) -> list[dict[str, Any]]:
    """The rows of the files that the sink's log knows: what a killed job left besides does not count."""
    known: dict[str, None] = {}
    for log in sorted((sink / "_spark_metadata").glob("[0-9]*")):
        for line in log.read_text().splitlines()[1:]:
            known[unquote(urlparse(json.loads(line)["path"]).path)] = None
    return [json.loads(line) for file in known for line in Path(file).read_text().splitlines()]
