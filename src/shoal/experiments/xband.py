"""X-BAND: figures 2 to 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from shoal.experiments.claim import Claim, all_less, always, below, between, close, percents, span
from shoal.experiments.fads import fads_job
from shoal.experiments.figure import Figure, Panel
from shoal.experiments.paper import Findings, Job, Paper, Results, Scale
from shoal.experiments.runs import BINS, CITIES, stream_job

K, WINDOW, REUSE = 50, 1000, 1000
MISSING = (1, 2, 4, 6, 8, 10)
PURE = (6, 8, 10)
WEIGHTS = (1.0, 0.75, 0.5, 0.25)
BANDS: Mapping[str, Sequence[int]] = {"Adult": (4, 6, 8, 10), "PM2.5": (2, 4, 6)}
FADS, WIDEST = "FADS", "X-BAND(10)"
_NUMBERED = "Cities by number: " + ", ".join(f"{i} {city}" for i, city in enumerate(CITIES, 1)) + "."
_LOSS: Mapping[str, tuple[float, float]] = {"Guangzhou": (11, 13)}
_OTHER_CITIES = (18, 21)

Place = tuple[str, int | None]  # a data set, and the most values missing


def _tuples(scale: Scale, place: Place) -> int | None:
    return scale.size(30_000 if place[0] == "Adult" else None)


def _banded(scale: Scale, place: Place, weight: float, band: int) -> Job:
    algorithm = {"name": "xband", "band": band, "alpha": weight, "reuse_age": REUSE}
    return stream_job(
        place[0], algorithm, K, {"count": WINDOW}, tuples=_tuples(scale, place), missing=place[1], extras=["purity"],
        passes=scale.passes,
    )  # fmt: skip


def _weighted(scale: Scale, place: Place, weight: float) -> Job:
    return fads_job(place[0], K, WINDOW, REUSE, tuples=_tuples(scale, place), missing=place[1], weight=weight)


def _timed(scale: Scale, place: Place) -> Job:
    """FADS of the engine: the other one is not made for speed."""
    algorithm = {"name": "fads", "reuse_age": REUSE}
    tuples = _tuples(scale, place)
    return stream_job(place[0], algorithm, K, {"count": WINDOW}, tuples=tuples, missing=place[1], passes=scale.passes)


def _adult(scale: Scale) -> list[Place]:
    return [("Adult", most) for most in sorted({*scale.sweep(MISSING), *scale.sweep(PURE)})]


def _cities() -> list[Place]:
    return [(city, None) for city in CITIES]


def _jobs(scale: Scale) -> list[Job]:
    wanted = []
    for group, places in (("Adult", _adult(scale)), ("PM2.5", _cities())):
        for place in places:
            wanted.append(_timed(scale, place))
            for weight in scale.sweep(WEIGHTS):
                wanted.append(_weighted(scale, place, weight))
                wanted += [_banded(scale, place, weight, band) for band in BANDS[group]]
    return wanted


class _Outcomes:
    """The figures of this paper's jobs. Lists run over places, weights and bands, in this order."""

    def __init__(self, scale: Scale, results: Results) -> None:
        self.scale, self.results = scale, results
        self.weights = scale.sweep(WEIGHTS)
        self.adult, self.cities = _adult(scale), _cities()

    def banded(self, name: str, places: Sequence[Place], weights: Sequence[float], bands: Sequence[int]) -> list[float]:
        jobs = [_banded(self.scale, place, weight, band) for place in places for weight in weights for band in bands]
        return self.results.values(jobs, name)

    def fads(self, name: str, places: Sequence[Place], weights: Sequence[float], bands: Sequence[int] = (0,)) -> list[float]:
        """FADS with a weighted distance, each as often as there are bands to compare it with."""
        jobs = [_weighted(self.scale, place, weight) for place in places for weight in weights for _ in bands]
        return self.results.values(jobs, name)

    def more_time(self, places: Sequence[Place], bands: Sequence[int]) -> list[float]:
        """By what share X-BAND takes more time than FADS of the engine, at α = 1."""
        fads = self.results.values((_timed(self.scale, place) for place in places for _ in bands), "seconds")
        return [own / other - 1 for own, other in zip(self.banded("seconds", places, [1.0], bands), fads, strict=True)]

    def purity(self, label: str, missing: int, weight: float) -> list[int]:
        """How many clusters have so many of their values, in `BINS` steps."""
        place = ("Adult", missing)
        job = _weighted(self.scale, place, weight) if label == FADS else _banded(self.scale, place, weight, 10)
        return self.results[job]["purity"]


def _findings(scale: Scale, results: Results) -> Findings:
    found = _Outcomes(scale, results)
    return Findings(_figures(found), [*_losses(found), *_counts(found)])


def _figures(found: _Outcomes) -> list[Figure]:
    def figure(number: int, title: str, y: str, name: str, note: str = _NUMBERED) -> Figure:
        panels = _panels(found, y, name)
        return Figure(f"figure-{number}", title, panels, columns=len(found.weights), size=(2.9, 2.4), note=note)

    purity = "Purity: the share of a cluster's values that are there"
    shade = "The shade is the share of the clusters."
    return [
        figure(2, "Information loss", "average loss", "loss"),
        figure(3, "Clusters created", "clusters", "groups"),
        figure(4, "Suppressed tuples", "tuples", "suppressed"),
        Figure("figure-5", purity, _purity(found), columns=3, size=(3.2, 1.7), note=shade),
        figure(6, "Tuples that reuse a published cluster", "tuples", "reused"),
        figure(7, "Runtime", "seconds of processor", "seconds", f"FADS only for α = 1, by the engine. {_NUMBERED}"),
    ]


def _panels(found: _Outcomes, y: str, name: str) -> list[Panel]:
    panels = []
    for group, x, places in (("Adult", "most values missing", found.adult), ("PM2.5", "city", found.cities)):
        xs = [float(missing or place) for place, (_, missing) in enumerate(places, 1)]
        for weight in found.weights:
            curves = {}
            if name != "seconds":
                curves[FADS] = (xs, found.fads(name, places, [weight]))
            elif weight == 1:
                curves[FADS] = (xs, found.results.values((_timed(found.scale, place) for place in places), name))
            for band in BANDS[group]:
                curves[f"X-BAND({band})"] = (xs, found.banded(name, places, [weight], [band]))
            panels.append(Panel(f"{group}, α = {weight:g}", x, y, curves, points=group == "PM2.5", zero=name != "loss"))
    return panels


def _purity(found: _Outcomes) -> list[Panel]:
    xs = [100 * i / BINS for i in range(BINS)]
    panels = []
    for label in (FADS, WIDEST):
        for missing in found.scale.sweep(PURE):
            rows = {}
            for weight in found.weights:
                counts = found.purity(label, missing, weight)
                rows[f"{weight:g}"] = (xs, [count / sum(counts) for count in counts] if sum(counts) else [0.0] * BINS)
            panels.append(Panel(f"{label}, at most {missing} missing", "purity from (%)", "α", rows, heat=True))
    return panels


def _losses(found: _Outcomes) -> list[Claim]:
    """Figure 2."""
    claims: list[Claim] = []
    adult, cities, weights, bands = found.adult, found.cities, found.weights, BANDS["Adult"]
    for most, share in ((1, 5), (10, 11)):
        place: list[Place] = [("Adult", most)]
        gaps = all_less(found.banded("loss", place, weights, [10]), found.fads("loss", place, weights))
        said = f"X-BAND(10) loses {share} % less than FADS at most {most} missing, on Adult"
        shown = f"{100 * gaps[0]:.1f} % at α = 1; {percents(gaps)} over all α"
        claims.append(close("V.A, fig. 2a", said, 100 * gaps[0], share, 1, shown))
    better = below(found.banded("loss", adult, weights, bands), found.fads("loss", adult, weights, bands))
    wider = below(found.banded("loss", adult, weights, bands[1:]), found.banded("loss", adult, weights, bands[:-1]))
    falls = below(found.banded("loss", adult, weights[:-1], [10]), found.banded("loss", adult, weights[1:], [10]))
    gaps = all_less(found.banded("loss", cities, weights, [6]), found.fads("loss", cities, weights))
    mean = sum(gaps) / len(gaps)
    claims += [
        always("V.A, fig. 2a", "FADS loses more than any variation of X-BAND, on Adult", better, ""),
        always("V.A, fig. 2a", "the wider the band, the less is lost, on Adult", wider, ""),
        always("V.A, fig. 2a", "a larger β loses more (X-BAND(10), Adult)", falls, ""),
        between("VI, fig. 2b", "1 to 3 % less loss than FADS on PM2.5 (X-BAND(6))", gaps, 1, 3),
        close("V.A, fig. 2b", "3 % on average between FADS and X-BAND(6)", 100 * mean, 3, 1, f"{100 * mean:.1f} %"),
    ]
    for city in CITIES:
        lo, hi = _LOSS.get(city, _OTHER_CITIES)
        losses = found.banded("loss", [(city, None)], weights, BANDS["PM2.5"])
        claims.append(between("V.A, fig. 2b", f"loss of {lo / 100:.2f} to {hi / 100:.2f} on {city}", losses, lo, hi))
    return claims


def _counts(found: _Outcomes) -> list[Claim]:
    """Figures 3 to 7."""
    claims: list[Claim] = []
    adult, cities, weights = found.adult, found.cities, found.weights
    wide, narrow = BANDS["Adult"], BANDS["PM2.5"]
    cases = below(found.banded("groups", adult, weights, wide), found.fads("groups", adult, weights, wide))
    claims.append(always("V.B, fig. 3a", "FADS creates more clusters than most variations of X-BAND, on Adult", cases, ""))
    banded, fads = (
        [*of("suppressed", adult, weights, wide), *of("suppressed", cities, weights, narrow)]
        for of in (found.banded, found.fads)
    )
    said, shown = "FADS suppresses less than every variation of X-BAND", f"X-BAND up to {max(banded):,} tuples"
    claims.append(always("V.B, fig. 4", said, below(fads, banded), shown))
    for m, lo, hi in ((6, 70, 90), (10, 40, 70)):
        shares = [
            share for label in (FADS, WIDEST) for weight in weights for share in _quantiles(found.purity(label, m, weight))
        ]
        said = f"clusters are {lo} to {hi} % pure at most {m} missing (nine of ten clusters)"
        claims.append(between("V.C, fig. 5", said, shares, lo, hi))
    pure, spread = [], []
    for label in (FADS, WIDEST):
        for m in found.scale.sweep(PURE):
            counts = [found.purity(label, m, weight) for weight in weights]
            pure += [_mean(b) > _mean(a) for a, b in pairwise(counts)]
            spread.append(_spread(counts[-1]) > _spread(counts[0]))
    grown = f"the spread grows from α 1 to {weights[-1]:g} in {sum(spread)} of {len(spread)}"
    shown = f"the mean cannot change much, as every tuple leaves once; {grown}"
    claims.append(always("V.C, fig. 5", "a larger β makes clusters purer, in the mean", pure, shown))
    kept, banded = found.fads("reused", cities, weights), found.banded("reused", cities, weights, narrow)
    own, other = sum(kept) / len(kept), sum(banded) / len(banded)
    said = "on PM2.5 FADS reuses far more (600 against 50 on average; taken as ten times)"
    shown = f"FADS {own:,.0f}, X-BAND {other:,.0f} on average"
    claims += [always("V.D, fig. 6b", said, [own >= 10 * other], shown), *_reuse_and_time(found)]
    for bands, lo, hi, said in (((4, 6), -4, 0, "2 % less"), ((8, 10), 2, 6, "4 % more")):
        named = " and ".join(f"X-BAND({b})" for b in bands)
        said = f"{named} take about {said} time than FADS, on Adult"
        claims.append(between("V.E, fig. 7a", said, found.more_time(adult, bands), lo, hi))
    losses = found.banded("loss", adult, weights, wide) + found.fads("loss", adult, weights)
    return [*claims, between("V.D", "all losses on Adult lie between 0.50 and 0.72", losses, 50, 72, span(losses))]


def _reuse_and_time(found: _Outcomes) -> list[Claim]:
    """Clusters and times of the cities, and reuse by weight."""
    adult, cities, weights, narrow = found.adult, found.cities, found.weights, BANDS["PM2.5"]
    groups = found.fads("groups", cities, weights, narrow), found.banded("groups", cities, weights, narrow)
    fewer = [own <= 1.02 * other for own, other in zip(*groups, strict=True)]
    steps = below(found.fads("reused", adult, weights[1:]), found.fads("reused", adult, weights[:-1]))
    last, before = (found.banded("reused", adult, [weight], BANDS["Adult"]) for weight in (weights[-1], weights[-2]))
    rises = f"X-BAND reuses more at α = {weights[-1]:g} than at {weights[-2]:g}, on Adult"
    ratios = found.more_time(cities, (4, 6))
    alike = [abs(ratio) <= 0.1 for ratio in ratios]
    same = "on PM2.5 FADS, X-BAND(4) and X-BAND(6) take about the same time (within 10 %)"
    return [
        always("V.B, fig. 3b", "on PM2.5 FADS creates as many clusters as X-BAND or fewer (within 2 %)", fewer, ""),
        always("V.D, fig. 6a", "FADS reuses less as α falls, on Adult", steps, ""),
        always("V.D, fig. 6a", rises, below(before, last), ""),
        always("V.E, fig. 7b", same, alike, f"{percents(ratios, 0)} more"),
    ]


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


PAPER = Paper(
    name="xband",
    title="X-BAND",
    reference=(
        "A. Otgonbayar, Z. Pervez, K. Dahal, *X-BAND: Expiration band for anonymizing varied data streams*, IEEE Internet "
        "of Things Journal 7 (2020)"
    ),
    setting=(
        "UCI Adult, 30,000 complete rows of which at most 1 to 10 values are taken; UCI PM2.5, each city as it is, with "
        "its own missing values. k 50, δ 1000, ω 1000, Γ 4 to 10 on Adult and 2 to 6 on PM2.5, α 1 to 0.25, β = 1 - α."
    ),
    notes=(
        "δ and ω are taken as numbers of tuples. X-BAND also has its pocket: its tuples may wait δ + ω, those of FADS δ.",
        "FADS with a weighted distance is not an algorithm of shoal, but a plain numpy version, equal to shoal's at α = 1.",
        "Purity is the share of a cluster's cells that hold a value, of all 14 quasi-identifiers: what figure 5 must "
        "mean, as the paper has no definition.",
        'Claims on "about" so many percent of time are taken as within two percentage points.',
    ),
    sources=("Adult", *CITIES),
    jobs=_jobs,
    findings=_findings,
)
