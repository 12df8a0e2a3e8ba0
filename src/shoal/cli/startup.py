"""What a command does before a run: compile kernels, and save memory and time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.policy import Policy

UNUSED = ("cloudpickle", "pandas", "scipy.linalg")
"""What pyarrow and numba import if it is installed: half a second and 45 MB that no run needs."""


def prepare_kernels(policy: Policy, say: Callable[[str], None]) -> None:
    """If there is no machine code for the policy's algorithm, compile it and say so."""
    from shoal.anonymizer import compile_kernels, has_machine_code, secret
    from shoal.compiled import forget_old
    from shoal.policy import Zanon

    name = policy.algorithm.name
    if isinstance(policy.algorithm, Zanon):
        secret(policy.algorithm)  # refuses before it takes time
    if not has_machine_code(name):
        say(f"compiling {name} once (up to half a minute); later starts take it from the cache …")
        compile_kernels(name)
        forget_old()


def save_memory() -> None:
    """Skip imports that no run needs, and use the memory pool that returns memory. To be called before pyarrow is loaded."""
    skip_unused()
    use_pool()


def skip_unused() -> None:
    """Let pyarrow and numba not find what no command needs."""
    sys.meta_path.insert(0, _Absent())


def use_pool() -> None:
    """Use the memory pool of Arrow that keeps the least memory over a long run; it is hardly slower."""
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
