"""z-anonymity: figures 2 to 8 and C.10, the model and the filter side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, stdev

from shoal.experiments.claim import Claim, always, close, listed, rising
from shoal.experiments.figure import Curve, Figure, Panel
from shoal.experiments.paper import Findings, Job, Paper, Results, Scale
from shoal.experiments.probability import ITEMS, USERS, WINDOW, Z, model_job, simulation_job

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


def _classes_job(first: tuple[float, float], second: tuple[float, float]) -> Job:
    """Two classes of users; each has a factor for the rates of odd and of even ranks."""
    return model_job(users=CLASSES, z=CLASS_Z, factors=(first, second), method="exact")


def _activity(ratio: float) -> Job:
    """The second class is `ratio` times as active; the mean is as before."""
    first = 2 / (1 + ratio)
    return _classes_job((first, first), (ratio * first, ratio * first))


def _interest(separation: float) -> Job:
    """η of even ranks goes to the first class, of odd ranks to the second: twice, so that the mean is as before."""
    eta = (1 + separation) / 2
    return _classes_job((2 * (1 - eta), 2 * eta), (2 * eta, 2 * (1 - eta)))


def _printed(separation: float) -> Job:
    """The same with the rates of table 3 as they stand."""
    eta = (1 + separation) / 2
    return _classes_job((1 - eta, eta), (eta, 1 - eta))


def _ranks(z: int) -> Job:
    return model_job(items=RANKED, z=z)


def _simulations(scale: Scale, z: int) -> list[Job]:
    return [simulation_job(z=z, ks=KS, seed=seed) for seed in range(scale.seeds)]


def _validation(scale: Scale) -> list[Job]:
    return [simulation_job(z=Z, ks=KS, seed=seed) for seed in range(5 * scale.seeds)]


def _by_window(scale: Scale) -> dict[float, Job]:
    return {window: model_job(window=float(window), ks=KS) for window in scale.sweep(WINDOWS)}


def _by_items(scale: Scale, z: int) -> dict[float, Job]:
    return {items: model_job(items=items, z=z) for items in scale.sweep(ITEM_AXIS)}


def _by_users(scale: Scale, z: int) -> dict[float, Job]:
    return {users: model_job(users=users, z=z) for users in scale.sweep(USER_AXIS)}


def _by_users_scaled(scale: Scale) -> dict[float, Job]:
    """z grows with the users."""
    return {users: model_job(users=users, z=max(1, users // 25), ks=KS) for users in scale.sweep(USER_AXIS)}


def _by_ratio(scale: Scale) -> dict[float, Job]:
    return {ratio: _activity(ratio) for ratio in sorted({*scale.sweep(RATIOS), 1.0})}


def _jobs(scale: Scale) -> list[Job]:
    return [
        *(_ranks(z) for z in RANK_Z),
        *(simulation_job(items=RANKED, z=z) for z in (1, 100)),
        *(model_job(z=z, ks=KS) for z in {*scale.sweep(Z_AXIS), 100, 150, 250, 350, CLASS_Z}),
        *(job for z in scale.sweep(SHOWN_Z) for job in _simulations(scale, z)),
        *_validation(scale),
        *_by_window(scale).values(),
        *(job for z in ITEM_Z for job in _by_items(scale, z).values()),
        *(job for z in USER_Z for job in _by_users(scale, z).values()),
        *_by_users_scaled(scale).values(),
        *_by_ratio(scale).values(),
        *(job(separation) for separation in scale.sweep(SEPARATIONS) for job in (_interest, _printed)),
        *(model_job(method=method) for method in ("exact", "tree", "grid")),
        model_job(z=CLASS_Z, method="exact"),
    ]


def _simulated(scale: Scale, results: Results, z: int, at: int) -> float:
    return fmean(results[job]["values"][at] for job in _simulations(scale, z))


def _curve(results: Results, jobs: Mapping[float, Job], at: int = 0) -> Curve:
    """p_k-anon for the k at this place."""
    return list(jobs), [each[at] for each in results.values(jobs.values(), "values")]


def _by_k(results: Results, jobs: Mapping[float, Job]) -> dict[str, Curve]:
    return {f"k = {k}": _curve(results, jobs, i) for i, k in enumerate(KS)}


def _by_class(results: Results, jobs: Mapping[float, Job]) -> dict[str, Curve]:
    classes = [each[0] for each in results.values(jobs.values(), "classes")]
    curves: dict[str, Curve] = {f"class {c + 1}": (list(jobs), [each[c] for each in classes]) for c in (0, 1)}
    return {**curves, "all": _curve(results, jobs)}


def _findings(scale: Scale, results: Results) -> Findings:
    claims = [*_single_class(scale, results), *_users(scale, results), *_classes(scale, results), *_appendix(scale, results)]
    return Findings(_figures(scale, results), claims)


def _figures(scale: Scale, results: Results) -> list[Figure]:
    by_rank = {f"z = {z}": _positive(results[_ranks(z)]["published"], range(1, RANKED + 1)) for z in RANK_Z}
    for z in (1, 100):
        by_rank[f"z = {z}, simulated"] = _positive(results[simulation_job(items=RANKED, z=z)]["published"], RANK_SHOWN)
    by_z = _by_k(results, {z: model_job(z=z, ks=KS) for z in scale.sweep(Z_AXIS)})
    shown = scale.sweep(SHOWN_Z)
    for i, k in enumerate(KS):
        by_z[f"k = {k}, simulated"] = (shown, [_simulated(scale, results, z, i) for z in shown])
    by_items = {f"z = {z}": _curve(results, _by_items(scale, z)) for z in ITEM_Z}
    entropy = {f"z = {z}": results.curve(_by_items(scale, z), "entropy") for z in ITEM_Z}
    by_users = {f"z = {z}": _curve(results, _by_users(scale, z)) for z in USER_Z}
    scaled = _by_k(results, _by_users_scaled(scale))
    separations = scale.sweep(SEPARATIONS)
    equal, printed = (_by_class(results, {each: job(each) for each in separations}) for job in (_interest, _printed))
    p, large = "p_k-anon", (5, 3.4)
    ranked = Panel("U = A = 1000", "rank", "p^Y", by_rank, log="xy", bare=True)
    windows = Panel("z = 150", "Δt", p, _by_k(results, _by_window(scale)))
    items = [Panel("(a)", "A", p, by_items), Panel("(b)", "A", "entropy (nats)", entropy)]
    users = [Panel("(a)", "U", p, by_users, log="x"), Panel("(b) z = U/25", "U", p, scaled, log="x")]
    activity = Panel("z = 50, 500 users each", "λ_2 / λ_1", p, _by_class(results, _by_ratio(scale)), log="x")
    interest = [
        Panel("rates of equal mean", "class separation", p, equal),
        Panel("rates as printed in table 3", "class separation", p, printed),
    ]
    return [
        Figure("figure-2", "The probability that a user publishes an attribute in Δt", [ranked], size=large),
        Figure("figure-3", "p_k-anon by z", [Panel("U 1000, A 20, Δt 12", "z", p, by_z)], size=large),
        Figure("figure-4", "p_k-anon by Δt", [windows]),
        Figure("figure-5", "The impact of A", items),
        Figure("figure-6", "The impact of U", users),
        Figure("figure-7", "Classes of activity", [activity]),
        Figure("figure-8", "Classes of interest", interest),
        Figure("figure-c10", "Model and simulations", [_validated(scale, results)], size=large),
    ]


def _positive(shares: Sequence[float], at: Iterable[int]) -> Curve:
    """By rank, as far down as a figure on a logarithmic scale goes."""
    shown = [rank for rank in at if shares[rank - 1] > 1e-9]
    return shown, [shares[rank - 1] for rank in shown]


def _validated(scale: Scale, results: Results) -> Panel:
    found = [each[0] for each in results.values(_validation(scale), "values")]
    seeds = list(range(len(found)))
    ends = [seeds[0], seeds[-1]]
    curves: dict[str, Curve] = {"a simulation": (seeds, found)}
    for method in ("exact", "tree"):
        curves[f"model, {method}"] = (ends, [results[model_job(method=method)]["values"][0]] * 2)
    curves["mean of the simulations"] = (ends, [fmean(found)] * 2)
    return Panel("k = 2, z = 150", "seed", "p_k-anon", curves)


def _single_class(scale: Scale, results: Results) -> list[Claim]:
    """Figures 2 to 5."""

    def p(k: int = 2, *, z: int) -> float:
        return results[model_job(ks=KS, z=z)]["values"][KS.index(k)]

    shown = scale.sweep(SHOWN_Z)
    hundred = results[_ranks(100)]
    low = next(rank for rank, value in enumerate(hundred["published"], 1) if value < 1e-6)
    thirteenth, exposed = hundred["published"][12], hundred["exposed"][12]
    filtered = results[simulation_job(items=RANKED, z=100)]["published"][12]
    rank = f"{thirteenth:.3f}; in the filter {filtered:.3f}; the first below 1e-6 is rank {low}"
    never = "z = 100: the 13th attribute is published with a probability below 1e-6"
    by_filter = f", {_simulated(scale, results, 250, 0):.3f} by the filter" if 250 in shown else ""
    by_k = ", ".join(f"{p(k, z=150):.3f} for k = {k}" for k in KS) + " at z = 150"
    rises = f"{p(z=100):.3f} at 100, {p(z=150):.3f} at 150"
    apart = [
        abs(_simulated(scale, results, z, i) - p(k, z=z))
        for z in shown
        for i, k in enumerate(KS)
        if z in {*scale.sweep(Z_AXIS), 100, 150, 250, 350}
    ]
    by_window = [each[0] for each in results.values(_by_window(scale).values(), "values")]
    items, first = _curve(results, _by_items(scale, 1))
    last = results[model_job(items=ITEMS, z=150)]["values"][0]
    falls = "without z-anonymity p_k-anon falls towards 0 as A grows; with it much less"
    entropy, limited = (results.values(_by_items(scale, z).values(), "entropy") for z in (1, 150))
    slopes = [(b - a) / (n - m) for (a, b), (m, n) in zip(pairwise(entropy), pairwise(items), strict=True)]
    slow = [slopes[-1] < slopes[0], limited[-1] < entropy[-1]]
    nats = f"z = 1: {listed(entropy)}; z = 150: {listed(limited)} nats"
    return [
        always("3.2.3, fig. 2", never, [thirteenth < 1e-6], rank),
        close("3.2.3, fig. 2", "and is exposed with 0.1", exposed, 0.1, 0.02, f"{exposed:.3f}"),
        always("5.1, fig. 3", "for k = 2 p_k-anon rises from z = 100 on", [p(z=100) < p(z=150)], rises),
        close("5.1, fig. 3", "z = 250, k = 2: 0.8", p(z=250), 0.8, 0.02, f"{p(z=250):.3f} by the model{by_filter}"),
        close("5.1, fig. 3", "above z = 350 p_k-anon approaches 1", p(z=350), 1.0, 0.01, f"{p(z=350):.3f} at 350"),
        always("5.1, fig. 3", "the larger k, the smaller p_k-anon", [p(2, z=150) > p(3, z=150) > p(4, z=150)], by_k),
        always(
            "5.1, fig. 3",
            "model and simulation match almost perfectly (within 0.02)",
            [each <= 0.02 for each in apart],
            f"apart by at most {max(apart):.3f}",
        ),
        rising("5.2, fig. 4", "the longer Δt, the smaller p_k-anon", [-each for each in by_window], listed(by_window)),
        always(
            "5.3, fig. 5a",
            falls,
            [first[-1] < 0.05, last > first[-1]],
            f"z = 1: {listed(first)}; z = 150: {last:.3f} at A = {ITEMS}",
        ),
        always("5.3, fig. 5b", "entropy grows less than linearly with A, and z limits it", slow, nats),
    ]


def _users(scale: Scale, results: Results) -> list[Claim]:
    """Figure 6."""
    users = scale.sweep(USER_AXIS)
    dips = []
    for z in USER_Z:
        found = _curve(results, _by_users(scale, z))[1]
        low = found.index(min(found))
        dips.append(0 < low < len(found) - 1 and found[0] > found[low] < found[-1])
    scaled = _curve(results, _by_users_scaled(scale))[1]
    falls = "p_k-anon first falls as U grows, then rises again, for each z"
    grows = "with z = U/25 p_k-anon grows with U, close to 1 in the end"
    return [
        always("5.4, fig. 6a", falls, dips, f"U from {users[0]:,} to {users[-1]:,}"),
        rising("5.4, fig. 6b", grows, scaled, listed(scaled)),
    ]


def _classes(scale: Scale, results: Results) -> list[Claim]:
    """Figures 7 and 8."""
    single = results[model_job(z=CLASS_Z, method="exact")]["values"][0]
    by_ratio = {ratio: results[job] for ratio, job in _by_ratio(scale).items()}
    values = {ratio: found["values"][0] for ratio, found in by_ratio.items()}
    even, last = values[1.0], max(values)
    active = by_ratio[last]["classes"][0][1]
    mirrored = [abs(values[ratio] - values[1 / ratio]) < 1e-9 for ratio in values if 1 / ratio in values]
    alike, worse = "equal classes give the value of figure 3", "the most active class is worse off than in equal classes"
    unbalanced = "p_k-anon benefits when classes are strongly unbalanced"
    claims = [
        always("6.1, fig. 7", "the figure is symmetric", mirrored, ""),
        close("6.1, fig. 7", alike, even, single, 1e-9, f"{even:.4f} and {single:.4f} at z = {CLASS_Z}"),
        always("6.1, fig. 7", unbalanced, [values[last] > even], f"{values[last]:.3f} at {last:g}, {even:.3f} at 1"),
        always("6.1, fig. 7", worse, [active < even], f"{active:.4f} against {even:.4f}"),
    ]
    for job, rates in ((_interest, "rates of equal mean"), (_printed, "rates as printed")):
        found = [results[job(each)] for each in scale.sweep(SEPARATIONS)]
        both = [after["classes"][0][c] > found[0]["classes"][0][c] for after in found[1:] for c in (0, 1)]
        said = f"both classes benefit from class separation ({rates})"
        claims.append(always("6.2, fig. 8", said, both, listed([each["values"][0] for each in found])))
    halved, equal = (results[job(0.0)]["values"][0] for job in (_printed, _interest))
    said = "without separation the value is that of the single class"
    shown = (
        f"with the rates as printed {halved:.4f}, as they halve all rates; the single class {single:.4f}; "
        f"with rates of equal mean {equal:.4f}"
    )
    return [*claims, close("6.2, table 3", said, halved, single, 0.005, shown)]


def _appendix(scale: Scale, results: Results) -> list[Claim]:
    """Figure C.10."""
    where = "C, fig. C.10"
    seen = [each[0] for each in results.values(_validation(scale), "values")]
    exact, tree = (results[model_job(method=method)]["values"][0] for method in ("exact", "tree"))
    error = stdev(seen) / len(seen) ** 0.5
    shown = f"{fmean(seen):.4f} over {len(seen)} seeds (standard error {error:.4f}); exact {exact:.4f}"
    near, same = "simulations are within 0.005 of the exact model on average", "exact and approximated model return the same"
    return [
        close(where, near, fmean(seen), exact, 0.005, shown),
        close(where, "with a standard deviation of 0.04", stdev(seen), 0.04, 0.01, f"{stdev(seen):.3f}"),
        close(where, same, tree, exact, 0.005, f"{exact:.4f} and {tree:.4f}"),
    ]


PAPER = Paper(
    name="zanon",
    title="z-anonymity",
    reference=(
        "N. Jha, L. Vassio, M. Trevisan, E. Leonardi, M. Mellia, *Practical anonymization for data streams: z-anonymity "
        "and relation with k-anonymity*, Performance Evaluation 159 (2023)"
    ),
    setting=(
        f"U {USERS:,}, A {ITEMS}, λ of rank r 0.2/r, z {Z}, k 2, Δt {WINDOW:g}, unless varied; no data set. The model is "
        "`shoal.model`, the simulation runs the filter of shoal over Poisson users and drops the first Δt."
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
