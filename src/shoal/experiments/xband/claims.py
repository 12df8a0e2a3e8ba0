"""What the text says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from shoal.experiments.claim import Claim, always, between, close, less, span
from shoal.experiments.job import Results
from shoal.experiments.paper import Scale
from shoal.experiments.published import BINS
from shoal.experiments.streams import CITIES
from shoal.experiments.xband.jobs import BANDS, FADS, PURE, WEIGHTS, banded, cells, histogram, timed, weighted

Place = tuple[str, int | None, float, int]  # data, most missing, weight, band

_LOSS: Mapping[str, tuple[float, float]] = {"Guangzhou": (11, 13)}
_OTHER_CITIES = (18, 21)


def claims(scale: Scale, results: Results) -> list[Claim]:
    missing = [most for _, most in cells(scale) if most is not None]
    weights = scale.sweep(WEIGHTS)
    found: list[Claim] = []
    for most, share in ((1, 5), (10, 11)):
        gaps = [
            less(
                results[banded(scale, "Adult", most, weight, 10)]["loss"],
                results[weighted(scale, "Adult", most, weight)]["loss"],
            )
            for weight in weights
        ]
        told = f"{100 * gaps[0]:.1f} % at α = 1; {100 * min(gaps):.1f} to {100 * max(gaps):.1f} % over all α"
        found.append(
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
        results[banded(scale, "Adult", m, w, b)]["loss"] < results[weighted(scale, "Adult", m, w)]["loss"] for m, w, b in cases
    ]
    found.append(always("V.A, fig. 2a", "FADS loses more than any variation of X-BAND, on Adult", better, ""))
    steps = [
        results[banded(scale, "Adult", m, w, b)]["loss"] < results[banded(scale, "Adult", m, w, a)]["loss"]
        for m in missing
        for w in weights
        for a, b in pairwise(BANDS["Adult"])
    ]
    found.append(always("V.A, fig. 2a", "the wider the band, the less is lost, on Adult", steps, ""))
    falls = [
        results[banded(scale, "Adult", m, b, 10)]["loss"] > results[banded(scale, "Adult", m, a, 10)]["loss"]
        for m in missing
        for a, b in pairwise(weights)
    ]
    found.append(always("V.A, fig. 2a", "a larger β loses more (X-BAND(10), Adult)", falls, ""))
    gaps = [
        less(results[banded(scale, city, None, w, 6)]["loss"], results[weighted(scale, city, None, w)]["loss"])
        for city in CITIES
        for w in weights
    ]
    found.append(between("VI, fig. 2b", "1 to 3 % less loss than FADS on PM2.5 (X-BAND(6))", gaps, 1, 3))
    mean = sum(gaps) / len(gaps)
    found.append(close("V.A, fig. 2b", "3 % on average between FADS and X-BAND(6)", 100 * mean, 3, 1, f"{100 * mean:.1f} %"))
    for city in CITIES:
        lo, hi = _LOSS.get(city, _OTHER_CITIES)
        losses = [results[banded(scale, city, None, w, b)]["loss"] for w in weights for b in BANDS["PM2.5"]]
        found.append(between("V.A, fig. 2b", f"loss of {lo / 100:.2f} to {hi / 100:.2f} on {city}", losses, lo, hi))
    return found + _counts(scale, results, missing, weights)


def _counts(scale: Scale, results: Results, missing: Sequence[int], weights: Sequence[float]) -> list[Claim]:
    found: list[Claim] = []
    places: list[Place] = [("Adult", m, w, b) for m in missing for w in weights for b in BANDS["Adult"]]
    cases = [
        results[weighted(scale, d, m, w)]["groups"] > results[banded(scale, d, m, w, b)]["groups"] for d, m, w, b in places
    ]
    found.append(always("V.B, fig. 3a", "FADS creates more clusters than most variations of X-BAND, on Adult", cases, ""))
    every = places + [(city, None, w, b) for city in CITIES for w in weights for b in BANDS["PM2.5"]]
    cases = [_fads(scale, results, "suppressed", place) < _band(scale, results, "suppressed", place) for place in every]
    most = max(_band(scale, results, "suppressed", place) for place in every)
    found.append(
        always("V.B, fig. 4", "FADS suppresses less than every variation of X-BAND", cases, f"X-BAND up to {most:,} tuples")
    )
    for m, lo, hi in ((6, 70, 90), (10, 40, 70)):
        shares = [
            share
            for label in (FADS, "X-BAND(10)")
            for weight in weights
            for share in _quantiles(histogram(scale, results, label, m, weight))
        ]
        found.append(
            between(
                "V.C, fig. 5", f"clusters are {lo} to {hi} % pure at most {m} missing (nine of ten clusters)", shares, lo, hi
            )
        )
    pure = [
        _mean(histogram(scale, results, label, m, b)) > _mean(histogram(scale, results, label, m, a))
        for label in (FADS, "X-BAND(10)")
        for m in scale.sweep(PURE)
        for a, b in pairwise(weights)
    ]
    spread = [
        _spread(histogram(scale, results, label, m, weights[-1])) > _spread(histogram(scale, results, label, m, weights[0]))
        for label in (FADS, "X-BAND(10)")
        for m in scale.sweep(PURE)
    ]
    grown = f"the spread grows from α 1 to {weights[-1]:g} in {sum(spread)} of {len(spread)}"
    told = f"the mean cannot change much, as every tuple leaves once; {grown}"
    found.append(always("V.C, fig. 5", "a larger β makes clusters purer, in the mean", pure, told))
    kept = [results[weighted(scale, city, None, w)]["reused"] for city in CITIES for w in weights]
    wide = [results[banded(scale, city, None, w, b)]["reused"] for city in CITIES for w in weights for b in BANDS["PM2.5"]]
    own, other = sum(kept) / len(kept), sum(wide) / len(wide)
    found.append(
        always(
            "V.D, fig. 6b",
            "on PM2.5 FADS reuses far more (600 against 50 on average; taken as ten times)",
            [own >= 10 * other],
            f"FADS {own:,.0f}, X-BAND {other:,.0f} on average",
        )
    )
    found += _reuse_and_time(scale, results, missing, weights)
    for bands, sign, said in (((4, 6), -1, "2 % less"), ((8, 10), 1, "4 % more")):
        ratios = [
            results[banded(scale, "Adult", m, 1.0, b)]["seconds"] / results[timed(scale, "Adult", m)]["seconds"] - 1
            for m in missing
            for b in bands
        ]
        named = " and ".join(f"X-BAND({b})" for b in bands)
        lo, hi = (-4, 0) if sign < 0 else (2, 6)
        found.append(between("V.E, fig. 7a", f"{named} take about {said} time than FADS, on Adult", ratios, lo, hi))
    losses = [results[banded(scale, "Adult", m, w, b)]["loss"] for _, m, w, b in places]
    losses += [results[weighted(scale, "Adult", m, w)]["loss"] for m in missing for w in weights]
    found.append(between("V.D", "all losses on Adult lie between 0.50 and 0.72", losses, 50, 72, span(losses)))
    return found


def _reuse_and_time(scale: Scale, results: Results, missing: Sequence[int], weights: Sequence[float]) -> list[Claim]:
    """What is said of the cities' clusters and times, and of reuse by weight."""
    places: list[Place] = [(city, None, w, b) for city in CITIES for w in weights for b in BANDS["PM2.5"]]
    fewer = [_fads(scale, results, "groups", place) <= 1.02 * _band(scale, results, "groups", place) for place in places]
    steps = [
        _fads(scale, results, "reused", ("Adult", m, b, 0)) < _fads(scale, results, "reused", ("Adult", m, a, 0))
        for m in missing
        for a, b in pairwise(weights)
    ]
    rises = [
        _band(scale, results, "reused", ("Adult", m, weights[-1], b))
        > _band(scale, results, "reused", ("Adult", m, weights[-2], b))
        for m in missing
        for b in BANDS["Adult"]
    ]
    ratios = [
        results[banded(scale, city, None, 1.0, b)]["seconds"] / results[timed(scale, city, None)]["seconds"] - 1
        for city in CITIES
        for b in (4, 6)
    ]
    told = f"{100 * min(ratios):.0f} to {100 * max(ratios):.0f} % more"
    alike = [abs(ratio) <= 0.1 for ratio in ratios]
    return [
        always("V.B, fig. 3b", "on PM2.5 FADS creates as many clusters as X-BAND or fewer (within 2 %)", fewer, ""),
        always("V.D, fig. 6a", "FADS reuses less as α falls, on Adult", steps, ""),
        always("V.D, fig. 6a", f"X-BAND reuses more at α = {weights[-1]:g} than at {weights[-2]:g}, on Adult", rises, ""),
        always("V.E, fig. 7b", "on PM2.5 FADS, X-BAND(4) and X-BAND(6) take about the same time (within 10 %)", alike, told),
    ]


def _band(scale: Scale, results: Results, name: str, place: Place) -> float:
    data, missing, weight, band = place
    return results[banded(scale, data, missing, weight, band)][name]


def _fads(scale: Scale, results: Results, name: str, place: Place) -> float:
    data, missing, weight, _ = place
    return results[weighted(scale, data, missing, weight)][name]


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
    found = []
    for share in (0.05, 0.95):
        total = 0
        for i, count in enumerate(counts):
            total += count
            if total >= share * sum(counts):
                found.append((i + 0.5) / BINS)
                break
    return found
