"""X-BAND: figures 2 to 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from shoal.experiments.claim import Claim, always, between, close, less, span
from shoal.experiments.engine import stream_job
from shoal.experiments.fads import fads_job
from shoal.experiments.figure import Figure, Panel
from shoal.experiments.job import Job, Results
from shoal.experiments.paper import Findings, Paper, Scale
from shoal.experiments.published import BINS
from shoal.experiments.streams import CITIES

K, WINDOW, REUSE = 50, 1000, 1000
MISSING = (1, 2, 4, 6, 8, 10)
PURE = (6, 8, 10)
WEIGHTS = (1.0, 0.75, 0.5, 0.25)
BANDS: Mapping[str, Sequence[int]] = {"Adult": (4, 6, 8, 10), "PM2.5": (2, 4, 6)}
FADS = "FADS"
_LOSS: Mapping[str, tuple[float, float]] = {"Guangzhou": (11, 13)}
_OTHER_CITIES = (18, 21)


def _band(scale: Scale, data: str, missing: int | None, weight: float, band: int) -> Job:
    algorithm = {"name": "xband", "band": band, "alpha": weight, "reuse_age": REUSE}
    tuples = scale.size(30_000 if data == "Adult" else None)
    return stream_job(
        data, algorithm, K, {"count": WINDOW}, tuples=tuples, missing=missing, extras=["purity"], passes=scale.passes
    )


def _fads(scale: Scale, data: str, missing: int | None, weight: float) -> Job:
    tuples = scale.size(30_000 if data == "Adult" else None)
    return fads_job(data, K, WINDOW, REUSE, tuples=tuples, missing=missing, weight=weight)


def _timed(scale: Scale, data: str, missing: int | None) -> Job:
    """FADS of the engine: the other one is not made for speed."""
    tuples = scale.size(30_000 if data == "Adult" else None)
    return stream_job(
        data, {"name": "fads", "reuse_age": REUSE}, K, {"count": WINDOW}, tuples=tuples, missing=missing, passes=scale.passes
    )


def _cells(scale: Scale) -> list[tuple[str, int | None]]:
    """Adult by missingness, the cities as they are."""
    missing = sorted({*scale.sweep(MISSING), *scale.sweep(PURE)})
    return [*(("Adult", most) for most in missing), *((city, None) for city in CITIES)]


def _bands(data: str) -> Sequence[int]:
    return BANDS["Adult" if data == "Adult" else "PM2.5"]


def _jobs(scale: Scale) -> list[Job]:
    jobs = []
    for data, missing in _cells(scale):
        jobs.append(_timed(scale, data, missing))
        for weight in scale.sweep(WEIGHTS):
            jobs.append(_fads(scale, data, missing, weight))
            jobs += [_band(scale, data, missing, weight, band) for band in _bands(data)]
    return jobs


def _findings(scale: Scale, results: Results) -> Findings:
    names = (
        ("figure-2", "Information loss", "average loss", "loss"),
        ("figure-3", "Clusters created", "clusters", "groups"),
        ("figure-4", "Suppressed tuples", "tuples", "suppressed"),
        ("figure-6", "Tuples that reuse a published cluster", "tuples", "reused"),
    )
    figures = [
        Figure(name, title, _panels(scale, results, y, measure), columns=4, size=(2.9, 2.4), note=_CITIES)
        for name, title, y, measure in names
    ]
    heat = Figure(
        "figure-5",
        "Purity: the share of a cluster's values that are there",
        _purity(scale, results),
        columns=3,
        size=(3.2, 1.7),
        note="The shade is the share of the clusters.",
    )
    runtime = Figure(
        "figure-7",
        "Runtime",
        _panels(scale, results, "seconds of processor", "seconds"),
        columns=4,
        size=(2.9, 2.4),
        note=f"FADS only for α = 1, by the engine. {_CITIES}",
    )
    return Findings([*figures[:3], heat, figures[3], runtime], _claims(scale, results))


_CITIES = "Cities by number: " + ", ".join(f"{i} {city}" for i, city in enumerate(CITIES, 1)) + "."


def _panels(scale: Scale, results: Results, y: str, measure: str) -> list[Panel]:
    panels = []
    cells = _cells(scale)
    for group, x in (("Adult", "most values missing"), ("PM2.5", "city")):
        own = [(data, missing) for data, missing in cells if (data == "Adult") == (group == "Adult")]
        xs = [float(missing or place) for place, (_, missing) in enumerate(own, 1)]
        for weight in scale.sweep(WEIGHTS):
            curves = {}
            if measure != "seconds":
                curves[FADS] = (xs, results.values((_fads(scale, data, m, weight) for data, m in own), measure))
            elif weight == 1:
                curves[FADS] = (xs, results.values((_timed(scale, data, m) for data, m in own), measure))
            for band in BANDS[group]:
                jobs = [_band(scale, data, m, weight, band) for data, m in own]
                curves[f"X-BAND({band})"] = (xs, results.values(jobs, measure))
            panels.append(Panel(f"{group}, α = {weight:g}", x, y, curves, points=group == "PM2.5", zero=measure != "loss"))
    return panels


def _purity(scale: Scale, results: Results) -> list[Panel]:
    xs = [100 * i / BINS for i in range(BINS)]
    panels = []
    for label in (FADS, "X-BAND(10)"):
        for missing in scale.sweep(PURE):
            rows = {}
            for weight in scale.sweep(WEIGHTS):
                counts = _histogram(scale, results, label, missing, weight)
                rows[f"{weight:g}"] = (xs, [count / sum(counts) for count in counts] if sum(counts) else [0.0] * BINS)
            panels.append(Panel(f"{label}, at most {missing} missing", "purity from (%)", "α", rows, heat=True))
    return panels


def _histogram(scale: Scale, results: Results, label: str, missing: int, weight: float) -> list[int]:
    job = _fads(scale, "Adult", missing, weight) if label == FADS else _band(scale, "Adult", missing, weight, 10)
    return results[job]["purity"]


def _claims(scale: Scale, results: Results) -> list[Claim]:
    missing = [most for _, most in _cells(scale) if most is not None]
    weights = scale.sweep(WEIGHTS)
    claims = []
    for most, share in ((1, 5), (10, 11)):
        gaps = [
            less(results[_band(scale, "Adult", most, weight, 10)]["loss"], results[_fads(scale, "Adult", most, weight)]["loss"])
            for weight in weights
        ]
        told = f"{100 * gaps[0]:.1f} % at α = 1; {100 * min(gaps):.1f} to {100 * max(gaps):.1f} % over all α"
        claims.append(
            close(
                "V.A, fig. 2a",
                f"X-BAND(10) loses {share} % less than FADS at most {most} missing, on Adult",
                100 * gaps[0],
                share,
                1,
                told,
            )
        )
    cases = [(m, w, b) for m in missing for w in weights for b in BANDS["Adult"]]
    better = [
        results[_band(scale, "Adult", m, w, b)]["loss"] < results[_fads(scale, "Adult", m, w)]["loss"] for m, w, b in cases
    ]
    claims.append(always("V.A, fig. 2a", "FADS loses more than any variation of X-BAND, on Adult", better, ""))
    steps = [
        results[_band(scale, "Adult", m, w, b)]["loss"] < results[_band(scale, "Adult", m, w, a)]["loss"]
        for m in missing
        for w in weights
        for a, b in pairwise(BANDS["Adult"])
    ]
    claims.append(always("V.A, fig. 2a", "the wider the band, the less is lost, on Adult", steps, ""))
    falls = [
        results[_band(scale, "Adult", m, b, 10)]["loss"] > results[_band(scale, "Adult", m, a, 10)]["loss"]
        for m in missing
        for a, b in pairwise(weights)
    ]
    claims.append(always("V.A, fig. 2a", "a larger β loses more (X-BAND(10), Adult)", falls, ""))
    gaps = [
        less(results[_band(scale, city, None, w, 6)]["loss"], results[_fads(scale, city, None, w)]["loss"])
        for city in CITIES
        for w in weights
    ]
    claims.append(between("VI, fig. 2b", "1 to 3 % less loss than FADS on PM2.5 (X-BAND(6))", gaps, 1, 3))
    mean = sum(gaps) / len(gaps)
    claims.append(close("V.A, fig. 2b", "3 % on average between FADS and X-BAND(6)", 100 * mean, 3, 1, f"{100 * mean:.1f} %"))
    for city in CITIES:
        lo, hi = _LOSS.get(city, _OTHER_CITIES)
        losses = [results[_band(scale, city, None, w, b)]["loss"] for w in weights for b in BANDS["PM2.5"]]
        claims.append(between("V.A, fig. 2b", f"loss of {lo / 100:.2f} to {hi / 100:.2f} on {city}", losses, lo, hi))
    return claims + _counts(scale, results, missing, weights)


def _counts(scale: Scale, results: Results, missing: Sequence[int], weights: Sequence[float]) -> list[Claim]:
    claims = []
    cells = [("Adult", m, w, b) for m in missing for w in weights for b in BANDS["Adult"]]
    cases = [results[_fads(scale, d, m, w)]["groups"] > results[_band(scale, d, m, w, b)]["groups"] for d, m, w, b in cells]
    claims.append(always("V.B, fig. 3a", "FADS creates more clusters than most variations of X-BAND, on Adult", cases, ""))
    every = cells + [(city, None, w, b) for city in CITIES for w in weights for b in BANDS["PM2.5"]]
    cases = [
        results[_fads(scale, d, m, w)]["suppressed"] < results[_band(scale, d, m, w, b)]["suppressed"] for d, m, w, b in every
    ]
    most = max(results[_band(scale, d, m, w, b)]["suppressed"] for d, m, w, b in every)
    claims.append(
        always("V.B, fig. 4", "FADS suppresses less than every variation of X-BAND", cases, f"X-BAND up to {most:,} tuples")
    )
    for m, lo, hi in ((6, 70, 90), (10, 40, 70)):
        shares = [
            share
            for label in (FADS, "X-BAND(10)")
            for weight in weights
            for share in _quantiles(_histogram(scale, results, label, m, weight))
        ]
        claims.append(
            between(
                "V.C, fig. 5", f"clusters are {lo} to {hi} % pure at most {m} missing (nine of ten clusters)", shares, lo, hi
            )
        )
    pure = [
        _mean(_histogram(scale, results, label, m, b)) > _mean(_histogram(scale, results, label, m, a))
        for label in (FADS, "X-BAND(10)")
        for m in scale.sweep(PURE)
        for a, b in pairwise(weights)
    ]
    spread = [
        _spread(_histogram(scale, results, label, m, weights[-1])) > _spread(_histogram(scale, results, label, m, weights[0]))
        for label in (FADS, "X-BAND(10)")
        for m in scale.sweep(PURE)
    ]
    grown = f"the spread grows from α 1 to {weights[-1]:g} in {sum(spread)} of {len(spread)}"
    told = f"the mean cannot change much, as every tuple leaves once; {grown}"
    claims.append(always("V.C, fig. 5", "a larger β makes clusters purer, in the mean", pure, told))
    fads = [results[_fads(scale, city, None, w)]["reused"] for city in CITIES for w in weights]
    band = [results[_band(scale, city, None, w, b)]["reused"] for city in CITIES for w in weights for b in BANDS["PM2.5"]]
    own, other = sum(fads) / len(fads), sum(band) / len(band)
    claims.append(
        always(
            "V.D, fig. 6b",
            "on PM2.5 FADS reuses far more (600 against 50 on average; taken as ten times)",
            [own >= 10 * other],
            f"FADS {own:,.0f}, X-BAND {other:,.0f} on average",
        )
    )
    for bands, sign, said in (((4, 6), -1, "2 % less"), ((8, 10), 1, "4 % more")):
        ratios = [
            results[_band(scale, "Adult", m, 1.0, b)]["seconds"] / results[_timed(scale, "Adult", m)]["seconds"] - 1
            for m in missing
            for b in bands
        ]
        named = " and ".join(f"X-BAND({b})" for b in bands)
        lo, hi = (-4, 0) if sign < 0 else (2, 6)
        claims.append(between("V.E, fig. 7a", f"{named} take about {said} time than FADS, on Adult", ratios, lo, hi))
    losses = [results[_band(scale, "Adult", m, w, b)]["loss"] for _, m, w, b in cells]
    losses += [results[_fads(scale, "Adult", m, w)]["loss"] for m in missing for w in weights]
    claims.append(between("V.D", "all losses on Adult lie between 0.50 and 0.72", losses, 50, 72, span(losses)))
    return claims


def _mean(counts: Sequence[int]) -> float:
    return sum(count * (i + 0.5) for i, count in enumerate(counts)) / max(sum(counts), 1) / BINS


def _spread(counts: Sequence[int]) -> float:
    mean = _mean(counts)
    return sum(count * ((i + 0.5) / BINS - mean) ** 2 for i, count in enumerate(counts)) / max(sum(counts), 1)


def _quantiles(counts: Sequence[int]) -> list[float]:
    """The bins in which the fifth and the ninety-fifth of a hundred clusters lie.

    >>> _quantiles([0] * 10 + [10] + [0] * 9)
    [0.525, 0.525]
    """
    total, found = 0, []
    for share in (0.05, 0.95):
        total = 0
        for i, count in enumerate(counts):
            total += count
            if total >= share * sum(counts):
                found.append((i + 0.5) / BINS)
                break
    return found


PAPER = Paper(
    name="xband",
    title="X-BAND",
    reference=(
        "A. Otgonbayar, Z. Pervez, K. Dahal, *X-BAND: Expiration band for anonymizing varied data streams*, IEEE Internet "
        "of Things "
        "Journal 7 (2020)"
    ),
    setting=(
        "UCI Adult, 30,000 complete rows of which at most 1 to 10 values are taken; UCI PM2.5, each city as it is, with "
        "its own missing "
        "values. k 50, δ 1000, ω 1000, Γ 4 to 10 on Adult and 2 to 6 on PM2.5, α 1 to 0.25, β = 1 - α."
    ),
    notes=(
        "δ and ω are taken as numbers of tuples. X-BAND's pocket comes on top: its tuples may wait δ + ω, those of FADS δ.",
        "FADS with a weighted distance is no algorithm of shoal; it is a plain numpy version, equal to shoal's at α = 1.",
        "Purity is the share of a cluster's cells that hold a value, of all 14 quasi-identifiers: what figure 5 must "
        "mean, as the paper "
        "has no definition.",
        'Claims on "about" so many percent of time are taken as within two percentage points.',
    ),
    sources=("Adult", *CITIES),
    jobs=_jobs,
    findings=_findings,
)
