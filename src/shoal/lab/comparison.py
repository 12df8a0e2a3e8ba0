"""Algorithms side by side: the same sample, the same promise, other windows and other k."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.anonymizer import Stats
from shoal.errors import PolicyError
from shoal.lab.sample import Sample
from shoal.lab.trial import Trial
from shoal.policy import Policy
from shoal.policy.algorithm import needs_reuse_age

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)


def compared(
    written: Mapping[str, Any], name: str, sample: Sample, on_step: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """One algorithm under windows and under k from a quarter to four times those that are written.

    Its points tell `window` or `k`, the mean `wait`, the `loss` and the share `suppressed`. Where the policy does not go with
    the algorithm, `obstacle` says why.
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
    """Those that an algorithm cannot do without."""
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
