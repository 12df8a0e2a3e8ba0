"""Pseudonyms of many are those of each."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.columns.pseudonym import Pseudonyms, pseudonym

SECRET = b"sixteen bytes, or more"


@pytest.mark.parametrize("users", [20, 10_000, 10**9, 2**62])
def test_of_whole_numbers(users: int) -> None:
    """Of few users most come again soon; of many hardly any, so that after some time nobody is looked up."""
    size, rng = 20_000, np.random.default_rng(1)
    keys = np.zeros((size, 2), np.uint64)
    keys[:, 0] = rng.integers(0, users, size, np.uint64)
    keys[-100:] = keys[:100]
    period = rng.integers(0, 2, size)
    rows = np.flatnonzero(rng.random(size) < 0.9)
    found = Pseudonyms(SECRET).of(keys, period, rows, None)
    for i in [*range(0, len(rows), 37), *range(len(rows) - 150, len(rows))]:
        name = str(keys[rows[i], 0]).encode()
        assert found[i].as_py().encode() == pseudonym(SECRET, int(period[rows[i]]), name)
