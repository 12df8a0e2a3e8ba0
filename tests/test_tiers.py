"""Which process runs which test (conftest.py)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHARING = "tests/model/test_tuner.py", "tests/connectors/test_kafka.py", "tests/connectors/test_registry.py"
NAMED = """
import os
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(12))
def test_one(number):
    with open({written!r}, "a") as file:
        print({name!r}, os.environ["PYTEST_XDIST_WORKER"], file=file)
"""


def test_files_that_share_a_process_are_there(pytestconfig: pytest.Config) -> None:
    conftest = next(found for found in pytestconfig.pluginmanager.get_plugins() if hasattr(found, "TOGETHER"))
    assert [path for path in conftest.TOGETHER if not (ROOT / path).is_file()] == []


@pytest.mark.slow
def test_xdist_keeps_them_in_one_process(tmp_path: Path) -> None:
    written = tmp_path / "written"
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n broker\n browser\n long\n")
    for path in SHARING:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(NAMED.format(written=str(written), name=path))
    run = [sys.executable, "-m", "pytest", "-n", "2", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis", "tests"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(run, cwd=tmp_path, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {tuple(line.split()) for line in written.read_text().splitlines()}
    tuner, kafka, registry = ([worker for name, worker in sorted(found) if name == path] for path in SHARING)
    assert (len(tuner), len(kafka)) == (1, 1)
    assert kafka == registry
