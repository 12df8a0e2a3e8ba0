"""The sinks of files and of Delta Lake in an object store: moto's S3."""

from __future__ import annotations

import itertools
import json
from typing import Any

import boto3
import deltalake
import pyarrow as pa
import pyarrow.parquet
import pytest

from connectors.conformance import SinkConformance
from connectors.table_stores import TableStore
from shoal.connectors.connector import Sink
from shoal.connectors.delta_sink import DeltaSink
from shoal.connectors.parquet_sink import ParquetSink
from shoal.errors import ConnectorError

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


def test_a_bucket_that_is_not_there(s3_address: str) -> None:
    sink = ParquetSink(ParquetSink.Settings.model_validate({"path": "s3://nowhere/clean"}))
    with pytest.raises(ConnectorError) as error:
        sink.begin(None, 0)
        sink.write(pa.record_batch({"n": [1]}), 0)
        sink.store_waiting(everything=True)
    sink.close()
    assert str(error.value) == (
        "parquet: folder 's3://nowhere/clean' cannot be written (there is no such bucket); check the address and the rights"
    )
