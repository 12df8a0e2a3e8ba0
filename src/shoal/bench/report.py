"""What a measurement found: figures, tables of them, JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

from shoal.bench import audit, files, growth, lanes, loss, nulls, pipe, roofline, sparse, speed, threads, twins, zanon
from shoal.bench.machine import Machine, described
from shoal.bench.table import Table

PARTS: Mapping[str, ModuleType] = {
    "speed": speed,
    "files": files,
    "growth": growth,
    "loss": loss,
    "nulls": nulls,
    "sparse": sparse,
    "twins": twins,
    "threads": threads,
    "lanes": lanes,
    "roofline": roofline,
    "audit": audit,
    "zanon": zanon,
    "pipe": pipe,
}
"""A part is a module of two functions: `measure` takes a session and gives figures that JSON can hold, `tables` shows them."""


@dataclass(frozen=True)
class Report:
    """The figures of the parts that were measured, with the machine and the sizes."""

    machine: Machine
    parameters: dict[str, Any]
    parts: dict[str, Any]

    @property
    def headline(self) -> str:
        """What was measured, and on which machine."""
        p = self.parameters
        rounds = f"one core, medians of {p['rounds']} interleaved round{'s' if p['rounds'] > 1 else ''}"
        if list(self.parts) == ["zanon"]:
            return f"{p['users']:,} users, {p['items']:,} items; {rounds}.\n{described(self.machine)}."
        what = f"Adult, {p['quasi']} quasi-identifiers, up to {p['missing']} missing, k {p['k']}, window {p['window']:,}; "
        return f"{what}{rounds}.\n{described(self.machine)}."

    def tables(self) -> list[Table]:
        return [table for name, result in self.parts.items() for table in PARTS[name].tables(result)]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Report:
        return cls(**json.loads(text))
