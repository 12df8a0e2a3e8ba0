"""A whole benchmark: its parts one after the other on one core; its figures, tables of them, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from shoal.bench import across, default, diversity, files, loss, parallel, pipe, roofline, row, speed, zanon
from shoal.bench.benchmark import Benchmark, Figures, Progress
from shoal.bench.machine import Machine, described, load, machine, one_core
from shoal.bench.table import Table
from shoal.bench.workload import FULL, Workload, variants
from shoal.datasets import adult, known_files
from shoal.errors import InputError
from shoal.provenance import digests, provenance

DEFAULT = ("speed", "files", "threads")


class Part(NamedTuple):
    """Measures figures, and shows them."""

    measure: Callable[[Benchmark], Figures]
    tables: Callable[[Figures], list[Table]]


PARTS: Mapping[str, Part] = {
    "default": Part(default.measure, default.tables),
    "speed": Part(speed.measure_speed, speed.speed_tables),
    "files": Part(files.measure_files, files.file_tables),
    "growth": Part(speed.measure_growth, speed.growth_tables),
    "loss": Part(loss.measure_loss, loss.loss_tables),
    "nulls": Part(loss.measure_nulls, loss.nulls_tables),
    "row": Part(row.measure_row, row.row_tables),
    "diversity": Part(diversity.measure_diversity, diversity.diversity_tables),
    "across": Part(across.measure_across, across.across_tables),
    "sparse": Part(loss.measure_sparse, loss.sparse_tables),
    "twins": Part(speed.measure_twins, speed.twin_tables),
    "threads": Part(parallel.measure_threads, parallel.thread_tables),
    "lanes": Part(parallel.measure_lanes, parallel.lane_tables),
    "roofline": Part(roofline.measure, roofline.tables),
    "audit": Part(files.measure_audit, files.audit_tables),
    "zanon": Part(zanon.measure, zanon.tables),
    "pipe": Part(pipe.measure, pipe.tables),
}


@dataclass(frozen=True)
class Report:
    """The figures of the parts that were measured, with the machine and the sizes."""

    machine: Machine
    parameters: dict[str, Any]
    parts: dict[str, Figures]
    provenance: dict[str, str] = field(default_factory=dict)  # version, commit, command, machine, seeds, digests of the data

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


def measure(
    parts: Sequence[str] = DEFAULT,
    *,
    algorithms: Sequence[str] | None = None,
    data: str | PathLike[str] | None = None,
    workload: Workload = FULL,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Report:
    """Measure some of the `PARTS`, one after the other; `on_progress` is called before each step.

    By default all algorithms are measured; `files` and `audit` take only the first, which by default is FADS. The folder `data`
    holds `adult`, and for losses `informs` and `pm25`; by default it is SHOAL_DATA, or `data`.
    """
    asked = in_order(parts)
    bench = Benchmark(data, workload, variants(algorithms), on_progress)
    on_adult = asked != ["zanon"]
    if on_adult:
        bench.adult  # noqa: B018 - refuses before anything is measured
    with one_core() as bench.cores:
        found = machine()
        bench.part = "kernels"
        if on_adult:
            bench.warm_up()
        for part in asked:
            bench.part = part
            with TemporaryDirectory(prefix="shoal-bench-") as home:
                bench.home = Path(home)
                bench.results[part] = PARTS[part].measure(bench)
        found["load"] += load()
    algorithms_run = [asdict(variant) for variant in bench.variants]
    parameters = {**asdict(workload), "algorithms": algorithms_run, "parts": list(asked)}
    results = {part: bench.results[part] for part in PARTS if part in asked}
    data_files = digests(known_files(adult.home_of_data(data))) if on_adult else {}
    source = provenance(described(found), [workload.seed], data_files)
    return Report(found, parameters, results, source.columns())


def in_order(parts: Sequence[str]) -> list[str]:
    """The parts in the order of their measurement; the twins go first, since the speeds show their ratio.

    >>> in_order(["speed", "twins"])
    ['twins', 'speed']
    """
    for part in parts:
        if part not in PARTS:
            raise InputError(f"part {part!r} is none; known are {', '.join(PARTS)} and all")
    return sorted(dict.fromkeys(parts), key=lambda part: (part != "twins", list(PARTS).index(part)))
