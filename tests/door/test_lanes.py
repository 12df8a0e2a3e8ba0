"""Scans take as many entries at a time as the compiled comparison looks at."""

from __future__ import annotations

from shoal.blocks.window import STRIDE
from shoal.compiled import LANES


def test_a_stride_is_what_one_comparison_looks_at() -> None:
    assert STRIDE == LANES
