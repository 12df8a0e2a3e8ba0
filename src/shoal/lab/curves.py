"""Curves over parameters: an algorithm under several windows and k, and z-anonymity under several z."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from shoal.anonymizer import Stats
from shoal.config import span
from shoal.errors import InputError, PolicyError
from shoal.files import read_events
from shoal.lab.form import Form
from shoal.lab.policy_text import parse_number
from shoal.lab.sample import Sample, named
from shoal.lab.trial import Trial
from shoal.model import plan
from shoal.policy import Policy, needs_reuse_age

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
ROWS = 200_000  # observations for z; more than a trial reads, since a window must fill


def algorithm_curves(
    written: Mapping[str, Any], name: str, sample: Sample, on_step: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """One algorithm under windows and k from a quarter to four times those of the policy.

    A point has `window`, `k`, the mean `wait`, the `loss` and the share `suppressed`. If the policy does not suit the
    algorithm, `obstacle` says why.
    """
    policy = Policy.parse(written)
    if policy.is_filter:
        raise PolicyError([f"algorithm.name: {policy.algorithm.name} holds no window; there is nothing to compare it with"])
    base = dict(written)
    if policy.algorithm.name != name:
        base["algorithm"] = _parameters(name, policy)
    k, window = policy.privacy.k, policy.window
    obstacle = ""
    by_window, by_k = [], []
    for factor in FACTORS:
        length = factor * window.length if window.timed else max(k, round(factor * window.length))
        each = max(2, round(factor * k))
        try:
            on_step()
            by_window.append(_point({**base, "window": {window.kind: length}}, sample))
            if window.timed or each <= window.length:
                on_step()
                by_k.append(_point({**base, "privacy": {**base["privacy"], "k": each}}, sample))
        except PolicyError as error:
            obstacle = obstacle or error.problems[0]
    return {
        "algorithm": name, "unit": "s" if window.timed else "arrivals",
        "windows": _distinct(by_window, "window"), "ks": _distinct(by_k, "k"), "obstacle": obstacle,
    }  # fmt: skip


def _parameters(name: str, policy: Policy) -> dict[str, Any]:
    """The parameters that an algorithm needs."""
    return {"name": name, **({"reuse_age": policy.window.length} if policy.window.timed and needs_reuse_age(name) else {})}


def _point(written: Mapping[str, Any], sample: Sample) -> dict[str, float]:
    trial = Trial.run(Policy.parse(written), sample)
    assert isinstance(trial.stats, Stats)
    waits, policy = trial.waits, trial.policy
    return {
        "window": policy.window.length,
        "k": policy.privacy.k,
        "wait": float(waits.mean()) if len(waits) else 0.0,
        "loss": trial.stats.loss,
        "suppressed": trial.stats.suppressed / max(trial.stats.released, 1),
    }


def _distinct(points: list[dict[str, float]], key: str) -> list[dict[str, float]]:
    return list({point[key]: point for point in points}.values())


def z_curves(form: Form, sample: Sample, k: int = 2, confidence: float = 0.95) -> dict[str, Any]:
    """How many users are k-anonymous: one row per z with the model's `probability`, the `measured` share and what is `kept`.

    Raises InputError or ModelError if a field is not named, or the window is longer than the sample.
    """
    for name, what in ((form.person, "person"), (form.time, "time"), (form.item, "item")):
        if not name:
            raise InputError(f"{what}: is not named; choose the field, since the curves need user, item and time")
    try:
        window = span(parse_number(form.span))
    except PydanticCustomError:
        raise InputError("algorithm.window: not a duration; write it like 30s, 5m, 2h, 1d") from None
    with named(sample.path, sample.name):
        events = read_events(str(sample.path), form.person, [form.item], form.time, ROWS)
    found = plan(events.time, events.user, events.item, k=k, confidence=confidence, windows=[window])
    only = found.windows[0]
    rows = [
        {"z": row.z, "probability": row.probability, "measured": row.measured, "kept": row.kept, "silent": row.silent}
        for row in only.rows
    ]
    return {
        "k": k, "confidence": confidence, "window": window, "observations": found.observations, "users": only.users,
        "items": only.items, "rows": rows, "best": only.best.z, "met": only.best.meets(confidence),
    }  # fmt: skip
