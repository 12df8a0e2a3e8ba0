"""The figure none of the papers has: every algorithm on every data set, by speed, by waiting, by k."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.experiments.claim import Claim, all_less, always, percents
from shoal.experiments.figure import Figure, Panel
from shoal.experiments.paper import Findings, Job, Paper, Results, Scale
from shoal.experiments.runs import CITIES, stream_job

K, WINDOW = 50, 2000
KS, WINDOWS = (5, 10, 25, 50, 100), (250, 500, 1000, 2000, 4000)
ALGORITHMS: Mapping[str, Mapping[str, Any]] = {
    "FADS": {"name": "fads"},
    "IoT": {"name": "iot"},
    "K-VARP": {"name": "kvarp"},
    "IDEA": {"name": "idea"},
    "X-BAND(4)": {"name": "xband", "band": 4},
    "X-BAND(10)": {"name": "xband", "band": 10},
    "CASTLE": {"name": "castle"},
    "FAST": {"name": "fast"},
    "tide": {"name": "tide", "effort": "quick"},
    "tide thorough": {"name": "tide", "effort": "thorough"},
}
OURS = ("tide", "tide thorough")
DATA: Mapping[str, tuple[str, int | None]] = {
    "Adult, up to 3 missing": ("Adult", 3),
    "INFORMS, up to 2 missing": ("INFORMS", 2),
    **{f"PM2.5 {city}, as it is": (city, None) for city in CITIES},
}
_SPEED, _WAIT, _K = "tuples per second and core", "longest wait, in arrivals", "k"


def _job(scale: Scale, data: str, label: str, k: int = K, window: int = WINDOW) -> Job:
    """X-BAND's pocket is part of the wait: it gets half of it. A round of FAST takes at most a quarter of it."""
    source, missing = DATA[data]
    algorithm = dict(ALGORITHMS[label])
    if algorithm["name"] == "xband":
        window = max(k, window // 2)
        algorithm["reuse_age"] = window
    elif algorithm["name"] == "fast":
        algorithm["round"] = max(k, min(6 * k, window // 4))
    return stream_job(source, algorithm, k, {"count": window}, tuples=scale.size(30_000), missing=missing, passes=scale.passes)


def _windows(scale: Scale) -> list[int]:
    return sorted({*scale.sweep(WINDOWS), WINDOW})


def _ks(scale: Scale) -> list[int]:
    return sorted({*scale.sweep(KS), K})


def _cells(scale: Scale) -> list[tuple[int, int]]:
    """Every k and window that is run, each once."""
    return list(dict.fromkeys([*((K, window) for window in _windows(scale)), *((k, WINDOW) for k in _ks(scale))]))


def _jobs(scale: Scale) -> list[Job]:
    return [_job(scale, data, label, k, window) for data in DATA for label in ALGORITHMS for k, window in _cells(scale)]


def _findings(scale: Scale, results: Results) -> Findings:
    panels = []
    for data in DATA:
        speed, wait, by_k = {}, {}, {}
        for label in ALGORITHMS:
            found = results[_job(scale, data, label)]
            speed[label] = ([found["tuples"] / max(found["seconds"], 1e-9)], [found["loss"]])
            held = [_job(scale, data, label, window=window) for window in _windows(scale)]
            wait[label] = (results.values(held, "longest"), results.values(held, "loss"))
            by_k[label] = results.curve({k: _job(scale, data, label, k) for k in _ks(scale)}, "loss")
        panels += [
            Panel(data, _SPEED, "average loss", speed, log="x", points=True),
            Panel(data, _WAIT, "average loss", wait, log="x"),
            Panel(data, _K, "average loss", by_k, log="x"),
        ]
    note = f"k {K} and a window of {WINDOW:,} arrivals unless varied. Lower is better; in the first column, right is faster."
    figure = Figure("figure", "All algorithms on all data sets", panels, columns=3, size=(3.5, 2.9), note=note)
    return Findings([figure], _claims(scale, results))


def _claims(scale: Scale, results: Results) -> list[Claim]:
    settings = [(data, k, window) for data in DATA for k, window in _cells(scale)]
    losses = {
        label: results.values((_job(scale, data, label, k, window) for data, k, window in settings), "loss")
        for label in ALGORITHMS
    }
    best = [min(each) for each in zip(*(losses[label] for label in ALGORITHMS if label not in OURS), strict=True)]
    claims = []
    for own in OURS:
        said = f"{own} loses less than the best other at the same k and window"
        claims.append(_less("ours", said, all_less(losses[own], best)))
    for other in ("K-VARP", "IDEA"):
        said = f"FADS as it is loses less than {other}, at the same k and window"
        claims.append(_less("in no paper", said, all_less(losses["FADS"], losses[other])))
    return claims


def _less(where: str, said: str, gaps: list[float]) -> Claim:
    return always(where, said, [gap > 0 for gap in gaps], f"{percents(gaps)} less")


PAPER = Paper(
    name="overview",
    title="All algorithms on all data sets",
    reference="In no paper",
    setting=(
        "UCI Adult with up to 3 values missing, INFORMS 2008 with up to 2, UCI PM2.5 of each city with its own missing "
        "values; the first 30,000 tuples. Eight algorithms with their defaults but for what is named below."
    ),
    notes=(
        "The longest wait is measured. X-BAND's pocket is part of it: window and pocket have half of it each. A round of "
        "FAST takes 6·k tuples, but at most a quarter of the deadline.",
        "Speed is Arrow in to Arrow out, on a machine that may have had other work; times are of the processor.",
    ),
    sources=("Adult", "INFORMS", *CITIES),
    jobs=_jobs,
    findings=_findings,
)
