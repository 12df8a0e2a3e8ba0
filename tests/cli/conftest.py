from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from cli.base import POLICY, Shoal, record, shoal_run, write
from shoal.anonymizer import compile_kernels


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    """The kernels lie in the cache, so that no command says that it compiles."""
    compile_kernels("fads")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a policy and a hundred records."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    write(tmp_path / "people.jsonl", [record(i) for i in range(100)])
    return tmp_path


@pytest.fixture
def shoal(folder: Path) -> Shoal:
    return partial(shoal_run, cwd=folder)
