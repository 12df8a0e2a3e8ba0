"""Builds the wheels and the source distribution, checks them, and tries each in an empty environment.

python -m tools.package FOLDER

The pure wheel serves every machine that has numba. The wheel for the machine at hand also holds the kernels as machine code.
It is tried without a compiler: numba and llvmlite cannot be imported, no cache can be written, and flags of the processor are
hidden.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

from shoal.compiled.shipped import LEVELS

ROOT = Path(__file__).parents[1]
TAGS = {"Linux": "manylinux_2_17", "Darwin": "macosx_11_0"}
"""The oldest systems that the wheel with machine code serves: it needs nothing but their C library."""

_SMOKE = (
    ("shoal", "--version"),
    ("shoal", "schema"),
    ("shoal", "hierarchy", "show", "countries"),
    ("shoal", "demo", "whole"),
    ("shoal", "demo", "demo", "--tuples", "2000"),
    ("shoal", "check", "demo/policy.yaml", "demo/wearables.jsonl"),
    ("shoal", "infer", "demo/wearables.jsonl"),
    ("shoal", "run", "demo/policy.yaml", "demo/wearables.jsonl", "out.parquet", "--trace", "private.jsonl"),
    ("shoal", "audit", "demo/policy.yaml", "demo/wearables.jsonl", "out.parquet", "--trace", "private.jsonl"),
)
_NO_COMPILER = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ImportError(f"{name} is imported, but nothing is to be compiled")

sys.meta_path.insert(0, Blocked())
"""


def built(target: Path) -> tuple[Path, Path]:
    """The pure wheel, made from the source distribution, and that itself."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(target), str(ROOT)], check=True, stdout=subprocess.DEVNULL)
    return next(target.glob("*.whl")), next(target.glob("*.tar.gz"))


def with_machine_code(wheel: Path, libraries: Path) -> Path:
    """The same wheel for the machine at hand, with libraries of kernels inside."""
    tag = f"py3-none-{TAGS[platform.system()]}_{platform.machine()}"
    with TemporaryDirectory() as place:
        _wheel("unpack", "-d", place, str(wheel))
        tree = next(Path(place).iterdir())
        inside = tree / "shoal/compiled/libraries"
        inside.mkdir()
        for file in sorted(libraries.iterdir()):
            (inside / file.name).write_bytes(file.read_bytes())
        info = next(tree.glob("*.dist-info")) / "WHEEL"
        lines = [line for line in info.read_text().splitlines() if not line.startswith(("Tag:", "Root-Is-Purelib:"))]
        info.write_text("\n".join([*filter(None, lines), "Root-Is-Purelib: false", f"Tag: {tag}", ""]))
        _wheel("pack", "-d", str(wheel.parent), str(tree))
    return next(wheel.parent.glob(f"*{tag}.whl"))


def _wheel(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "wheel", *arguments], check=True, stdout=subprocess.DEVNULL)


def installed(package: Path, home: Path) -> None:
    """Install a package into an empty environment."""
    venv.create(home / "venv", with_pip=True)
    _call(home, "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(package))


def tried(package: Path, home: Path) -> str:
    """Install a package into an empty environment and use it there; the version that it tells."""
    installed(package, home)
    return _used(home)


def tried_without_compiler(package: Path, home: Path) -> list[str]:
    """The same with no compiler and no cache, on a processor of every level; what was tried."""
    installed(package, home)
    site = next((home / "venv/lib").glob("python*/site-packages"))
    (site / "no_compiler.py").write_text(_NO_COMPILER)
    (site / "no_compiler.pth").write_text("import no_compiler\n")
    (home / "kernels").write_text("a file, so that no cache can be written")
    told = []
    for level in LEVELS if platform.machine() == "x86_64" else ("",):
        flags = home / "cpuinfo"
        flags.write_text(f"flags\t\t: {' '.join(sorted(LEVELS.get(level, ())))}\n")
        if level and not _has(level):
            told.append(f"{level}: not tried, since this processor lacks it")
            continue
        _used(home, {"SHOAL_CPUINFO": str(flags)} if level else {})
        _call(home, "python", str(ROOT / "tools/exercise.py"), environment={"SHOAL_CPUINFO": str(flags)} if level else {})
        told.append(f"{level or platform.machine()}: works without a compiler and without a cache")
    return told


def _has(level: str) -> bool:
    with open("/proc/cpuinfo") as lines:
        flags = next((set(line.split()) for line in lines if line.startswith("flags")), set())
    return flags >= LEVELS[level]


def _used(home: Path, environment: dict[str, str] | None = None) -> str:
    for file in ("out.parquet", "private.jsonl"):
        (home / file).unlink(missing_ok=True)
    for folder in ("demo", "whole"):
        shutil.rmtree(home / folder, ignore_errors=True)
    answers = [_call(home, *command, environment=environment) for command in _SMOKE]
    return answers[0].split()[1]


def _call(home: Path, name: str, *arguments: str, environment: dict[str, str] | None = None) -> str:
    """What a command of the environment in `home` prints, in a folder without this project."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    given = {**clean, "SHOAL_CACHE": str(home / "kernels"), **(environment or {})}
    done = subprocess.run(
        [str(home / "venv" / "bin" / name), *arguments], cwd=home, env=given, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{name} {' '.join(arguments)}: ended with {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def main() -> None:
    from tools.libraries import build

    target = Path(sys.argv[1]).resolve()
    wheel, source = built(target)
    build(target.parent / "libraries")
    native = with_machine_code(wheel, target.parent / "libraries")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, (wheel, native, source))], check=True)
    with TemporaryDirectory() as home:
        for line in tried_without_compiler(native, Path(home)):
            print(f"{native.name}: {line}")
    for package in (wheel, source):
        with TemporaryDirectory() as home:
            print(f"{package.name}: installs and works, version {tried(package, Path(home))}")


if __name__ == "__main__":
    main()
