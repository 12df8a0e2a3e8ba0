"""Blurred outputs of a tiny anonymizer: groups of consecutive persons, shown as docs/stronger.md says, in every format."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from shoal.audit import Report, audit
from shoal.policy import Policy

FORMATS = ("jsonl", "csv", "arrow", "parquet")
K = 3
CITIES = {"Europe": {"France": ["Paris", "Lyon"], "Norway": ["Oslo", "Bergen"]}}
COUNTRY = {"Paris": "France", "Lyon": "France", "Oslo": "Norway", "Bergen": "Norway"}
ROOTS: dict[str, Any] = {"age": [0, 100], "pulse": [40, 200], "city": "Europe"}
Row = dict[str, Any]


@dataclass
class Blurred:
    """Records, and what is published of them; a value in doubt is a list that ends with None."""

    people: list[Row]
    output: list[Row] = field(default_factory=list)
    trace: list[Row] = field(default_factory=list)
    privacy: Row = field(default_factory=dict)

    @property
    def policy(self) -> Policy:
        return Policy.parse(
            {
                "person": "pid",
                "attributes": {
                    "age": {"quasi": "numeric", "range": [0, 100]},
                    "pulse": {"quasi": "numeric", "range": [40, 200]},
                    "city": {"quasi": "categorical", "hierarchy": CITIES},
                    "illness": {"sensitive": True},
                },
                "privacy": {"k": K, "nulls_match": "blurred", **self.privacy},
                "window": {"count": 100},
                "algorithm": {"name": "fads"},
                "suppressed": "publish",
            }
        )

    def leave(self, rows: list[int], cluster: int) -> None:
        """Let a group leave, and show what is right."""
        shown = {name: _shown(name, [self.people[row][name] for row in rows]) for name in ROOTS}
        for row in rows:
            self._add(row, "cluster", cluster, shown, rows[-1])

    def reuse(self, row: int, cluster: int) -> None:
        """Let one record show what a group shows."""
        first = next(place for place, line in enumerate(self.trace) if line["cluster"] == cluster)
        self._add(row, "reuse", cluster, {name: self.output[first][name] for name in ROOTS}, row)

    def suppress(self, row: int) -> None:
        self._add(row, "suppressed", None, ROOTS, row)

    def group(self, cluster: int) -> list[int]:
        """The output rows that show what a group shows."""
        return [row for row, line in enumerate(self.trace) if line["cluster"] == cluster]

    def show(self, rows: list[int], **shown: Any) -> None:
        """Let these output rows show something else."""
        for row in rows:
            self.output[row] |= shown

    def report(self, folder: Path | None = None, form: str = "jsonl", traced: bool = True) -> Report:
        """What the judge says; of the output in a file, if there is a folder for it."""
        people, trace = pa.Table.from_pylist(self.people), pa.Table.from_pylist(self.trace) if traced else None
        output = structs(self.output) if folder is None else written(self.output, folder, form)
        return audit(self.policy, people, output, trace)

    def _add(self, row: int, how: str, cluster: int | None, shown: Row, released: int) -> None:
        self.output.append({**shown, "illness": self.people[row]["illness"]})
        self.trace.append({"row": row, "how": how, "cluster": cluster, "arrived": row, "released": released})


def _shown(name: str, values: list[Any]) -> Any:
    had = [value for value in values if value is not None]
    if not had:
        return None
    parts: list[Any]
    if len(had) < 2:
        parts = ROOTS[name] if name != "city" else [ROOTS[name]]
    elif name != "city":
        parts = [min(had), max(had)]
    else:
        countries = {COUNTRY[city] for city in had}
        parts = [had[0] if len(set(had)) == 1 else countries.pop() if len(countries) == 1 else "Europe"]
    if len(had) < len(values):
        return [*parts, None]
    return parts if name != "city" else parts[0]


def honest(groups: int = 30, missing: float = 0.4, seed: int = 0) -> Blurred:
    """Groups of consecutive persons, then tuples that reuse some of them, then one that is suppressed."""
    draw = Random(seed)

    def one(pid: int) -> Row:
        row = {
            "pid": pid,
            "age": draw.randrange(101),
            "pulse": draw.randrange(40, 200) / 2 + 40,
            "city": draw.choice([*COUNTRY]),
        }
        lacks = {name: None for name in ROOTS if draw.random() < missing}
        return {**row, **lacks, "illness": draw.choice(["flu", "gout"])}

    found = Blurred([one(pid) for pid in range(groups * K)])
    for cluster in range(groups):
        found.leave([*range(cluster * K, cluster * K + K)], cluster)
    for cluster in range(0, groups, 4):
        found.people.append({**found.people[cluster * K], "pid": len(found.people)})
        found.reuse(len(found.people) - 1, cluster)
    found.people.append(one(len(found.people)))
    found.suppress(len(found.people) - 1)
    return found


def written(rows: list[Row], folder: Path, form: str) -> Path:
    """The rows in a file of this format."""
    path = folder / f"out.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "csv":
        pyarrow.csv.write_csv(pa.Table.from_pylist([{name: _cell(value) for name, value in row.items()} for row in rows]), path)
    elif form == "parquet":
        pyarrow.parquet.write_table(structs(rows), path)
    else:
        table = structs(rows)
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


def _cell(value: Any) -> str | None:
    """How a value looks in a CSV file."""
    if not isinstance(value, list):
        return value
    words = " or missing" if value[-1] is None else ""
    parts = value[:-1] if words else value
    return (str(parts) if len(parts) == 2 else parts[0]) + words


def structs(rows: list[Row]) -> pa.Table:
    """The rows as Arrow has them."""

    def required(name: str, kind: pa.DataType) -> pa.Field:
        return pa.field(name, kind, nullable=False)

    flag = required("or_missing", pa.bool_())
    label = pa.struct([required("value", pa.dictionary(pa.int32(), pa.string())), flag])
    columns: Row = {"illness": pa.array([row["illness"] for row in rows])}
    for name in ROOTS:
        cells = [row[name] if isinstance(row[name], list) or row[name] is None else [row[name]] for row in rows]
        ends = pa.struct([required("lo", pa.float64()), required("hi", pa.float64()), flag])
        kind, names = (label, ["value"]) if name == "city" else (ends, ["lo", "hi"])
        values = [
            cell and {**dict(zip(names, cell, strict=False)), "or_missing": len(cell) > len(names)} for cell in cells
        ]  # fmt: skip
        columns[name] = pa.array(values, kind)
    return pa.table(columns)
