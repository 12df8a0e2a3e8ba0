"""Good outputs of z-anonymity, in which violations can be planted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import shoal
from shoal.policy import Policy
from tests.audit.stream import Case, read, write

TREE = {"any": {"news": {"bbc": ["news.bbc", "sport.bbc"], "press": ["lemonde"]}, "shops": ["amazon", "zalando"]}}
SITES = ("news.bbc", "sport.bbc", "lemonde", "amazon", "bbc", "odd.example", " amazon ")
SECRET = "sixteen bytes or more"
Z = 3


def policy(**more: Any) -> Policy:
    written: dict[str, Any] = {
        "person": "user",
        "time": {"field": "t"},
        "item": {"field": "site", "hierarchy": TREE},
        "attributes": {"note": {"publish": "keep"}},
    }
    rule = {"name": "zanon", "z": Z, "window": 50, "withheld": "blank"}
    return Policy.parse({**written, **more, "algorithm": {**rule, **more.get("algorithm", {})}})


def visits(rows: int = 400, seed: int = 0, lags: tuple[float, ...] = (0, 0, 0, 5, 30, 80)) -> Iterator[dict[str, Any]]:
    """Visits of users who come back, some late, some too late, some without a site."""
    random = Random(seed)
    t = 1_700_000_000.0
    for row in range(rows):
        t += random.choice((0, 1, 2))
        site = random.choice(SITES) if row % 31 else None
        yield {"user": f"u{random.randrange(20)}", "t": t - random.choice(lags), "site": site, "note": row % 7, "lang": "en"}


def case(folder: Path, chosen: Policy | None = None, lines: list[dict[str, Any]] | None = None) -> Case:
    """A good run."""
    chosen = chosen or policy()
    source, target, trace_file = folder / "in.jsonl", folder / "out.jsonl", folder / "trace.jsonl"
    write(source, list(visits()) if lines is None else lines)
    shoal.run(chosen, source, target, trace=trace_file)
    return Case(chosen, source, target, trace_file, read(target), read(trace_file))
