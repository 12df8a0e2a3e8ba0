from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiments.sample import write


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data"))
