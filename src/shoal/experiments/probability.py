"""p_k-anon of z-anonymity: by the model, and by the filter over users who expose items at random."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import Anonymizer, Policy
from shoal.experiments.paper import Job, Outcome
from shoal.model import Population, exact, grid, tree

RATE = 0.2  # of the most popular item; that of rank r is a r-th of it
USERS, ITEMS, Z, WINDOW = 1000, 20, 150, 12.0  # table 2
_METHODS = {"exact": exact, "tree": tree, "grid": grid}


def model_job(
    *,
    users: int | Sequence[int] = USERS,
    items: int = ITEMS,
    z: int = Z,
    window: float = WINDOW,
    ks: Sequence[int] = (2,),
    factors: Sequence[Sequence[float]] = ((1.0, 1.0),),
    method: str = "grid",
) -> Job:
    """`factors`, a pair a class: by what the rates of odd and of even ranks are multiplied."""
    return Job.of("model", users=users, items=items, z=z, window=window, ks=list(ks), factors=factors, method=method)


def run_model(data: Path, settings: Mapping[str, Any]) -> Outcome:
    """What the model says of users and items; it needs no data."""
    ranks = np.arange(1, settings["items"] + 1)
    rates = [RATE / ranks * np.where(ranks % 2, odd, even) for odd, even in settings["factors"]]
    publication = Population(settings["users"], rates).publish(z=settings["z"], window=settings["window"])
    estimates = [_METHODS[settings["method"]](publication, k=k) for k in settings["ks"]]
    return {
        "values": [each.value for each in estimates], "classes": [list(each.classes) for each in estimates],
        "entropy": publication.entropy, "published": publication.published[0].tolist(),
        "exposed": publication.exposed[0].tolist(),
    }  # fmt: skip


def simulation_job(
    *, users: int = USERS, items: int = ITEMS, z: int = Z, window: float = WINDOW, ks: Sequence[int] = (2,), seed: int = 0
) -> Job:
    """One run of the filter."""
    return Job.of("simulation", users=users, items=items, z=z, window=window, ks=list(ks), seed=seed)


def run_simulation(data: Path, settings: Mapping[str, Any]) -> Outcome:
    """Two windows of visits; the first only fills the filter, and users are compared by what they publish in the second."""
    users, items, window = settings["users"], settings["items"], settings["window"]
    random = np.random.default_rng(settings["seed"])
    counts = random.poisson(RATE / np.arange(1, items + 1) * 2 * window, (users, items))
    user, item = (np.repeat(part.ravel(), counts.ravel()) for part in np.indices(counts.shape))
    time = random.uniform(0, 2 * window, len(user))
    order = np.argsort(time, kind="stable")
    user, item, time = user[order], item[order], time[order]
    released = _released(user, item, time, settings["z"], window)
    recent = released & (time > window)
    sets = np.zeros((users, items), bool)
    sets[user[recent], item[recent]] = True
    alike = Counter(row.tobytes() for row in sets)
    sizes = np.array([alike[row.tobytes()] for row in sets])
    return {
        "values": [float((sizes >= k).mean()) for k in settings["ks"]], "observations": len(user),
        "published": sets.mean(axis=0).tolist(),
    }  # fmt: skip


def _released(user: Any, item: Any, time: Any, z: int, window: float) -> Any:
    """Which observations the filter lets through."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "secret").write_text("of generated users only", encoding="utf-8")
        algorithm = {"name": "zanon", "z": z, "window": window, "secret_file": "secret"}
        written = {"person": "user", "time": {"field": "t"}, "item": {"field": "item"}, "algorithm": algorithm}
        anonymizer = Anonymizer(Policy.parse(written, Path(folder)))
    found = np.zeros(len(user), bool)
    anonymizer.push_batch(pa.record_batch({"user": user, "t": time, "item": item}))
    trace = [anonymizer.trace]
    anonymizer.flush()
    for part in [*trace, anonymizer.trace]:
        kept = part.column("how").to_numpy(zero_copy_only=False) == "released"
        found[part.column("row").to_numpy()[kept]] = True
    return found
