"""What a user gives: policies in any form, samples, names of metrics, sessions; and the first lines of the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

import yaml
from pyspark.sql import SparkSession

from shoal import InputError, Policy
from shoal.spark import anonymize, audit, configure, evidence, rejected
from shoal.spark.given import given_policy
from spark.stream import KEY, POLICY, SCHEMA, write

TEXT = POLICY.format(window="{count: 100}")
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
APART = """
from pyspark.sql import SparkSession
from shoal.spark import anonymize
spark = SparkSession.builder.remote("local[1]").getOrCreate()
try:
    anonymize(spark.range(3), "policy.yaml")
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_policy_is_recognised_in_any_form(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(TEXT)
    wanted = Policy.parse(TEXT)
    for given in (wanted, TEXT, yaml.safe_load(TEXT), file, str(file)):
        assert given_policy(given) == wanted


def test_two_results_can_be_put_together(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0, 200)
    records = spark.read.schema(SCHEMA).json(str(tmp_path / "in"))
    assert anonymize(records, TEXT, lanes=1).union(anonymize(records, TEXT, lanes=1)).count() == 400


def test_a_sample_without_records_is_refused(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0, 10)
    stream = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
    with pytest.raises(InputError) as raised:
        anonymize(stream, TEXT, sample=spark.createDataFrame([], SCHEMA), split_tree=f"{tmp_path}/tree", key=KEY)
    text = "sample: has no record that the policy accepts, so no split tree can be learned; give some thousand"
    assert str(raised.value) == text


def test_a_session_gets_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    settings: dict[str, str] = {}

    class Builder:
        def config(self, name: str, value: str) -> Builder:
            settings[name] = value
            return self

    builder: Any = Builder()
    assert configure(builder, lanes=5) is builder
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert settings == {
        "spark.sql.shuffle.partitions": "5",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.io.encryption.enabled": "true",
    }
    assert isinstance(configure(SparkSession.builder), SparkSession.Builder)


def apart(program: str, folder: Path) -> str:
    """What a program prints in a process of its own."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK", "SHOAL"))}
    told = {**known, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=told, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_first_lines_of_the_page_run_in_a_fresh_session(spark: Any, tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    assert re.search(r"\|\s*age\|\s*ill\|", apart(found[1], tmp_path))


CONNECT = "df: is a DataFrame of Spark Connect, which shoal does not support; use a session with a master"


def test_spark_connect_is_refused_by_name(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("grpc_status", reason="Spark Connect is not installed; pip install 'pyspark[connect]'")
    (tmp_path / "policy.yaml").write_text(TEXT)
    assert f"InputError {CONNECT}" in apart(APART, tmp_path)


@pytest.mark.parametrize(
    "call", [anonymize, rejected, lambda df, policy: audit(df, df, policy), lambda df, policy: evidence(df, df, policy)]
)
def test_a_data_frame_of_spark_connect_is_refused(call: Any) -> None:
    remote = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe", "select": None, "columns": ()})
    with pytest.raises(InputError) as raised:
        call(remote(), TEXT)
    assert str(raised.value) == CONNECT
