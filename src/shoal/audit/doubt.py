"""How many of the rows in doubt have a value: what an analyst estimates from how many rows show what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from shoal.audit.values import Floats

_CHANCES = np.linspace(0, 1, 1001)[1:-1]
_MEANS = np.linspace(0.02, 0.98, 49)
_STRENGTHS = (2, 4, 8, 16, 32, 64)


class Shown(NamedTuple):
    """How many rows show a value without doubt, in doubt, and none."""

    sure: int
    doubtful: int
    missing: int


def having(shown: Mapping[str, Shown], k: int) -> dict[str, float]:
    """The share of rows in doubt that have a value, by attribute.

    Suppose groups of k rows, each of which has a value with the chance h, whatever others have. Then a group is without doubt
    with the chance h^k, missing with (1-h)^k, and in doubt otherwise. Of the rows in doubt (h - h^k) / (1 - h^k - (1-h)^k)
    have a value. Each attribute has its own h, but all are drawn from one beta distribution. The estimate is the mean over all
    h, by their likelihood, and over all these distributions: by how likely they make what all attributes show, and by their
    means, since values are more often there than missing. So an attribute that is always in doubt, which says little about its
    h, follows the others; where all are, the estimate is near the middle.

    >>> found = having({"age": Shown(51200, 48000, 800)}, 3)
    >>> round(found["age"], 2), round((0.8 - 0.512) / 0.480, 2)
    (0.6, 0.6)
    >>> round(having({"age": Shown(0, 10000, 0)}, 50)["age"], 1)
    0.6
    >>> round(having({"age": Shown(0, 10000, 0), "city": Shown(3000, 7000, 0)}, 50)["age"], 1)
    0.7
    """
    h, k = _CHANCES, max(k, 2)
    mixed = 1 - h**k - (1 - h) ** k
    counts = np.array(list(shown.values()), dtype=np.float64)
    logs = counts @ np.stack([np.log(h), np.log(mixed) / k, np.log(1 - h)])
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    means, strengths = (each.reshape(-1, 1) for each in np.meshgrid(_MEANS, _STRENGTHS))
    drawn = _shares((strengths * means - 1) * np.log(h) + (strengths * (1 - means) - 1) * np.log(1 - h))
    fits = drawn @ likelihood.T
    shares = (drawn * ((h - h**k) / mixed)) @ likelihood.T / fits
    weight = _shares(np.log(means[:, 0]) + np.log(fits).sum(axis=1))
    return dict(zip(shown, (weight @ shares).tolist(), strict=True))


def _shares(logs: Floats) -> Floats:
    """What has these logarithms, so that each row adds up to 1."""
    found = np.exp(logs - logs.max(axis=-1, keepdims=True))
    shares: Floats = found / found.sum(axis=-1, keepdims=True)
    return shares
