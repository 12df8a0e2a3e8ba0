from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shoal.compiled

pytestmark = pytest.mark.slow

TWICE = """
from shoal.compiled import inlined

@inlined
def twice(x):
    return 2 * x
"""

KERNELS = """
from shoal.compiled import kernel
from twofold import twice

@kernel
def last(values):
    return twice(values[len(values) - 1])

@kernel
def first(values):
    return twice(values[0])

@kernel
def both(values):
    return first(values) + last(values)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "twofold.py").write_text(TWICE)
    (tmp_path / "kernels.py").write_text(KERNELS)
    return tmp_path


def python(folder: Path, script: str) -> str:
    """What a new process prints."""
    own = {"SHOAL_CACHE": str(folder / "cache"), "PYTHONPATH": str(folder)}
    given = os.environ | own | {"PYTHONDONTWRITEBYTECODE": "1"}  # Python would not notice two edits within a second
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, env=given, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr


IMPORTS = "import numpy as np\nfrom kernels import both, first, last\n"
LAST = f"{IMPORTS}print(last(np.array([1.0, 4.0])), dict(last.stats.cache_hits) != {{}})"


def test_machine_code_is_taken_from_the_cache(folder: Path) -> None:
    assert python(folder, LAST) == "8.0 False"
    assert python(folder, LAST) == "8.0 True"


def test_a_kernel_can_be_compiled_after_one_was_loaded(folder: Path) -> None:
    python(folder, LAST)
    assert python(folder, f"{LAST}\nprint(first(np.array([3.0])))") == "8.0 True\n6.0"


def test_a_compiler_is_not_loaded_in_vain(folder: Path) -> None:
    is_there = "import sys; print('numba.cpython.setobj' in sys.modules)"
    assert python(folder, f"{LAST}; {is_there}") == "8.0 False\nTrue"
    assert python(folder, f"{LAST}; {is_there}") == "8.0 True\nFalse"


def test_no_kernel_inlines_another(folder: Path) -> None:
    python(folder, f"{LAST}; first(np.array([1.0]))")
    assert "unfit for linking" in python(folder, f"{IMPORTS}print(both(np.array([1.0, 4.0])))")


def edit(file: Path) -> None:
    """Twice becomes thrice; size and time of the file stay, so that only its content tells."""
    before = file.stat()
    file.write_text(file.read_text().replace("2 * x", "3 * x"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_edit_of_an_imported_kernel_is_noticed(folder: Path) -> None:
    assert python(folder, LAST) == "8.0 False"
    edit(folder / "twofold.py")
    assert python(folder, LAST) == "12.0 False"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of the same name that has the same cache, and nothing else."""
    shutil.copytree(Path(shoal.compiled.__file__).parent, tmp_path / "shoal/compiled")
    for place in ("", "blocks/deep", "formats", "lab"):
        (tmp_path / "shoal" / place).mkdir(parents=True, exist_ok=True)
    (tmp_path / "shoal/__init__.py").touch()
    return tmp_path


@pytest.mark.parametrize("place", ["blocks/deep", "formats"])
def test_an_edit_anywhere_in_the_package_is_noticed(package: Path, place: str) -> None:
    (package / "shoal" / place / "twofold.py").write_text(TWICE)
    (package / "kernels.py").write_text(KERNELS.replace("twofold", f"shoal.{place}.twofold".replace("/", ".")))
    assert python(package, LAST) == "8.0 False"
    assert python(package, LAST) == "8.0 True"
    edit(package / "shoal" / place / "twofold.py")
    assert python(package, LAST) == "12.0 False"


@pytest.mark.parametrize(("place", "text"), [("lab", TWICE), ("formats", TWICE.replace("shoal.compiled", "..compiled"))])
def test_a_kernel_that_the_cache_would_not_notice_is_refused(package: Path, place: str, text: str) -> None:
    file = package / "shoal" / place / "twofold.py"
    file.write_text(text)
    assert python(package, f"import shoal.{place}.twofold").splitlines()[-1] == (
        f"ImportError: {file}: twice is a kernel, but the cache would not notice an edit of this file; "
        "move it to one of compiled, columns, blocks, algorithms, or to a file of formats "
        "that says `from shoal.compiled import`"
    )
