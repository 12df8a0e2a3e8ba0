"""A copy of the working tree to plant defects in, with a cache of kernels of its own.

The copy is always at the same place, so that what is kept of the last run serves the next. Defects in files with kernels
are all there at once, each behind a number (`tools.mutants.switch`). Of the few that cannot be, what does not depend
on the file is linked into the new cache, so that only the rest is compiled again.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.mutants.defect import Defect, defects
from tools.mutants.switch import OFFERING, READING, VARIABLE, switched

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build/mutants"
LAYERS = {"compiled", "columns", "blocks", "algorithms"}
"""Where a change makes kernels compile anew, as in any other file that imports `shoal.compiled`."""

MANIFEST = PLACE / "manifest.json"
"""What the last kernels were compiled from."""

COMPILER = "src/shoal/compiled/intrinsics.py"
"""The file with single machine instructions for kernels."""

OFFER = "src/shoal/compiled/__init__.py"
"""From where other files import them."""


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
        (self.path / "build").mkdir()
        (self.path / "build/kafka").symlink_to(ROOT / "build/kafka")  # else the tests on Kafka are skipped
        self.environment = {
            **os.environ, "PYTHONPATH": f"{self.path}/src", "SHOAL_CACHE": str(PLACE / "cache"), "PYTHONHASHSEED": "0",
        }  # fmt: skip
        self._numbers = self._switch()
        self._clean = self._kernels()
        self._go_on_from_last()

    def _go_on_from_last(self) -> None:
        """Take over from the last list of defects the kernels that do not depend on what has changed since."""
        now = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in self._files()}
        if MANIFEST.exists() and not any(self._clean.rglob("*.nbc")):
            last = json.loads(MANIFEST.read_text())
            changed = {Path(name) for name, digest in now.items() if last["files"].get(name) != digest}
            self._seed(self._clean, Path(last["kernels"]), changed)
        PLACE.mkdir(parents=True, exist_ok=True)
        MANIFEST.write_text(json.dumps({"kernels": str(self._clean), "files": now}))

    def _files(self) -> list[Path]:
        return sorted(path for part in ("src", "tests") for path in (self.path / part).rglob("*.py"))

    def _switch(self) -> dict[str, int]:
        """Put defects of files with kernels behind numbers, all at once; which number each has."""
        numbered: dict[str, dict[int, Defect]] = {}
        for defect in defects():
            text = (self.path / defect.file).read_text()
            if _makes_kernels(defect.file, text) and text.count(defect.before) == 1:
                numbered.setdefault(defect.file, {})[defect.number] = defect
        found: dict[str, int] = {}
        for file, some in numbered.items():
            text, unfit = switched((self.path / file).read_text(), some)
            (self.path / file).write_text(text)
            found |= {defect.name: number for number, defect in some.items() if number not in unfit}
        for file, more in ((COMPILER, READING), (OFFER, OFFERING)):
            with open(self.path / file, "a") as opened:
                opened.write(more)
        return found

    @contextmanager
    def planted(self, defect: Defect) -> Iterator[None]:
        """The copy with a defect: switched on, or put into its file."""
        path = self.path / defect.file
        before, number = path.read_text(), self._numbers.get(defect.name)
        if number is None:
            path.write_text(defect.planted((ROOT / defect.file).read_text()))
        else:
            self.environment[VARIABLE] = str(number)
        kernels = self._kernels() if number is None and _makes_kernels(defect.file, before) else self._clean
        try:
            if kernels != self._clean:
                self._seed(kernels, self._clean, {path})
            yield
        finally:
            self.environment.pop(VARIABLE, None)
            path.write_text(before)
            shutil.rmtree(self.path / ".hypothesis", ignore_errors=True)
            if kernels != self._clean:
                shutil.rmtree(kernels, ignore_errors=True)

    def _kernels(self) -> Path:
        """The folder of the compiled kernels."""
        command = [sys.executable, "-c", "from shoal.compiled.sources import FOLDER; print(FOLDER)"]
        return Path(subprocess.check_output(command, cwd=self.path, env=self.environment, text=True).strip())

    def _seed(self, kernels: Path, known: Path, changed: set[Path]) -> None:
        """Link what is compiled into a new folder, but for what depends on changed files."""
        shutil.rmtree(kernels, ignore_errors=True)
        if not known.is_dir():
            return
        stale = {path.stem for path in self._dependents(changed)}

        def left_out(folder: str, names: list[str]) -> list[str]:
            return [name for name in names if name.partition(".")[0] in stale]

        shutil.copytree(known, kernels, ignore=left_out, copy_function=os.link)

    def _dependents(self, changed: set[Path]) -> set[Path]:
        """The files, and all that import them, also by way of others."""
        imports = {path: self._imported(path) for path in self._files()}
        found = changed
        while more := {path for path in imports if path not in found and imports[path] & found}:
            found = found | more
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


def _makes_kernels(file: str, text: str) -> bool:
    """Whether kernels compile anew when this file changes."""
    return bool(LAYERS & set(Path(file).parts)) or "shoal.compiled" in text
