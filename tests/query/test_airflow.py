"""The DAG of deploy/airflow, run by Airflow, which has an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.docs.base import ROOT

from .test_bounds import POLICY, rows

AIRFLOW = Path(os.environ.get("SHOAL_AIRFLOW", ROOT / ".venv-airflow/bin/airflow"))
DAY = "2026-01-02"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not AIRFLOW.exists(), reason="Airflow has no environment; make airflow, or name it in SHOAL_AIRFLOW"),
]


def dag(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    settings = {
        "AIRFLOW_HOME": str(folder / "home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "SHOAL_FOLDER": str(folder),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    return subprocess.run([AIRFLOW, *command], env={**own, **settings}, capture_output=True, text=True, timeout=300)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for name in ("draft", "clean") for path in (folder / name).glob("*")}


def test_readers_see_only_what_the_audit_let_through(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    shutil.copytree(ROOT / "deploy/airflow", tmp_path / "dags")
    pq.write_table(pa.Table.from_pylist(rows(3, 300)), tmp_path / f"raw/{DAY}.parquet")
    migrated = dag(tmp_path, "db", "migrate")
    assert migrated.returncode == 0, migrated.stderr
    policy = POLICY.format(nulls="blurred")
    (tmp_path / "policy.yaml").write_text(policy.replace("privacy: {", "privacy: {accept: {below k: 1%}, "))
    dag(tmp_path, "dags", "test", "anonymize", DAY)
    assert files(tmp_path) == {f"draft/{DAY}.parquet", f"draft/{DAY}.trace.jsonl"}
    (tmp_path / "policy.yaml").write_text(policy)
    done = dag(tmp_path, "dags", "test", "anonymize", DAY)
    assert done.returncode == 0, done.stdout
    assert files(tmp_path) == {f"clean/{DAY}.parquet"}
