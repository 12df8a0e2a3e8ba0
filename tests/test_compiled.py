from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

KERNELS = """
from shoal.compiled import inlined, kernel

@inlined
def twice(x):
    return 2 * x

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
    (tmp_path / "kernels.py").write_text(KERNELS)
    return tmp_path


def python(folder: Path, line: str) -> str:
    """What a new process prints."""
    script = f"import numpy as np\nfrom kernels import both, first, last\n{line}"
    given = os.environ | {"SHOAL_CACHE": str(folder / "cache"), "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, env=given, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr


LAST = "print(last(np.array([1.0, 4.0])), dict(last.stats.cache_hits) != {})"


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


def test_no_kernel_draws_in_another(folder: Path) -> None:
    python(folder, f"{LAST}; first(np.array([1.0]))")
    assert "unfit for linking" in python(folder, "print(both(np.array([1.0, 4.0])))")
