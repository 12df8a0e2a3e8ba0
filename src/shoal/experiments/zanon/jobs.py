"""What is computed and what is run."""

from __future__ import annotations

from statistics import fmean

from shoal.experiments.job import Job, Results
from shoal.experiments.paper import Scale
from shoal.experiments.probability import Z, model_job, simulation_job

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


def activity(ratio: float) -> Job:
    """Two classes; the second is `ratio` times as active, the mean is as before."""
    first = 2 / (1 + ratio)
    return model_job(users=CLASSES, z=CLASS_Z, factors=((first, first), (ratio * first, ratio * first)), method="exact")


def interest(separation: float) -> Job:
    """Two classes; η of even ranks goes to the first, of odd ranks to the second: twice, so that the mean is as before."""
    eta = (1 + separation) / 2
    return model_job(users=CLASSES, z=CLASS_Z, factors=((2 * (1 - eta), 2 * eta), (2 * eta, 2 * (1 - eta))), method="exact")


def printed(separation: float) -> Job:
    """The same with the rates of table 3 as they stand."""
    eta = (1 + separation) / 2
    return model_job(users=CLASSES, z=CLASS_Z, factors=((1 - eta, eta), (eta, 1 - eta)), method="exact")


def ranks(z: int) -> Job:
    return model_job(items=RANKED, z=z)


def simulations(scale: Scale, z: int) -> list[Job]:
    return [simulation_job(z=z, ks=KS, seed=seed) for seed in range(scale.seeds)]


def validation(scale: Scale) -> list[Job]:
    return [simulation_job(z=Z, ks=KS, seed=seed) for seed in range(5 * scale.seeds)]


def jobs(scale: Scale) -> list[Job]:
    wanted = [ranks(z) for z in RANK_Z] + [simulation_job(items=RANKED, z=z) for z in (1, 100)]
    wanted += [model_job(z=z, ks=KS) for z in {*scale.sweep(Z_AXIS), 100, 150, 250, 350, CLASS_Z}]
    wanted += [job for z in scale.sweep(SHOWN_Z) for job in simulations(scale, z)] + validation(scale)
    wanted += [model_job(window=float(window), ks=KS) for window in scale.sweep(WINDOWS)]
    wanted += [model_job(items=items, z=z) for items in scale.sweep(ITEM_AXIS) for z in ITEM_Z]
    wanted += [model_job(users=users, z=z) for users in scale.sweep(USER_AXIS) for z in USER_Z]
    wanted += [model_job(users=users, z=max(1, users // 25), ks=KS) for users in scale.sweep(USER_AXIS)]
    wanted += [activity(ratio) for ratio in ratios(scale)]
    wanted += [job(separation) for separation in scale.sweep(SEPARATIONS) for job in (interest, printed)]
    return [*wanted, *(model_job(method=method) for method in ("exact", "tree", "grid")), model_job(z=CLASS_Z, method="exact")]


def ratios(scale: Scale) -> list[float]:
    return sorted({*scale.sweep(RATIOS), 1.0})


def simulated(scale: Scale, results: Results, z: int, at: int) -> float:
    return fmean(results[job]["values"][at] for job in simulations(scale, z))
