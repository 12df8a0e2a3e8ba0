from __future__ import annotations

from pathlib import Path

import pytest

from shoal.bench import PARTS, Report, measure
from tests.bench.adult import TINY, write


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def measured(data: Path) -> Report:
    """All parts, with two algorithms."""
    return measure(list(PARTS), algorithms=["fads", "xband"], data=data, workload=TINY)
