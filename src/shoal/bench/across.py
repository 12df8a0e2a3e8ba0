"""Persons who come back: what their groups say of a stable attribute, with exact values, blocks and bags."""

from __future__ import annotations

import math
from collections.abc import Mapping
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import Anonymizer, Policy, Stats
from shoal.audit import Attack, Evidence, across_releases, gather
from shoal.bench.benchmark import Benchmark, Figures
from shoal.bench.table import Table, loss
from shoal.datasets import DataSet, found, informs
from shoal.infer import draft_blocks
from shoal.policy import Hierarchy

VALUES = (5, 20, 100)
SHAPES = ("uniform", "Zipf")
SHOWN = ("exact", "block", "bag")
_K, _WINDOW, _M, _BAG = 10, 2000, 3, 2000
_RELEASES = 50
_REGIONS, _CITIES = 6, 5
_QUERIES = 200
_AT_LEAST = 0.01  # of the rows: the truth of a query that is asked
_INFORMS = "EDUCYEAR"


class Stream(NamedTuple):
    """Tuples of returning persons, and the quasi-identifiers of the policy."""

    name: str
    rows: pa.Table
    quasi: Mapping[str, Any]
    shares: Mapping[str, float]  # of the values among persons


def measure_across(bench: Benchmark) -> Figures:
    """Generated wearables and INFORMS, in the three ways to publish a stable attribute."""
    w = bench.workload
    streams = [(f"{values} values, {shape}", values, shape) for values in VALUES for shape in SHAPES]
    rows = []
    for place, (label, values, shape) in enumerate(streams):
        bench.step(label, place, len(streams) + 1)
        rows.append(_measured(_wearables(label, w.small, values, shape == "Zipf", w.seed), w.rounds))
    bench.step("INFORMS", len(streams), len(streams) + 1)
    if source := found(bench.adult.folder.parent / informs.PLACE.path):
        rows.append(_measured(_informs(informs.dataset(source), w.small, w.seed), w.rounds))
    return {"rows": rows, "k": _K, "window": _WINDOW, "m": _M, "bag": _BAG, "tuples": w.small, "releases": _RELEASES}


def _wearables(name: str, tuples: int, values: int, zipf: bool, seed: int) -> Stream:
    """Persons with 50 tuples each; what is measured differs between tuples. The illness does not, and depends on nothing."""
    draw = np.random.default_rng(seed)
    persons = max(20, tuples // _RELEASES)
    shares = 1.0 / np.arange(1, values + 1) if zipf else np.ones(values)
    illness = draw.choice(values, persons, p=shares / shares.sum())
    age, home = np.clip(draw.normal(45, 16, persons), 18, 95).round(), draw.integers(0, _REGIONS * _CITIES, persons)
    who = draw.permutation(np.repeat(np.arange(persons), _RELEASES))
    size = len(who)
    away = (draw.random(size) < 0.3) * draw.integers(0, _REGIONS * _CITIES, size)
    rows = pa.table({
        "person": who, "age": age[who], "pulse": np.clip(draw.normal(80, 18, size), 35, 210).round(),
        "steps": np.clip(draw.exponential(1500, size), 0, 12_000).round(-1),
        "city": [f"city {each}" for each in (home[who] + away) % (_REGIONS * _CITIES)],
        "illness": [f"v{each:03}" for each in illness[who]],
    })  # fmt: skip
    cities = [[f"city {i}", f"region {i // _CITIES}", "everywhere"] for i in range(_REGIONS * _CITIES)]
    quasi = {
        "age": {"quasi": "numeric", "range": [0, 100]}, "pulse": {"quasi": "numeric", "range": [30, 220]},
        "steps": {"quasi": "numeric", "range": [0, 12_000]},
        "city": {"quasi": "categorical", "hierarchy": Hierarchy.of(cities)},
    }  # fmt: skip
    return Stream(name, rows, quasi, _shares([f"v{each:03}" for each in illness]))


def _informs(data: DataSet, tuples: int, seed: int) -> Stream:
    """Persons of INFORMS who come back: the years of education are stable, all else are quasi-identifiers."""
    draw = np.random.default_rng(seed)
    table = data.rows
    chosen = draw.permutation(len(table))[: max(20, tuples // _RELEASES)]
    who = draw.permutation(np.repeat(np.arange(len(chosen)), _RELEASES))
    some = table.take(pa.array(chosen))
    values = [f"{value:g}" for value in some.column(_INFORMS).to_pylist()]
    columns: dict[str, Any] = {"person": who, "illness": [values[each] for each in who]}
    quasi: dict[str, Any] = {}
    for name in informs.QUASI:
        if name == _INFORMS:
            continue
        found = np.asarray(some.column(name).to_numpy())
        span = informs.QUASI[name]
        if span:
            width = span[1] - span[0]
            columns[name] = np.clip(found[who] + draw.normal(0, 0.02 * width, len(who)), *span).round()
            quasi[name] = {"quasi": "numeric", "range": list(span)}
        else:
            labels = [f"{value:g}" for value in found]
            columns[name] = [labels[each] for each in who]
            quasi[name] = {"quasi": "categorical", "hierarchy": {"any": sorted({*labels})}}
    return Stream("INFORMS, years of education", pa.table(columns), quasi, _shares(values))


def _shares(values: list[str]) -> dict[str, float]:
    found, counts = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), (counts / len(values)).tolist(), strict=True))


def _policy(stream: Stream, shown: str) -> Policy:
    more: dict[str, Any] = {"stable": True, "as": shown}
    if shown == "block":
        more["blocks"] = [list(block) for block in draft_blocks(stream.shares, _M, most=0.99).blocks]
    return Policy.parse({
        "person": "person", "attributes": {**stream.quasi, "illness": {"sensitive": True, **more}}, "privacy": {"k": _K},
        "window": {"count": _WINDOW}, "algorithm": {"name": "tide"},
    })  # fmt: skip


class Output(NamedTuple):
    """What left, how it left, the bags, and what was counted."""

    rows: pa.Table
    trace: pa.Table
    bags: pa.Table
    stats: Stats


def _anonymized(policy: Policy, rows: pa.Table) -> Output:
    anonymizer = Anonymizer(policy)
    parts: list[tuple[pa.RecordBatch, ...]] = []
    for batch in [*rows.combine_chunks().to_batches(max_chunksize=8192), None]:
        left = anonymizer.flush() if batch is None else anonymizer.push_batch(batch)
        parts.append((left, anonymizer.trace, anonymizer.bags))
    stats = anonymizer.stats
    assert isinstance(stats, Stats)
    left, trace, bags = (pa.Table.from_batches(each) for each in zip(*parts, strict=True))
    return Output(left, trace, bags, stats)


def _measured(stream: Stream, rounds: int) -> Figures:
    figures: Figures = {"stream": stream.name, "persons": len(set(stream.rows.column("person").to_pylist()))}
    seconds: dict[str, list[float]] = {shown: [] for shown in SHOWN}
    outputs: dict[str, Output] = {}
    for turn in range(rounds):
        for shown in SHOWN if turn % 2 else SHOWN[::-1]:
            policy, begun = _policy(stream, shown), process_time()
            outputs[shown] = _anonymized(policy, stream.rows)
            seconds[shown].append(process_time() - begun)
    for shown, output in outputs.items():
        policy = _policy(stream, shown)
        bags = output.bags if shown == "bag" else None
        evidence = gather(policy, stream.rows, output.rows, output.trace, bags=bags)
        assert isinstance(evidence, Evidence)
        attack = across_releases(evidence, "illness", figures["persons"])
        figures[shown] = {
            **_attacked(attack), "loss": output.stats.loss,
            "time": min(seconds[shown]) / min(seconds["exact"]),
            "error": _query_error(stream, shown, policy, output),
        }  # fmt: skip
    return figures


def _attacked(attack: Attack) -> Figures:
    control = attack.control or 0.0
    error = 1.96 * math.sqrt(control * (1 - control) / max(1, attack.tried))
    return {
        "success": attack.success, "chance": attack.baseline, "allowed": control, "interval": error, "tried": attack.tried,
        "steps": {str(after): share for after, _, share in attack.by_releases},
    }  # fmt: skip


def _query_error(stream: Stream, shown: str, policy: Policy, output: Output) -> float:
    """The median error of counts of a value in a range of the first quasi-identifier, as a share of the count.

    The analyst spreads each row evenly over its interval. Where a block is shown, each of its values counts with its share
    among all, which is known; where bags are, each row counts with the share of the value in the bags.
    """
    name = next(iter(stream.quasi))
    draw = np.random.default_rng(1)
    true_x = np.asarray(stream.rows.column(name).to_numpy(), dtype=float)
    true_v = np.array(stream.rows.column("illness").to_pylist())
    band = output.rows.column(name).combine_chunks()
    low, high = (np.asarray(band.field(end).to_numpy(zero_copy_only=False), dtype=float) for end in ("lo", "hi"))
    weights = _weights(stream, shown, policy, output)
    errors: list[float] = []
    while len(errors) < _QUERIES:
        a, b = np.sort(draw.choice(true_x, 2, replace=False))
        value = str(draw.choice(true_v))
        truth = float(((true_x >= a) & (true_x <= b) & (true_v == value)).sum())
        if truth < _AT_LEAST * len(true_v) / max(1, len(stream.shares) / 5):
            continue
        inside = np.clip(np.minimum(high + 0.5, b + 0.5) - np.maximum(low - 0.5, a - 0.5), 0, None) / (high - low + 1)
        errors.append(abs(float((inside * weights[value]).sum()) - truth) / truth)
    return float(np.median(errors))


def _weights(stream: Stream, shown: str, policy: Policy, output: Output) -> dict[str, NDArray[np.float64] | float]:
    """For each value, how much of it each row counts as."""
    rows = output.rows.column("illness").to_pylist()
    if shown == "exact":
        return {value: np.array([each == value for each in rows], float) for value in stream.shares}
    if shown == "bag":
        values, counts = np.unique(output.bags.column("value").to_pylist(), return_counts=True)
        found = dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))
        return {value: found.get(value, 0.0) for value in stream.shares}
    result: dict[str, NDArray[np.float64] | float] = {}
    for block in policy.blocks["illness"].values:
        inside = np.array([each == list(block) for each in rows], float)
        total = sum(stream.shares[value] for value in block)
        result |= {value: inside * (stream.shares[value] / total) for value in block}
    return result


def across_tables(result: Figures) -> list[Table]:
    sizes = (
        f"k {result['k']}, window {result['window']:,}, {result['tuples']:,} tuples, {result['releases']} of each person; "
        f"blocks of {result['m']} values or more, bags of {result['bag']:,}"
    )
    steps = ("1", "2", "5", "10", "20", "50")
    right = []
    for row in result["rows"]:
        for shown in SHOWN:
            each = row[shown]
            cells = [_share(each["steps"].get(step)) for step in steps]
            allowed = f"{_share(each['allowed'])} ± {100 * each['interval']:.1f}"
            right.append((row["stream"] if shown == SHOWN[0] else "", shown, *cells, allowed, _share(each["chance"])))
    header = ("stream", "as", *(f"after {step}" for step in steps), "allowed", "most frequent")
    notes = [
        "After n releases: how often the better of intersection and naive Bayes names the value, of persons with one value. "
        "Allowed: of blocks, how often the most frequent value of the person's block is right; otherwise that of all. The "
        "interval is 95 % for as many persons.",
    ]
    cost = [
        (row["stream"], shown, loss(row[shown]["loss"]), f"{row[shown]['time']:.2f}", _share(row[shown]["error"]))
        for row in result["rows"]
        for shown in SHOWN
    ]
    queries = [
        "Error: of counts of one value in a range of the first quasi-identifier, in the median. Time: processor time, the "
        "shortest of all rounds.",
    ]
    return [
        Table(f"How often a returning person's value is named: {sizes}", header, right, notes),
        Table("What it costs", ("stream", "as", "loss", "time, exact = 1", "error of counts"), cost, queries),
    ]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
