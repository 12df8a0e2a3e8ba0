"""Figures 2 to 8 and C.10."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from shoal.experiments.figure import Curve, Figure, Panel
from shoal.experiments.job import Job, Results
from shoal.experiments.paper import Scale
from shoal.experiments.probability import model_job, simulation_job
from shoal.experiments.zanon.jobs import (
    ITEM_AXIS,
    ITEM_Z,
    KS,
    RANK_SHOWN,
    RANK_Z,
    RANKED,
    SEPARATIONS,
    SHOWN_Z,
    USER_AXIS,
    USER_Z,
    WINDOWS,
    Z_AXIS,
    activity,
    interest,
    printed,
    ranks,
    ratios,
    simulated,
    validation,
)


def _curve(results: Results, xs: Sequence[float], jobs: Sequence[Job], at: int = 0) -> Curve:
    return xs, [results[job]["values"][at] for job in jobs]


def figures(scale: Scale, results: Results) -> list[Figure]:
    windows, items, users, zs = (scale.sweep(axis) for axis in (WINDOWS, ITEM_AXIS, USER_AXIS, Z_AXIS))
    by_rank = {f"z = {z}": _seen(results[ranks(z)]["published"], range(1, RANKED + 1)) for z in RANK_Z}
    for z in (1, 100):
        by_rank[f"z = {z}, simulated"] = _seen(results[simulation_job(items=RANKED, z=z)]["published"], RANK_SHOWN)
    by_z = {f"k = {k}": _curve(results, zs, [model_job(z=z, ks=KS) for z in zs], i) for i, k in enumerate(KS)}
    shown = scale.sweep(SHOWN_Z)
    for i, k in enumerate(KS):
        by_z[f"k = {k}, simulated"] = (shown, [simulated(scale, results, z, i) for z in shown])
    return [
        Figure(
            "figure-2",
            "The probability that a user publishes an attribute in Δt",
            [Panel("U = A = 1000", "rank", "p^Y", by_rank, log="xy", bare=True)],
            size=(5, 3.4),
        ),
        Figure("figure-3", "p_k-anon by z", [Panel("U 1000, A 20, Δt 12", "z", "p_k-anon", by_z)], size=(5, 3.4)),
        Figure(
            "figure-4",
            "p_k-anon by Δt",
            [
                Panel(
                    "z = 150",
                    "Δt",
                    "p_k-anon",
                    {
                        f"k = {k}": _curve(results, windows, [model_job(window=float(w), ks=KS) for w in windows], i)
                        for i, k in enumerate(KS)
                    },
                )
            ],
        ),
        Figure(
            "figure-5",
            "The impact of A",
            [
                Panel(
                    "(a)",
                    "A",
                    "p_k-anon",
                    {f"z = {z}": _curve(results, items, [model_job(items=a, z=z) for a in items]) for z in ITEM_Z},
                ),
                Panel(
                    "(b)",
                    "A",
                    "entropy (nats)",
                    {f"z = {z}": (items, results.values((model_job(items=a, z=z) for a in items), "entropy")) for z in ITEM_Z},
                ),
            ],
        ),
        Figure(
            "figure-6",
            "The impact of U",
            [
                Panel(
                    "(a)",
                    "U",
                    "p_k-anon",
                    {f"z = {z}": _curve(results, users, [model_job(users=u, z=z) for u in users]) for z in USER_Z},
                    log="x",
                ),
                Panel(
                    "(b) z = U/25",
                    "U",
                    "p_k-anon",
                    {
                        f"k = {k}": _curve(results, users, [model_job(users=u, z=max(1, u // 25), ks=KS) for u in users], i)
                        for i, k in enumerate(KS)
                    },
                    log="x",
                ),
            ],
        ),
        Figure(
            "figure-7",
            "Classes of activity",
            [
                Panel(
                    "z = 50, 500 users each",
                    "λ_2 / λ_1",
                    "p_k-anon",
                    _classes(results, ratios(scale), [activity(ratio) for ratio in ratios(scale)]),
                    log="x",
                )
            ],
        ),
        Figure(
            "figure-8",
            "Classes of interest",
            [
                Panel(
                    "rates of equal mean",
                    "class separation",
                    "p_k-anon",
                    _classes(results, scale.sweep(SEPARATIONS), [interest(each) for each in scale.sweep(SEPARATIONS)]),
                ),
                Panel(
                    "rates as printed in table 3",
                    "class separation",
                    "p_k-anon",
                    _classes(results, scale.sweep(SEPARATIONS), [printed(each) for each in scale.sweep(SEPARATIONS)]),
                ),
            ],
        ),
        _appendix(scale, results),
    ]


def _seen(shares: Sequence[float], at: Iterable[int]) -> Curve:
    """By rank, as far down as a figure on a logarithmic scale goes."""
    shown = [rank for rank in at if shares[rank - 1] > 1e-9]
    return shown, [shares[rank - 1] for rank in shown]


def _classes(results: Results, xs: Sequence[float], jobs: Sequence[Job]) -> dict[str, Curve]:
    curves = {f"class {c + 1}": (xs, [results[job]["classes"][0][c] for job in jobs]) for c in (0, 1)}
    return {**curves, "all": _curve(results, xs, jobs)}


def _appendix(scale: Scale, results: Results) -> Figure:
    seen = results.values(validation(scale), "values")
    seeds = list(range(len(seen)))
    found = [each[0] for each in seen]  # type: ignore[index]
    curves: dict[str, Curve] = {"a simulation": (seeds, found)}
    for method in ("exact", "tree"):
        value = results[model_job(method=method)]["values"][0]
        curves[f"model, {method}"] = ([seeds[0], seeds[-1]], [value, value])
    curves["mean of the simulations"] = ([seeds[0], seeds[-1]], [fmean(found)] * 2)
    panel = Panel("k = 2, z = 150", "seed", "p_k-anon", curves)
    return Figure("figure-c10", "Model and simulations", [panel], size=(5, 3.4))
