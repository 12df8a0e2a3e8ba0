"""z-anonymity: figures 2 to 8 and C.10, the model and the filter side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, stdev

from shoal.experiments.claim import Claim, always, close, rising
from shoal.experiments.figure import Curve, Figure, Panel
from shoal.experiments.job import Job, Results
from shoal.experiments.paper import Findings, Paper, Scale
from shoal.experiments.visits import ITEMS, USERS, WINDOW, Z, model_job, simulation_job

KS = (2, 3, 4)
RANKED, RANK_Z = 1000, (1, 10, 50, 100, 200)
Z_AXIS = (1, 25, 50, 75, 100, 125, 150, 175, 200, 225, 250, 275, 300, 325, 350, 375, 400)
WINDOWS = (1, 2, 3, 4, 6, 8, 10, 12, 15, 18, 21, 24)
ITEM_AXIS = (1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20)
ITEM_Z = (1, 50, 100, 150, 200)
USER_AXIS = (200, 300, 500, 700, 1000, 2000, 3000, 5000, 10_000, 20_000, 50_000, 100_000, 300_000, 1_000_000, 3_000_000)
USER_Z = (20, 50, 100, 150)
RATIOS = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 32, 64)
SEPARATIONS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
CLASSES, CLASS_Z = (500, 500), 50
SHOWN_Z = (50, 100, 150, 200, 250, 300, 350)  # where the filter is run
RANK_SHOWN = (1, 2, 5, 10, 13, 20, 30, 50, 100)


def _activity(ratio: float) -> Job:
    """Two classes; the second is `ratio` times as active, the mean is as before."""
    first = 2 / (1 + ratio)
    return model_job(users=CLASSES, z=CLASS_Z, factors=((first, first), (ratio * first, ratio * first)), method="exact")


def _interest(separation: float) -> Job:
    """Two classes; η of even ranks goes to the first, of odd ranks to the second: twice, so that the mean is as before."""
    eta = (1 + separation) / 2
    return model_job(users=CLASSES, z=CLASS_Z, factors=((2 * (1 - eta), 2 * eta), (2 * eta, 2 * (1 - eta))), method="exact")


def _printed(separation: float) -> Job:
    """The same with the rates of table 3 as they stand."""
    eta = (1 + separation) / 2
    return model_job(users=CLASSES, z=CLASS_Z, factors=((1 - eta, eta), (eta, 1 - eta)), method="exact")


def _ranks(z: int) -> Job:
    return model_job(items=RANKED, z=z)


def _simulations(scale: Scale, z: int) -> list[Job]:
    return [simulation_job(z=z, ks=KS, seed=seed) for seed in range(scale.seeds)]


def _validation(scale: Scale) -> list[Job]:
    return [simulation_job(z=Z, ks=KS, seed=seed) for seed in range(5 * scale.seeds)]


def _jobs(scale: Scale) -> list[Job]:
    jobs = [_ranks(z) for z in RANK_Z] + [simulation_job(items=RANKED, z=z) for z in (1, 100)]
    jobs += [model_job(z=z, ks=KS) for z in {*scale.sweep(Z_AXIS), 100, 150, 250, 350, CLASS_Z}]
    jobs += [job for z in scale.sweep(SHOWN_Z) for job in _simulations(scale, z)] + _validation(scale)
    jobs += [model_job(window=float(window), ks=KS) for window in scale.sweep(WINDOWS)]
    jobs += [model_job(items=items, z=z) for items in scale.sweep(ITEM_AXIS) for z in ITEM_Z]
    jobs += [model_job(users=users, z=z) for users in scale.sweep(USER_AXIS) for z in USER_Z]
    jobs += [model_job(users=users, z=max(1, users // 25), ks=KS) for users in scale.sweep(USER_AXIS)]
    jobs += [_activity(ratio) for ratio in _ratios(scale)]
    jobs += [job(separation) for separation in scale.sweep(SEPARATIONS) for job in (_interest, _printed)]
    return [*jobs, *(model_job(method=method) for method in ("exact", "tree", "grid")), model_job(z=CLASS_Z, method="exact")]


def _ratios(scale: Scale) -> list[float]:
    return sorted({*scale.sweep(RATIOS), 1.0})


def _curve(results: Results, xs: Sequence[float], jobs: Sequence[Job], at: int = 0) -> Curve:
    return xs, [results[job]["values"][at] for job in jobs]


def _simulated(scale: Scale, results: Results, z: int, at: int) -> float:
    return fmean(results[job]["values"][at] for job in _simulations(scale, z))


def _findings(scale: Scale, results: Results) -> Findings:
    windows, items, users, zs = (scale.sweep(axis) for axis in (WINDOWS, ITEM_AXIS, USER_AXIS, Z_AXIS))
    ranks = list(range(1, RANKED + 1))
    by_rank = {f"z = {z}": (ranks, [max(p, 1e-9) for p in results[_ranks(z)]["published"]]) for z in RANK_Z}
    for z in (1, 100):
        seen = results[simulation_job(items=RANKED, z=z)]["published"]
        found = [(rank, seen[rank - 1]) for rank in RANK_SHOWN if seen[rank - 1]]
        by_rank[f"z = {z}, simulated"] = ([rank for rank, _ in found], [share for _, share in found])
    by_z = {f"k = {k}": _curve(results, zs, [model_job(z=z, ks=KS) for z in zs], i) for i, k in enumerate(KS)}
    shown = scale.sweep(SHOWN_Z)
    for i, k in enumerate(KS):
        by_z[f"k = {k}, simulated"] = (shown, [_simulated(scale, results, z, i) for z in shown])
    figures = [
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
                    _classes(results, _ratios(scale), [_activity(ratio) for ratio in _ratios(scale)]),
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
                    _classes(results, scale.sweep(SEPARATIONS), [_interest(each) for each in scale.sweep(SEPARATIONS)]),
                ),
                Panel(
                    "rates as printed in table 3",
                    "class separation",
                    "p_k-anon",
                    _classes(results, scale.sweep(SEPARATIONS), [_printed(each) for each in scale.sweep(SEPARATIONS)]),
                ),
            ],
        ),
        _appendix(scale, results),
    ]
    return Findings(figures, _claims(scale, results))


def _classes(results: Results, xs: Sequence[float], jobs: Sequence[Job]) -> dict[str, Curve]:
    curves = {f"class {c + 1}": (xs, [results[job]["classes"][0][c] for job in jobs]) for c in (0, 1)}
    return {**curves, "all": _curve(results, xs, jobs)}


def _appendix(scale: Scale, results: Results) -> Figure:
    seen = results.values(_validation(scale), "values")
    seeds = list(range(len(seen)))
    found = [each[0] for each in seen]  # type: ignore[index]
    curves: dict[str, Curve] = {"a simulation": (seeds, found)}
    for method in ("exact", "tree"):
        value = results[model_job(method=method)]["values"][0]
        curves[f"model, {method}"] = ([seeds[0], seeds[-1]], [value, value])
    curves["mean of the simulations"] = ([seeds[0], seeds[-1]], [fmean(found)] * 2)
    panel = Panel("k = 2, z = 150", "seed", "p_k-anon", curves)
    return Figure("figure-c10", "Model and simulations", [panel], size=(5, 3.4))


def _claims(scale: Scale, results: Results) -> list[Claim]:
    def p(k: int = 2, *, z: int) -> float:
        return results[model_job(ks=KS, z=z)]["values"][KS.index(k)]

    shown = scale.sweep(SHOWN_Z)
    hundred = results[_ranks(100)]
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
            + (f", {_simulated(scale, results, 250, 0):.3f} by the filter" if 250 in shown else ""),
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
        abs(_simulated(scale, results, z, i) - p(k, z=z))
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
    even = results[_activity(1.0)]["values"][0]
    ratios = _ratios(scale)
    mirrored = [
        abs(results[_activity(r)]["values"][0] - results[_activity(1 / r)]["values"][0]) < 1e-9
        for r in ratios
        if 1 / r in ratios
    ]
    unequal = results[_activity(ratios[-1])]["values"][0]
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
            f"{unequal:.3f} at {ratios[-1]:g}, {even:.3f} at 1",
        ),
        always(
            "6.1, fig. 7",
            "the most active class is worse off than in equal classes",
            [results[_activity(ratios[-1])]["classes"][0][1] < even],
            f"{results[_activity(ratios[-1])]['classes'][0][1]:.4f} against {even:.4f}",
        ),
    ]
    for job, said in ((_interest, "rates of equal mean"), (_printed, "rates as printed")):
        found = [results[job(each)] for each in separations]
        both = [after["classes"][0][c] > found[0]["classes"][0][c] for after in found[1:] for c in (0, 1)]
        told = _listed([each["values"][0] for each in found])
        claims.append(always("6.2, fig. 8", f"both classes benefit from class separation ({said})", both, told))
    printed = results[_printed(0.0)]["values"][0]
    claims.append(
        close(
            "6.2, table 3",
            "without separation the value is that of the single class",
            printed,
            single,
            0.005,
            f"with the rates as printed {printed:.4f}, as they halve all rates; the single class "
            f"{single:.4f}; with rates of equal mean "
            f"{results[_interest(0.0)]['values'][0]:.4f}",
        )
    )
    seen = [each[0] for each in results.values(_validation(scale), "values")]  # type: ignore[index]
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


PAPER = Paper(
    name="zanon",
    title="z-anonymity",
    reference=(
        "N. Jha, L. Vassio, M. Trevisan, E. Leonardi, M. Mellia, *Practical anonymization for data streams: z-anonymity "
        "and relation with "
        "k-anonymity*, Performance Evaluation 159 (2023)"
    ),
    setting=(
        f"U {USERS:,}, A {ITEMS}, λ of rank r 0.2/r, z {Z}, k 2, Δt {WINDOW:g}, unless varied; no data set. The model is "
        "`shoal.model`, the simulation "
        "runs the filter of shoal over Poisson users and drops the first Δt."
    ),
    notes=(
        "Section 6.2's rates η·λ and (1-η)·λ halve the mean rate; both these and rates of equal mean are shown.",
        "Equation 6 names no base of the logarithm; entropies are in nats.",
        "Which z figures 2, 5 and 6 show is not in the text but for 1 and 100.",
    ),
    sources=(),
    jobs=_jobs,
    findings=_findings,
)
