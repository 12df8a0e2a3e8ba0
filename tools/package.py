"""Builds the wheel and the source distribution, and tries each in an empty environment.

python -m tools.package FOLDER
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
_SMOKE = (
    ("shoal", "--version"),
    ("shoal", "schema"),
    ("shoal", "hierarchy", "show", "countries"),
    ("shoal", "demo", "demo", "--tuples", "2000"),
    ("shoal", "run", "demo/policy.yaml", "demo/wearables.jsonl", "out.parquet", "--trace", "private.jsonl"),
    ("shoal", "audit", "demo/policy.yaml", "demo/wearables.jsonl", "out.parquet", "--trace", "private.jsonl"),
)


def built(target: Path) -> tuple[Path, Path]:
    """The wheel, made from the source distribution, and that itself."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(target), str(ROOT)], check=True, stdout=subprocess.DEVNULL)
    return next(target.glob("*.whl")), next(target.glob("*.tar.gz"))


def tried(package: Path, home: Path) -> str:
    """Install a package into an empty environment and use it there; the version that it tells."""
    venv.create(home / "venv", with_pip=True)
    _call(home, "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(package))
    answers = [_call(home, *command) for command in _SMOKE]
    return answers[0].split()[1]


def _call(home: Path, name: str, *arguments: str) -> str:
    """What a command of the environment in `home` prints, in a folder without this project."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(home / "venv" / "bin" / name), *arguments], cwd=home, env={**clean, "SHOAL_CACHE": str(home / "kernels")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{name} {' '.join(arguments)}: ended with {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def main() -> None:
    target = Path(sys.argv[1]).resolve()
    for package in built(target):
        with TemporaryDirectory() as home:
            print(f"{package.name}: installs and works, version {tried(package, Path(home))}")


if __name__ == "__main__":
    main()
