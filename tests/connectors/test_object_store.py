"""The sinks of files and of Delta Lake in an object store: moto's S3."""

from __future__ import annotations

import itertools
import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import deltalake
import fsspec
import pyarrow as pa
import pyarrow.parquet
import pytest

import shoal
from connectors.conformance import SinkConformance
from connectors.table_stores import IcebergStore, TableStore
from shoal.audit import audit
from shoal.connectors.connector import Sink
from shoal.connectors.delta_sink import DeltaSink
from shoal.connectors.parquet_sink import ParquetSink
from shoal.errors import ConnectorError, InputError, RejectedError
from shoal.storage import fetched, opened_store

pytestmark = pytest.mark.slow
_names = map("t{}".format, itertools.count())


class ParquetS3(TableStore):
    def __init__(self, address: str) -> None:
        self.name = next(_names)
        self.address = f"{address}/{self.name}"

    def sink(self) -> Sink:
        return self.opened(ParquetSink, path=self.address)

    def rows(self) -> list[dict[str, Any]]:
        bucket = boto3.resource("s3").Bucket("lake")
        objects = {each.key: each.get()["Body"].read() for each in bucket.objects.filter(Prefix=f"{self.name}/")}
        listed = [json.loads(text)["files"] for key, text in sorted(objects.items()) if key.endswith(".json")]
        files = [f"{self.name}/{name}" for entry in listed for name in entry]
        assert sorted(files) == sorted(key for key in objects if key.endswith(".parquet"))
        tables = [pyarrow.parquet.read_table(pa.BufferReader(objects[key])) for key in files]
        return pa.concat_tables(tables).sort_by("nr").to_pylist()


class DeltaS3(TableStore):
    def __init__(self, address: str) -> None:
        self.address = f"{address}/{next(_names)}"

    def sink(self) -> Sink:
        return self.opened(DeltaSink, path=self.address)

    def rows(self) -> list[dict[str, Any]]:
        return deltalake.DeltaTable(self.address).to_pyarrow_table().sort_by("nr").to_pylist()


class TestParquet(SinkConformance):
    @pytest.fixture
    def store(self, s3_address: str) -> TableStore:
        return ParquetS3(s3_address)


class TestDelta(SinkConformance):
    @pytest.fixture
    def store(self, s3_address: str) -> TableStore:
        return DeltaS3(s3_address)


class TestIceberg(SinkConformance):
    @pytest.fixture
    def store(self, s3_address: str, tmp_path: Path) -> TableStore:
        store = IcebergStore(tmp_path)
        store.catalog |= {"warehouse": f"{s3_address}/{next(_names)}", "s3.endpoint": os.environ["AWS_ENDPOINT_URL"]}
        return store


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (ParquetSink, "parquet: folder {} cannot be written (there is no such bucket); check the address and the rights"),
        (
            DeltaSink,
            "delta: table {} cannot be read or written (there is no such bucket); check the address, the rights and the "
            "options",
        ),
    ],
)
def test_a_bucket_that_is_not_there(s3_address: str, kind: Any, said: str) -> None:
    sink = kind(kind.Settings.model_validate({"path": "s3://nowhere/clean"}))
    with pytest.raises(ConnectorError) as error:
        sink.probe(None, 0)
    assert str(error.value) == said.format("'s3://nowhere/clean'")


def test_a_run_and_its_audit(s3_address: str, tmp_path: Path) -> None:
    """Input, output and trace are in the store; nothing stays in a temporary folder."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "person: pid\nattributes: {age: {quasi: numeric, range: [0, 100]}}\nprivacy: {k: 3}\nwindow: {count: 20}\n"
        "algorithm: {name: fads}\n"
    )
    rows = "".join(f'{{"pid": {i}, "age": {i * 7 % 100}}}\n' for i in range(200))
    boto3.client("s3").put_object(Bucket="lake", Key="in/people.jsonl", Body=rows.encode())
    paths = [f"{s3_address}/{name}" for name in ("in/people.jsonl", "out/people.parquet", "out/trace.jsonl")]
    stats = shoal.run(policy, *paths[:2], trace=paths[2])
    assert stats.received == 200
    with fetched(*paths) as (given, published, trace):
        assert audit(policy, given, published, trace=trace).held
        folder = Path(given).parents[1]
    assert not folder.exists()
    with pytest.raises(InputError) as error:
        shoal.run(policy, f"{s3_address}/none.jsonl", paths[1])
    assert str(error.value) == ("s3://lake/none.jsonl: cannot be read (it is not there); check the address and the rights")


def test_an_address_that_fsspec_opens(tmp_path: Path) -> None:
    """Its memory is a store that pyarrow does not know."""
    lake: Any = fsspec.filesystem("memory")
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "person: pid\nattributes: {age: {quasi: numeric, range: [0, 100]}}\nprivacy: {k: 3}\nwindow: {count: 20}\n"
        "algorithm: {name: fads}\n"
    )
    lake.pipe("/in/people.jsonl", "".join(f'{{"pid": {i}, "age": {i * 7 % 100}}}\n' for i in range(200)).encode())
    paths = [f"memory://{name}" for name in ("in/people.jsonl", "out/people.parquet", "out/trace.jsonl")]
    assert shoal.run(policy, *paths[:2], trace=paths[2]).received == 200
    with fetched(*paths) as (given, published, trace):
        assert audit(policy, given, published, trace=trace).held
    sink = ParquetSink(
        ParquetSink.Settings.model_validate({"path": "memory://lake/people", "number": "nr", "roll": {"rows": 1}})
    )
    sink.begin(None, 0)
    sink.caught_up(0)
    sink.write(pa.record_batch({"n": [7, 8]}), 0)
    sink.close()
    (name,) = [path for path in lake.find("/lake/people") if path.endswith(".parquet")]
    assert pyarrow.parquet.read_table(pa.BufferReader(lake.cat(name))).to_pylist() == [{"nr": 0, "n": 7}, {"nr": 1, "n": 8}]


def test_a_draft_is_stored_as_one(s3_address: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "person: pid\nattributes: {age: {quasi: numeric, range: [0, 10]}}\nprivacy: {k: 2}\nwindow: {count: 4}\n"
        "algorithm: {name: fads}\n"
    )
    rows = "".join(f'{{"pid": {i}, "age": {i}}}\n' for i in range(40))
    boto3.client("s3").put_object(Bucket="lake", Key="in/odd.jsonl", Body=rows.encode())
    with pytest.raises(RejectedError) as error:
        shoal.run(policy, f"{s3_address}/in/odd.jsonl", f"{s3_address}/out/odd.csv", max_rejected=0.1)
    assert error.value.draft == "s3://lake/out/odd.draft.csv"
    assert str(error.value).startswith("s3://lake/in/odd.jsonl: 72")
    assert str(error.value).endswith("the output is kept as a draft, s3://lake/out/odd.draft.csv")
    found = boto3.client("s3").list_objects_v2(Bucket="lake", Prefix="out/odd")["Contents"]
    assert [each["Key"] for each in found] == ["out/odd.draft.csv"]


def test_an_address_of_google_is_tried_for_a_bounded_time() -> None:
    system, path = opened_store("gs://lake/people.parquet")
    assert (type(system).__name__, path) == ("GcsFileSystem", "lake/people.parquet")
    _, (settings,) = system.__reduce__()
    assert settings["retry_time_limit"] == timedelta(seconds=20)
