"""The naive twin of each algorithm beside it, on the same few tuples."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa

from shoal import Anonymizer, Policy
from shoal.bench.session import Session
from shoal.bench.stopwatch import Job, Timing, interleaved
from shoal.bench.table import Table, rate, times

_SLOW = {"castle": 10, "tide": 10}  # their twins take so much longer that they get that part of the tuples
_PLACE = "tests/naive"


class Row(TypedDict):
    algorithm: str
    engine: Timing
    twin: Timing
    ratio: float
    same: bool  # whether both let the same tuples go, in the same way and order


class Twins(TypedDict):
    rows: list[Row]
    absent: str | None


def measure(session: Session) -> Twins:
    naive = _naive()
    if naive is None:
        absent = f"The naive twins are only in a checkout: run this where {_PLACE} is to see them."
        return {"rows": [], "absent": absent}
    rows: list[Row] = []
    for i, contender in enumerate(session.contenders):
        session.step(f"{contender.label} and its naive twin", i, len(session.contenders))
        tuples = max(1, session.settings.twin // _SLOW.get(contender.name, 1))
        policy, stream = session.policy(contender), session.stream(tuples)
        events = [naive.Arrival(number, values) for number, values in enumerate(_values(policy, stream))]
        length = ("count", policy.window.length)
        attributes = _attributes(naive, policy)
        slow = partial(naive.simulate, contender.name, attributes, policy.privacy.k, length, events, **contender.parameters)
        (twin,) = interleaved([Job("", slow, tuples)], 1)
        (engine,) = interleaved([Job("", partial(_released, policy, stream), tuples)], session.settings.rounds)
        rows.append({
            "algorithm": contender.label,
            "engine": engine.timing,
            "twin": twin.timing,
            "ratio": twin.timing["ns"] / engine.timing["ns"],
            "same": [(r.row, r.how, r.cluster) for r in twin.result] == _told(engine.result),
        })  # fmt: skip
    return {"rows": rows, "absent": None}


def tables(result: Twins) -> list[Table]:
    header = ("algorithm", "tuples", "twin, tuples/s", "engine, tuples/s", "ratio", "same outcome")
    rows = [
        (
            row["algorithm"], f"{row['twin']['tuples']:,}", rate(row["twin"]["rate"]), rate(row["engine"]["rate"]),
            times(row["ratio"]), "yes" if row["same"] else "NO",
        )
        for row in result["rows"]
    ]  # fmt: skip
    notes = [result["absent"]] if result["absent"] else ["So short a stream also pays for the engine's start."]
    return [Table("The engine beside its naive twin in plain Python", header, rows, notes)]


def _naive() -> Any:
    if not Path(_PLACE, "__init__.py").is_file():
        return None
    sys.path.insert(0, str(Path.cwd()))
    try:
        return import_module(_PLACE.replace("/", "."))
    except ImportError:
        return None
    finally:
        sys.path.pop(0)


def _attributes(naive: Any, policy: Policy) -> list[Any]:
    return [
        naive.Categorical({line[0]: tuple(line) for line in attribute.hierarchy.lines()})
        if attribute.hierarchy
        else naive.Numeric(attribute.low, attribute.high)
        for _, attribute in policy.quasi
    ]


def _values(policy: Policy, stream: list[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    columns = [[batch.column(name).to_pylist() for batch in stream] for name, _ in policy.quasi]
    return list(zip(*[[value for part in parts for value in part] for parts in columns], strict=True))


def _released(policy: Policy, stream: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    anonymizer = Anonymizer(policy)
    traces = []
    for batch in stream:
        anonymizer.push_batch(batch)
        traces.append(anonymizer.trace)
    anonymizer.flush()
    return [*traces, anonymizer.trace]


def _told(traces: list[pa.RecordBatch]) -> list[tuple[int, str, int | None]]:
    return [(how["row"], how["how"], how["cluster"]) for trace in traces for how in trace.to_pylist()]
