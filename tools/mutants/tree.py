"""A copy of the working tree to plant defects in, with a cache of kernels of its own.

The copy is always at the same place, since numba's cache knows a function by the path of its file. A defect in a file with
kernels changes the cache's folder; the entries that do not depend on the file are linked into the new folder, so that only
the others are compiled again.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.mutants.defect import Defect

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build/mutants"
LAYERS = {"columns", "blocks", "algorithms", "formats", "compiled.py"}
"""Where a change makes kernels compile anew."""


class Tree:
    """The copy: clean, but while a defect is planted."""

    def __init__(self) -> None:
        self.path = PLACE / "tree"
        shutil.rmtree(self.path, ignore_errors=True)
        listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True)
        for name in filter(lambda name: (ROOT / name).is_file(), listed.splitlines()):
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.path / name)
        (self.path / ".venv").symlink_to(ROOT / ".venv")
        self.environment = {
            **os.environ, "PYTHONPATH": f"{self.path}/src", "SHOAL_CACHE": str(PLACE / "cache"), "PYTHONHASHSEED": "0",
        }  # fmt: skip
        self._clean = self._kernels()
        self._borrow()

    def _borrow(self) -> None:
        """Copy what is compiled for the working tree: numba finds a file's kernels in a folder named by a hash of its path."""
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal" / self._clean.name
        for layer in (path for part in ("src/shoal", "tests") for path in (self.path / part).iterdir() if path.is_dir()):
            there, here = (root / f"{layer.name}_{_hash(path)}" for root, path in (
                (home, ROOT / layer.relative_to(self.path)), (self._clean, layer)
            ))  # fmt: skip
            if there.is_dir() and not here.is_dir():
                shutil.copytree(there, here)

    @contextmanager
    def planted(self, defect: Defect) -> Iterator[None]:
        """The copy with a defect."""
        path = self.path / defect.file
        path.write_text(defect.planted(path.read_text()))
        kernels = self._kernels() if LAYERS & set(path.parts) else self._clean
        try:
            if kernels != self._clean:
                self._seed(kernels, path)
            yield
        finally:
            shutil.copy2(ROOT / defect.file, path)
            shutil.rmtree(self.path / ".hypothesis", ignore_errors=True)
            if kernels != self._clean:
                shutil.rmtree(kernels, ignore_errors=True)

    def _kernels(self) -> Path:
        """The folder of the compiled kernels."""
        command = [sys.executable, "-c", "from shoal.compiled import FOLDER; print(FOLDER)"]
        return Path(subprocess.check_output(command, cwd=self.path, env=self.environment, text=True).strip())

    def _seed(self, kernels: Path, changed: Path) -> None:
        shutil.rmtree(kernels, ignore_errors=True)
        if not self._clean.is_dir():
            return
        stale = {(path.parent.name, path.stem) for path in self._dependents(changed)}

        def left_out(folder: str, names: list[str]) -> list[str]:
            layer = Path(folder).name.rpartition("_")[0]
            return [name for name in names if (layer, name.partition(".")[0]) in stale]

        shutil.copytree(self._clean, kernels, ignore=left_out, copy_function=os.link)

    def _dependents(self, changed: Path) -> set[Path]:
        """The file, and all that import it, also by way of others."""
        files = [path for part in ("src", "tests") for path in (self.path / part).rglob("*.py")]
        imports = {path: self._imported(path) for path in files}
        found = {changed}
        while more := {path for path in files if path not in found and imports[path] & found}:
            found |= more
        return found

    def _imported(self, path: Path) -> set[Path]:
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
        places = [self.path / "src" / name.replace(".", "/") for name in names if name.startswith("shoal.")]
        return {file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")}


def _hash(path: Path) -> str:
    return hashlib.sha1(str(path).encode()).hexdigest()
