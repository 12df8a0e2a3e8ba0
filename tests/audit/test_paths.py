"""The audit finds fields inside others by their path, as the engine does."""

from __future__ import annotations

import json
from pathlib import Path

from shoal import Policy, run
from shoal.audit import audit


def test_fields_by_their_path(tmp_path: Path) -> None:
    """Also where an object comes as something else at times, which makes its column one of texts."""
    policy = Policy.parse({
        "person": "who.id",
        "attributes": {"who.age": {"quasi": "numeric", "range": [0, 100], "grid": 5}, "who.note": {"publish": "keep"}},
        "privacy": {"k": 2}, "window": {"count": 6}, "algorithm": {"name": "fads"},
    })  # fmt: skip
    records = [{"who": {"id": i % 7, "age": i % 90, "note": f"n{i}"}} for i in range(40)]
    odds = [], [{"who": "nobody"}, {"who": None}], [{"who.id": 1, "who.age": 5, "who": {"age": 90, "note": "x"}}] * 3
    for odd in odds:
        source, target = tmp_path / f"in{len(odd)}.jsonl", tmp_path / f"out{len(odd)}.jsonl"
        source.write_text("".join(f"{json.dumps(record)}\n" for record in [*records, *odd]))
        run(policy, source, target, trace=tmp_path / f"trace{len(odd)}.jsonl")
        report = audit(policy, source, target, trace=tmp_path / f"trace{len(odd)}.jsonl")
        assert report.held and len(target.read_text().splitlines()) == 40 + len(odd) * (len(odd) == 3)
