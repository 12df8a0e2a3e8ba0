"""Little memory and a quick start for commands that run for long, or often."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

UNUSED = ("pandas", "scipy.linalg")
"""What pyarrow and numba load wherever it is installed: half a second and 45 MB, for nothing that a run does."""


def lean() -> None:
    """Do without what is not used, and let Arrow take memory from the pool that gives it back."""
    sys.meta_path.insert(0, _Absent())
    use_pool()


def use_pool() -> None:
    """Let Arrow take memory from the pool under which the least stays resident over a long run; it is hardly slower."""
    import pyarrow as pa

    try:
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    except NotImplementedError:
        pa.set_memory_pool(pa.system_memory_pool())


class _Absent(MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname in UNUSED:
            raise ModuleNotFoundError(f"{fullname} is not used here", name=fullname)
        return None
