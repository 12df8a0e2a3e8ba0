"""What the text says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, stdev

from shoal.experiments.claim import Claim, always, close, rising
from shoal.experiments.job import Results
from shoal.experiments.paper import Scale
from shoal.experiments.probability import ITEMS, model_job, simulation_job
from shoal.experiments.zanon.jobs import (
    CLASS_Z,
    ITEM_AXIS,
    KS,
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


def claims(scale: Scale, results: Results) -> list[Claim]:
    def p(k: int = 2, *, z: int) -> float:
        return results[model_job(ks=KS, z=z)]["values"][KS.index(k)]

    shown = scale.sweep(SHOWN_Z)
    hundred = results[ranks(100)]
    low = next(rank for rank, value in enumerate(hundred["published"], 1) if value < 1e-6)
    claims = [
        always(
            "3.2.3, fig. 2",
            "z = 100: the 13th attribute is published with a probability below 1e-6",
            [hundred["published"][12] < 1e-6],
            f"{hundred['published'][12]:.3f}; in the filter "
            f"{results[simulation_job(items=RANKED, z=100)]['published'][12]:.3f}; "
            f"the first below 1e-6 is rank {low}",
        ),
        close("3.2.3, fig. 2", "and is exposed with 0.1", hundred["exposed"][12], 0.1, 0.02, f"{hundred['exposed'][12]:.3f}"),
        always(
            "5.1, fig. 3",
            "for k = 2 p_k-anon rises from z = 100 on",
            [p(z=100) < p(z=150)],
            f"{p(z=100):.3f} at 100, {p(z=150):.3f} at 150",
        ),
        close(
            "5.1, fig. 3",
            "z = 250, k = 2: 0.8",
            p(z=250),
            0.8,
            0.02,
            f"{p(z=250):.3f} by the model"
            + (f", {simulated(scale, results, 250, 0):.3f} by the filter" if 250 in shown else ""),
        ),
        close("5.1, fig. 3", "above z = 350 p_k-anon approaches 1", p(z=350), 1.0, 0.01, f"{p(z=350):.3f} at 350"),
        always(
            "5.1, fig. 3",
            "the larger k, the smaller p_k-anon",
            [p(2, z=150) > p(3, z=150) > p(4, z=150)],
            ", ".join(f"{p(k, z=150):.3f} for k = {k}" for k in KS) + " at z = 150",
        ),
    ]
    apart = [
        abs(simulated(scale, results, z, i) - p(k, z=z))
        for z in shown
        for i, k in enumerate(KS)
        if z in {*scale.sweep(Z_AXIS), 100, 150, 250, 350}
    ]
    claims.append(
        always(
            "5.1, fig. 3",
            "model and simulation match almost perfectly (within 0.02)",
            [each <= 0.02 for each in apart],
            f"apart by at most {max(apart):.3f}",
        )
    )
    windows = scale.sweep(WINDOWS)
    by_window = [results[model_job(window=float(w), ks=KS)]["values"][0] for w in windows]
    claims.append(
        rising("5.2, fig. 4", "the longer Δt, the smaller p_k-anon", [-each for each in by_window], _listed(by_window))
    )
    items = scale.sweep(ITEM_AXIS)
    first = [results[model_job(items=a, z=1)]["values"][0] for a in items]
    last = results[model_job(items=ITEMS, z=150)]["values"][0]
    claims.append(
        always(
            "5.3, fig. 5a",
            "without z-anonymity p_k-anon falls towards 0 as A grows; with it much less",
            [first[-1] < 0.05, last > first[-1]],
            f"z = 1: {_listed(first)}; z = 150: {last:.3f} at A = {ITEMS}",
        )
    )
    entropy = results.values((model_job(items=a, z=1) for a in items), "entropy")
    slopes = [(b - a) / (n - m) for (a, b), (m, n) in zip(pairwise(entropy), pairwise(items), strict=True)]
    tamed = results.values((model_job(items=a, z=150) for a in items), "entropy")
    claims.append(
        always(
            "5.3, fig. 5b",
            "entropy grows less than linearly with A, and z limits it",
            [slopes[-1] < slopes[0], tamed[-1] < entropy[-1]],
            f"z = 1: {_listed(entropy)}; z = 150: {_listed(tamed)} nats",
        )
    )
    claims += _users(scale, results)
    return claims + _extension(scale, results)


def _users(scale: Scale, results: Results) -> list[Claim]:
    users = scale.sweep(USER_AXIS)
    claims = []
    dips = []
    for z in USER_Z:
        values = results.values((model_job(users=u, z=z) for u in users), "values")
        found = [each[0] for each in values]  # type: ignore[index]
        low = found.index(min(found))
        dips.append(0 < low < len(found) - 1 and found[0] > found[low] < found[-1])
    claims.append(
        always(
            "5.4, fig. 6a",
            "p_k-anon first falls as U grows, then rises again, for each z",
            dips,
            f"U from {users[0]:,} to {users[-1]:,}",
        )
    )
    scaled = [results[model_job(users=u, z=max(1, u // 25), ks=KS)]["values"][0] for u in users]
    claims.append(rising("5.4, fig. 6b", "with z = U/25 p_k-anon grows with U, close to 1 in the end", scaled, _listed(scaled)))
    return claims


def _extension(scale: Scale, results: Results) -> list[Claim]:
    single = results[model_job(z=CLASS_Z, method="exact")]["values"][0]
    even = results[activity(1.0)]["values"][0]
    tried = ratios(scale)
    mirrored = [
        abs(results[activity(r)]["values"][0] - results[activity(1 / r)]["values"][0]) < 1e-9 for r in tried if 1 / r in tried
    ]
    unequal = results[activity(tried[-1])]["values"][0]
    separations = scale.sweep(SEPARATIONS)
    claims = [
        always("6.1, fig. 7", "the figure is symmetric", mirrored, ""),
        close(
            "6.1, fig. 7",
            "equal classes give the value of figure 3",
            even,
            single,
            1e-9,
            f"{even:.4f} and {single:.4f} at z = {CLASS_Z}",
        ),
        always(
            "6.1, fig. 7",
            "p_k-anon benefits when classes are strongly unbalanced",
            [unequal > even],
            f"{unequal:.3f} at {tried[-1]:g}, {even:.3f} at 1",
        ),
        always(
            "6.1, fig. 7",
            "the most active class is worse off than in equal classes",
            [results[activity(tried[-1])]["classes"][0][1] < even],
            f"{results[activity(tried[-1])]['classes'][0][1]:.4f} against {even:.4f}",
        ),
    ]
    for job, said in ((interest, "rates of equal mean"), (printed, "rates as printed")):
        found = [results[job(each)] for each in separations]
        both = [after["classes"][0][c] > found[0]["classes"][0][c] for after in found[1:] for c in (0, 1)]
        told = _listed([each["values"][0] for each in found])
        claims.append(always("6.2, fig. 8", f"both classes benefit from class separation ({said})", both, told))
    halved = results[printed(0.0)]["values"][0]
    claims.append(
        close(
            "6.2, table 3",
            "without separation the value is that of the single class",
            halved,
            single,
            0.005,
            f"with the rates as printed {halved:.4f}, as they halve all rates; the single class "
            f"{single:.4f}; with rates of equal mean "
            f"{results[interest(0.0)]['values'][0]:.4f}",
        )
    )
    seen = [each[0] for each in results.values(validation(scale), "values")]  # type: ignore[index]
    exact, tree = (results[model_job(method=method)]["values"][0] for method in ("exact", "tree"))
    claims += [
        close(
            "C, fig. C.10",
            "simulations are within 0.005 of the exact model on average",
            fmean(seen),
            exact,
            0.005,
            f"{fmean(seen):.4f} over {len(seen)} seeds (standard error {stdev(seen) / len(seen) ** 0.5:.4f}); "
            f"exact {exact:.4f}",
        ),
        close("C, fig. C.10", "with a standard deviation of 0.04", stdev(seen), 0.04, 0.01, f"{stdev(seen):.3f}"),
        close(
            "C, fig. C.10", "exact and approximated model return the same", tree, exact, 0.005, f"{exact:.4f} and {tree:.4f}"
        ),
    ]
    return claims


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.3f}" for value in values)
