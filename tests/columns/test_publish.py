"""What marks the values that are there, in the form of Arrow."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.columns.publish import _fill_bitmaps


@pytest.mark.parametrize("quasi", [1, 7, 8, 9, 14, 16, 64])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 70])
def test_a_bitmap_has_the_bits_of_all_patterns(quasi: int, size: int) -> None:
    pattern = np.random.default_rng(1).integers(0, 2**64, size, np.uint64)
    bitmaps = np.zeros((quasi, -(-size // 8)), np.uint8)
    _fill_bitmaps(pattern, bitmaps)
    for q in range(quasi):
        bits = np.unpackbits(bitmaps[q], bitorder="little")
        assert bits[:size].tolist() == (pattern >> np.uint64(q) & np.uint64(1)).tolist()
        assert not bits[size:].any()
