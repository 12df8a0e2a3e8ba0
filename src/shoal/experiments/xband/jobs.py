"""What is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.experiments.engine import stream_job
from shoal.experiments.fads import fads_job
from shoal.experiments.job import Job, Results
from shoal.experiments.paper import Scale
from shoal.experiments.streams import CITIES

K, WINDOW, REUSE = 50, 1000, 1000
MISSING = (1, 2, 4, 6, 8, 10)
PURE = (6, 8, 10)
WEIGHTS = (1.0, 0.75, 0.5, 0.25)
BANDS: Mapping[str, Sequence[int]] = {"Adult": (4, 6, 8, 10), "PM2.5": (2, 4, 6)}
FADS = "FADS"


def banded(scale: Scale, data: str, missing: int | None, weight: float, band: int) -> Job:
    algorithm = {"name": "xband", "band": band, "alpha": weight, "reuse_age": REUSE}
    tuples = scale.size(30_000 if data == "Adult" else None)
    return stream_job(
        data, algorithm, K, {"count": WINDOW}, tuples=tuples, missing=missing, extras=["purity"], passes=scale.passes
    )


def weighted(scale: Scale, data: str, missing: int | None, weight: float) -> Job:
    tuples = scale.size(30_000 if data == "Adult" else None)
    return fads_job(data, K, WINDOW, REUSE, tuples=tuples, missing=missing, weight=weight)


def timed(scale: Scale, data: str, missing: int | None) -> Job:
    """FADS of the engine: the other one is not made for speed."""
    tuples = scale.size(30_000 if data == "Adult" else None)
    return stream_job(
        data, {"name": "fads", "reuse_age": REUSE}, K, {"count": WINDOW}, tuples=tuples, missing=missing, passes=scale.passes
    )


def cells(scale: Scale) -> list[tuple[str, int | None]]:
    """Adult by missingness, the cities as they are."""
    missing = sorted({*scale.sweep(MISSING), *scale.sweep(PURE)})
    return [*(("Adult", most) for most in missing), *((city, None) for city in CITIES)]


def bands(data: str) -> Sequence[int]:
    return BANDS["Adult" if data == "Adult" else "PM2.5"]


def jobs(scale: Scale) -> list[Job]:
    wanted = []
    for data, missing in cells(scale):
        wanted.append(timed(scale, data, missing))
        for weight in scale.sweep(WEIGHTS):
            wanted.append(weighted(scale, data, missing, weight))
            wanted += [banded(scale, data, missing, weight, band) for band in bands(data)]
    return wanted


def histogram(scale: Scale, results: Results, label: str, missing: int, weight: float) -> list[int]:
    job = weighted(scale, "Adult", missing, weight) if label == FADS else banded(scale, "Adult", missing, weight, 10)
    return results[job]["purity"]
