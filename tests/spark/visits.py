"""Visits to sites, for z-anonymity on Spark, and their policy."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from shoal import Policy

SCHEMA = "t int, user string, site string"
VISITS = [(i, f"u{i * 7 % 23}", f"s{i * 13 % 11}") for i in range(400)]
TEXT = """
person: user
time: {field: t}
item: {field: site}
algorithm: {name: zanon, z: 3, window: 50s}
"""
POLICY = Policy.parse(TEXT)


def write(folder: Path, files: Sequence[Sequence[tuple[int | None, str, str]]], suffix: str = "json") -> None:
    """Visits, in files that Spark takes in one after the other."""
    folder.mkdir()
    for number, visits in enumerate(files):
        file = folder / f"{number}.{suffix}"
        file.write_text("".join(json.dumps(dict(zip(("t", "user", "site"), visit, strict=True))) + "\n" for visit in visits))
        os.utime(file, (number, number))  # the oldest first
