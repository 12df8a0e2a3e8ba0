"""A mutant: workers of FAST that do not wait for each other.

It is run in a process and with a compile cache of its own, since no cache would tell it from the original.
"""

from __future__ import annotations

import sys
from typing import Any

from shoal import blocks
from shoal.compiled import inlined

_NOTICED = 3


@inlined
def nothing(lock: Any) -> None:
    return


blocks.acquire = blocks.free = nothing

from shoal.algorithms import fast  # noqa: E402
from shoal.anonymizer import lanes, windowed, workers  # noqa: E402
from tests.conformance.contention import SIZE, violations  # noqa: E402

if __name__ == "__main__":
    assert fast.acquire is fast.free is nothing
    workers._STRIDE = windowed._PIECE = SIZE
    lanes._FEW = SIZE + 1
    assert violations(0) == []
    print("in turn: sound", flush=True)
    lanes._FEW = 0
    sys.exit(_NOTICED if any(violations(seed) for seed in range(10)) else 0)
