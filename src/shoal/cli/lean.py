"""Little memory and a quick start for commands that run for long, or often."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

UNUSED = ("pandas", "scipy.linalg")
"""What pyarrow and numba load wherever it is installed: half a second and 45 MB, for nothing that a run does."""


def lean() -> None:
    """Do without what is not used, and let Arrow take memory from the pool that gives it back."""
    import pyarrow as pa

    sys.meta_path.insert(0, _Absent())
    pa.set_memory_pool(_pool())


class _Absent(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in UNUSED:
            raise ModuleNotFoundError(f"{fullname} is not used here", name=fullname)
        return None


def _pool() -> pa.MemoryPool:
    """The pool under which the least memory stays resident over a long run, at the same speed as the others."""
    import pyarrow as pa

    try:
        return pa.jemalloc_memory_pool()
    except NotImplementedError:
        return pa.system_memory_pool()
