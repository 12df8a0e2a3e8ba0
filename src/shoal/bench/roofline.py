"""What the search for neighbours must read, against what this core can read."""

from __future__ import annotations

from functools import partial
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from shoal import Anonymizer, Stats
from shoal.bench.benchmark import Benchmark, Figures, anonymize, passes
from shoal.bench.table import Table, count, percent, whole
from shoal.bench.timing import Task
from shoal.bench.workload import Variant

_WITHOUT = ("castle", "tide")
_CELL = 2  # bytes: a value of a scanned column
_SAMPLED = 1000  # tuples between two samples of how many are held
_READ = 2**30  # bytes for one time


def measure(bench: Benchmark) -> Figures:
    w = bench.workload
    cache = _bandwidth(bench, w.quasi * w.window * _CELL)
    memory = _bandwidth(bench, w.buffer)
    searching = [variant for variant in bench.variants if variant.name not in _WITHOUT]
    stream = bench.stream(w.growth)
    tasks = [
        Task(variant.label, partial(anonymize, bench.policy(variant), stream), w.growth, passes(w.growth))
        for variant in searching
    ]
    rows = []
    for variant, timed in zip(searching, bench.timed(tasks), strict=True):
        scans = _scans(variant, timed.result)
        held = _held(bench, variant)
        read = scans * held * w.quasi * _CELL / w.growth
        least = 1e9 * read / cache["rate"]
        rows.append({
            "algorithm": variant.label, "timing": timed.timing, "scans": scans,
            "held": held,  # tuples that a scan runs over, on average
            "bytes": read,  # that must be read for a tuple
            "least": least,  # ns for that
            "share": least / timed.timing["ns"],
        })  # fmt: skip
    without = [variant.label for variant in bench.variants if variant.name in _WITHOUT]
    return {"rows": rows, "without": without, "cache": cache, "memory": memory}


def tables(result: Figures) -> list[Table]:
    header = ("algorithm", "scans per 1,000", "held", "bytes per tuple", "ns to read them", "ns per tuple", "share")
    rows = [
        (
            row["algorithm"], f"{1000 * row['scans'] / row['timing']['tuples']:.1f}", whole(row["held"]),
            whole(row["bytes"]), whole(row["least"]), whole(row["timing"]["ns"]), percent(row["share"]),
        )
        for row in result["rows"]
    ]  # fmt: skip
    cache, memory = result["cache"], result["memory"]
    notes = [
        f"One core reads {cache['rate'] / 1e9:.0f} GB/s in a buffer of {cache['buffer'] / 1e3:.0f} kB, the size of a "
        f"window, and {memory['rate'] / 1e9:.0f} GB/s in one of {memory['buffer'] / 1e6:.0f} MB. A scan reads every "
        f"quasi-identifier of every tuple held once, {_CELL} bytes each. For kvarp and iot only the scans that made a "
        "group are counted, since a tuple that is reused may need none.",
        *(f"{name} does not search the window tuple by tuple." for name in result["without"]),
    ]
    tuples = count(result["rows"][0]["timing"]["tuples"]) if rows else "no"
    return [Table(f"Roofline: the search for neighbours, {tuples} tuples", header, rows, [" ".join(notes)])]


def _scans(variant: Variant, stats: Stats) -> int:
    """At least so many times was the window searched."""
    match variant.name:
        case "xband":
            return stats.groups * int(variant.parameters["band"])
        case "kvarp" | "iot":
            return stats.groups
    return stats.groups + stats.reused


def _held(bench: Benchmark, variant: Variant) -> float:
    anonymizer = Anonymizer(bench.policy(variant))
    held = []
    for batch in bench.stream(bench.workload.growth):
        for start in range(0, batch.num_rows, _SAMPLED):
            anonymizer.push_batch(batch.slice(start, _SAMPLED))
            stats = anonymizer.stats
            assert isinstance(stats, Stats)
            held.append(stats.held)
    settled = held[len(held) // 2 :]
    return sum(settled) / len(settled)


def _bandwidth(bench: Benchmark, size: int) -> Figures:
    words = np.ones(max(1, size // 8), np.int64)
    turns = max(1, _READ // words.nbytes)
    read = _reader()
    read(words, 1)
    task = Task(f"reading a buffer of {size / 1e6:.1f} MB", partial(read, words, turns))
    (timed,) = bench.timed([task])
    return {"buffer": words.nbytes, "rate": words.nbytes * turns / timed.timing["median"], "spread": timed.timing["spread"]}


def _reader() -> Any:
    def read(words: NDArray[np.int64], turns: int) -> int:
        total = 0
        for turn in range(turns):
            for i in range(len(words)):
                total += words[i] ^ turn
        return total

    return numba.njit(read)
