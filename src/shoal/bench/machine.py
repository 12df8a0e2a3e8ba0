"""The machine that figures were taken on, and one core of it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypedDict

import pyarrow as pa

_PACKAGES = {"shoal": "shoal-stream", "numba": "numba", "numpy": "numpy", "pyarrow": "pyarrow"}  # names on the package index


class Machine(TypedDict):
    """What figures depend on."""

    cpu: str
    cores: int
    memory: int | None  # bytes
    system: str
    versions: dict[str, str]
    core: int | None  # that the work was bound to
    load: list[float]  # the load average before and after


def machine() -> Machine:
    """What this machine is."""
    return {
        "cpu": _model(),
        "cores": os.cpu_count() or 1,
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "versions": {name: version_of(package) or "not installed" for name, package in _PACKAGES.items()}
        | {"python": platform.python_version()},
        "core": _pinned(),
        "load": load(),
    }


def load() -> list[float]:
    """The load average of the last minute, where the system reports it."""
    return [os.getloadavg()[0]] if hasattr(os, "getloadavg") else []


def described(found: Machine) -> str:
    """One line."""
    versions = found["versions"]
    parts = [
        f"{found['cpu']}, {found['cores']} cores",
        *([f"{found['memory'] / 2**30:.0f} GiB"] if found["memory"] else []),
        ", ".join(f"{name} {versions[key]}" for name, key in (("Python", "python"), ("numba", "numba"))),
        f"pyarrow {versions['pyarrow']}",
        f"bound to core {found['core']}" if found["core"] is not None else "not bound to a core",
        f"load {' to '.join(f'{each:.1f}' for each in found['load'])}",
    ]
    return ", ".join(parts)


@contextmanager
def one_core() -> Iterator[frozenset[int]]:
    """Bind this thread, and those it starts, to one core, and Arrow to one thread; the cores that were free before."""
    threads, free = pa.cpu_count(), _cores()
    pa.set_cpu_count(1)
    try:
        with bound_to(frozenset({max(free)})):
            yield free
    finally:
        pa.set_cpu_count(threads)


@contextmanager
def bound_to(cores: frozenset[int]) -> Iterator[None]:
    """Bind this thread, and those it starts, to these cores, where the system can do so."""
    before = _cores()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, before)


def _cores() -> frozenset[int]:
    """The cores that this thread may use."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _pinned() -> int | None:
    cores = _cores()
    return max(cores) if hasattr(os, "sched_getaffinity") and len(cores) == 1 else None


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def version_of(package: str) -> str | None:
    """The version of a package, if it is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
