"""`python -m shoal.cli.kernels` compiles the kernels of all algorithms into the cache."""

from __future__ import annotations


def compile_all() -> None:
    """Compile every algorithm: the first alone, since the others share its kernels, then the others in parallel."""
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
