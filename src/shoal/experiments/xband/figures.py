"""Figures 2 to 7."""

from __future__ import annotations

from shoal.experiments.figure import Figure, Panel
from shoal.experiments.job import Results
from shoal.experiments.paper import Scale
from shoal.experiments.published import BINS
from shoal.experiments.streams import CITIES
from shoal.experiments.xband.jobs import BANDS, FADS, PURE, WEIGHTS, banded, cells, histogram, timed, weighted

_NUMBERED = "Cities by number: " + ", ".join(f"{i} {city}" for i, city in enumerate(CITIES, 1)) + "."


def figures(scale: Scale, results: Results) -> list[Figure]:
    names = (
        ("figure-2", "Information loss", "average loss", "loss"),
        ("figure-3", "Clusters created", "clusters", "groups"),
        ("figure-4", "Suppressed tuples", "tuples", "suppressed"),
        ("figure-6", "Tuples that reuse a published cluster", "tuples", "reused"),
    )
    drawn = [
        Figure(
            name, title, _panels(scale, results, y, measure), columns=len(scale.sweep(WEIGHTS)), size=(2.9, 2.4), note=_NUMBERED
        )
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
        columns=len(scale.sweep(WEIGHTS)),
        size=(2.9, 2.4),
        note=f"FADS only for α = 1, by the engine. {_NUMBERED}",
    )
    return [*drawn[:3], heat, drawn[3], runtime]


def _panels(scale: Scale, results: Results, y: str, measure: str) -> list[Panel]:
    panels = []
    for group, x in (("Adult", "most values missing"), ("PM2.5", "city")):
        own = [(data, missing) for data, missing in cells(scale) if (data == "Adult") == (group == "Adult")]
        xs = [float(missing or place) for place, (_, missing) in enumerate(own, 1)]
        for weight in scale.sweep(WEIGHTS):
            curves = {}
            if measure != "seconds":
                curves[FADS] = (xs, results.values((weighted(scale, data, m, weight) for data, m in own), measure))
            elif weight == 1:
                curves[FADS] = (xs, results.values((timed(scale, data, m) for data, m in own), measure))
            for band in BANDS[group]:
                bands_jobs = [banded(scale, data, m, weight, band) for data, m in own]
                curves[f"X-BAND({band})"] = (xs, results.values(bands_jobs, measure))
            panels.append(Panel(f"{group}, α = {weight:g}", x, y, curves, points=group == "PM2.5", zero=measure != "loss"))
    return panels


def _purity(scale: Scale, results: Results) -> list[Panel]:
    xs = [100 * i / BINS for i in range(BINS)]
    panels = []
    for label in (FADS, "X-BAND(10)"):
        for missing in scale.sweep(PURE):
            rows = {}
            for weight in scale.sweep(WEIGHTS):
                counts = histogram(scale, results, label, missing, weight)
                rows[f"{weight:g}"] = (xs, [count / sum(counts) for count in counts] if sum(counts) else [0.0] * BINS)
            panels.append(Panel(f"{label}, at most {missing} missing", "purity from (%)", "α", rows, heat=True))
    return panels
