"""The compiled kernels, made ready before a run; `python -m shoal.cli.kernels` makes all of them ready."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.policy import Policy

_SMALL = """
person: pid
attributes: {{age: {{quasi: numeric, range: [0, 100], grid: 5}}}}
privacy: {{k: 2}}
window: {{count: 4}}
algorithm: {{name: {name}}}
"""


_FILTER = """
person: pid
time: {field: t}
item: {field: site}
algorithm: {name: zanon, z: 2, window: 10}
"""


def prepare(policy: Policy, say: Callable[[str], None]) -> None:
    """Load what the policy's algorithm needs from the cache; if it is not there, compile it and say so."""
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


def compile_kernels(name: str) -> None:
    """Run an algorithm on a few records, which compiles what is not in the cache."""
    from shoal.anonymizer import Anonymizer
    from shoal.policy import Policy

    if name == "zanon":
        _compile_filter()
        return
    anonymizer = Anonymizer(Policy.parse(_SMALL.format(name=name)))
    for person in range(6):
        anonymizer.push({"pid": person, "age": 10 * person})
    anonymizer.flush()


def _compile_filter() -> None:
    import numpy as np
    import pyarrow as pa

    from shoal.anonymizer.filter import Filter
    from shoal.policy import Policy

    engine = Filter(Policy.parse(_FILTER), bytes(16))
    for site in ([1, 1], ["a", "a"]):
        engine.arrive(pa.record_batch({"pid": pa.array(["1", "b"]), "t": [0, 1], "site": site}), np.arange(2))


def compile_all() -> None:
    """Compile every algorithm: the first alone, since it brings what they share, the others side by side."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from shoal.algorithms import NAMES

    first, *others = NAMES
    compile_kernels(first)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_kernels, others))


if __name__ == "__main__":
    compile_all()
