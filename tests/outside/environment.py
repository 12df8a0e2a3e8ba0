"""A new virtual environment with the example package, built and installed; what shoal itself needs is taken from this one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/shoal-example-algorithm"


class Environment:
    def __init__(self, home: Path, replaced: tuple[str, str, str] | None = None) -> None:
        """Install the example into an environment below `home`; `replaced`: a file of it, a text in it, and another text."""
        self.home = home
        source = home / "source"
        shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        if replaced:
            file, before, after = replaced
            text = (source / file).read_text(encoding="utf-8")
            assert before in text
            (source / file).write_text(text.replace(before, after), encoding="utf-8")
        venv.create(home / "venv")
        self._bin = home / "venv/bin"
        site = next((home / "venv/lib").glob("python*/site-packages"))
        (site / "shared.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", site, source],
            check=True, capture_output=True,
        )  # fmt: skip

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run shoal or pytest, in an empty folder."""
        folder = self.home / "work"
        folder.mkdir(exist_ok=True)
        module = {"shoal": "shoal.cli", "pytest": "pytest", "python": None}[command]
        words = [str(self._bin / "python"), *(["-m", module] if module else []), *arguments]
        if command == "pytest":
            words += ["-c", os.devnull, "-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:xdist"]
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
