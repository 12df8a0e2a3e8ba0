"""The compiled kernels, made ready before a run; `python -m shoal.cli.kernels` makes all of them ready."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.policy import Policy


def prepare(policy: Policy, say: Callable[[str], None]) -> None:
    """Load what the policy's algorithm needs from the cache; if it is not there, compile it and say so."""
    from shoal.anonymizer import compile_kernels
    from shoal.anonymizer.secret import secret
    from shoal.compiled import forget_old, is_compiled
    from shoal.policy import Zanon

    name = policy.algorithm.name
    if isinstance(policy.algorithm, Zanon):
        secret(policy.algorithm)  # refuses before it takes time
    is_new = not is_compiled(name)
    if is_new:
        say(f"compiling {name} once (up to a minute); later starts take it from the cache …")
    compile_kernels(name)
    if is_new:
        forget_old()


def compile_all() -> None:
    """Compile every algorithm: the first alone, since it brings what they share, the others side by side."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from shoal.algorithms import NAMES
    from shoal.anonymizer import compile_kernels

    first, *others = NAMES
    compile_kernels(first)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_kernels, others))


if __name__ == "__main__":
    compile_all()
