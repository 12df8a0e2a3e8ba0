"""What l costs, and whether the tuples that complete a group for it give themselves away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import Anonymizer, Policy, Stats
from shoal.audit import WindowReport, audit
from shoal.bench.benchmark import Benchmark, Figures
from shoal.bench.table import NOTHING, Table, loss
from shoal.bench.workload import Variant
from shoal.policy import Hierarchy

MIXES = {"95/3/1/1": (0.95, 0.03, 0.01, 0.01), "80/10/5/5": (0.8, 0.1, 0.05, 0.05)}  # shares of the sensitive values
BOUNDS = {"95/3/1/1": 2.5, "80/10/5/5": 1.3}  # times chance, at most
_K, _L, _WINDOW = 10, 2, 2000
_VALUES = "abcd"
_REGIONS, _CITIES = 6, 5
_ATTACK = "helper: illness"


def measure_diversity(bench: Benchmark) -> Figures:
    """Each algorithm on streams of persons whose sensitive values depend on nothing, pooled over several draws."""
    w = bench.workload
    steps = [(mix, variant) for mix in MIXES for variant in bench.variants]
    rows = []
    for i, (mix, variant) in enumerate(steps):
        bench.step(f"{mix}, {variant.label}", i, len(steps))
        draws = [_draw(w.small, MIXES[mix], w.seed + draw) for draw in range(w.draws)]
        rows.append({"mix": mix, "algorithm": variant.label, **_pooled(draws, variant)})
    return {"rows": rows, "k": _K, "l": _L, "window": _WINDOW, "tuples": w.small, "draws": w.draws}


def _draw(tuples: int, shares: Sequence[float], seed: int) -> pa.Table:
    """Tuples of different persons; their quasi-identifiers are denser in some places than in others."""
    draw = np.random.default_rng(seed)
    age = np.clip(draw.normal(45, 18, tuples), 0, 100)
    income = np.clip(draw.lognormal(3.3, 0.5, tuples), 0, 200)
    height = np.clip(draw.normal(170, 12, tuples), 120, 220)
    city = (draw.beta(1, 2, tuples) * _REGIONS * _CITIES).astype(int)
    return pa.table({
        "person": np.arange(tuples), "age": age.round(1), "income": income.round(2), "height": height.round(1),
        "city": [f"city {each}" for each in city], "illness": [_VALUES[each] for each in draw.choice(4, tuples, p=shares)],
    })  # fmt: skip


def _policy(variant: Variant, diversity: int | None) -> Policy:
    cities = [[f"city {i}", f"region {i // _CITIES}", "everywhere"] for i in range(_REGIONS * _CITIES)]
    attributes: dict[str, Any] = {
        "age": {"quasi": "numeric", "range": [0, 100]}, "income": {"quasi": "numeric", "range": [0, 200]},
        "height": {"quasi": "numeric", "range": [120, 220]},
        "city": {"quasi": "categorical", "hierarchy": Hierarchy.of(cities)},
        "illness": {"sensitive": True, **({"l": diversity} if diversity else {})},
    }  # fmt: skip
    return Policy.parse({
        "person": "person", "attributes": attributes, "privacy": {"k": _K}, "window": {"count": _WINDOW},
        "algorithm": variant.algorithm,
    })  # fmt: skip


def _pooled(draws: Sequence[pa.Table], variant: Variant) -> Figures:
    """Losses and what is withheld, as means; the attack over the groups of all draws."""
    found: Figures = {"plain": 0.0, "loss": 0.0, "withheld": 0.0, "suppressed": 0.0, "tried": 0, "right": 0.0, "chance": 0.0}
    for rows in draws:
        found["plain"] += _anonymized(_policy(variant, None), rows)[2].loss / len(draws)
        policy = _policy(variant, _L)
        output, trace, stats = _anonymized(policy, rows)
        found["loss"] += stats.loss / len(draws)
        found["withheld"] += stats.withheld / stats.released / len(draws)
        found["suppressed"] += stats.suppressed / stats.released / len(draws)
        report = audit(policy, rows, output, trace)
        assert isinstance(report, WindowReport)
        attacks = {attack.name: attack for attack in report.figures.attacks}
        attack = attacks[_ATTACK]
        found["tried"] += attack.tried
        found["right"] += (attack.success or 0.0) * attack.tried
        found["chance"] += (attack.baseline or 0.0) * attack.tried
    tried = max(1, found["tried"])
    return {**found, "right": found["right"] / tried, "chance": found["chance"] / tried}


def _anonymized(policy: Policy, rows: pa.Table) -> tuple[pa.Table, pa.Table, Stats]:
    anonymizer = Anonymizer(policy)
    left, traces = [], []
    for batch in [*rows.combine_chunks().to_batches(max_chunksize=8192), None]:
        left.append(anonymizer.flush() if batch is None else anonymizer.push_batch(batch))
        traces.append(anonymizer.trace)
    stats = anonymizer.stats
    assert isinstance(stats, Stats)
    return pa.Table.from_batches(left), pa.Table.from_batches(traces), stats


def diversity_tables(result: Figures) -> list[Table]:
    sizes = f"k {result['k']}, window {result['window']:,}, {result['draws']} draws of {result['tuples']:,} tuples"
    header = ("algorithm", "loss without l", f"with l {result['l']}", "withheld", "suppressed", "found", "chance", "times")
    notes = [
        "Withheld: the share of the sensitive values that are published as null, for their whole group.",
        "Found: how often the member of a group that lies apart has another value than the usual one; the best of three "
        "ways to choose it, in groups of more than k members that show several values. Chance: how often anyone has, or a "
        "member of these groups drawn at random, whichever is more.",
    ]
    found = []
    for mix, bound in BOUNDS.items():
        own = [row for row in result["rows"] if row["mix"] == mix]
        title = f"Values {mix}, at most {bound:g} times chance: {sizes}"
        found.append(Table(title, header, [_cells(row) for row in own]))
    return [*found[:-1], replace(found[-1], notes=notes)]


def _cells(row: Figures) -> tuple[str, ...]:
    times = f"{row['right'] / row['chance']:.2f}" if row["chance"] else NOTHING
    shares = (f"{100 * row[each]:.1f} %" for each in ("withheld", "suppressed", "right", "chance"))
    return (row["algorithm"], loss(row["plain"]), loss(row["loss"]), *shares, times)
