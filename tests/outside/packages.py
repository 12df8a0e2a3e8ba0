"""Packages of others, as pip installs them: a module, and metadata with entry points."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.policy import outside

CLASS = """
from pydantic import Field
from shoal.config import Amount, Count
from shoal.policy import Registered

class Parameters(Registered):
    engine = "{module}_engine"
    page = "https://example.org/{module}"
"""
NEAREST = """
import numpy as np

def choose(waiting):
    order = np.argsort(waiting.distances(waiting.due), kind="stable")
    return waiting.first_of_each([waiting.due, *order])[: waiting.k]
"""


def install(folder: Path, name: str, declaration: str = CLASS, engine: str = NEAREST, package: str = "shoal-sample") -> None:
    """Put a package that registers one algorithm into a folder."""
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(declaration.replace("{module}", module))
    (folder / f"{module}_engine.py").write_text(engine)
    info = folder / f"{module}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[{outside.GROUP}]\n{name} = {module}:Parameters\n")


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """The packages in a folder can be imported."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    _forget()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
        _forget()


def _forget() -> None:
    outside._entry_points.cache_clear()
    outside._loaded.cache_clear()
