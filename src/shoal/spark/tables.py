"""Parquet files, Delta Lake and Apache Iceberg as sinks of a pipeline on Spark: a micro-batch is a commit, exactly once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StructField,
    StructType,
)

from shoal.column_types import ENDS
from shoal.connectors import Rolled, with_secrets
from shoal.errors import InputError

_SPARK = ".".join(pyspark.__version__.split(".")[:2])
_OWN_CATALOG = "spark.sql.catalog"
_WHOLE = (ByteType, ShortType, IntegerType)


class ParquetFolder:
    """A folder of Parquet files; the log of Spark in it names those that count."""

    name = "parquet"
    is_json = False

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    def problems(self) -> Iterator[str]:
        yield from _problems(self.name, self._settings)
        if self._settings.partition is not None:
            yield "sink.parquet.partition: is not supported on Spark; remove it"

    def session(self) -> Mapping[str, str]:
        """What the session needs for it."""
        return {}

    def write(self, found: DataFrame) -> None:
        found.write.mode("error").parquet(str(self._settings.path))

    def writer(self, found: DataFrame) -> Any:
        """The writer of a streaming query."""
        return found.writeStream.format("parquet").option("path", str(self._settings.path))


class DeltaTable:
    """A Delta table, whose log tells which micro-batches of which query it has."""

    name = "delta"
    is_json = False
    package = "io.delta:delta-spark_2.13:4.0.1" if _SPARK == "4.0" else f"io.delta:delta-spark_{_SPARK}_2.13"

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    def problems(self) -> Iterator[str]:
        yield from _problems(self.name, self._settings)
        if self._settings.options:
            yield "sink.delta.options: are of another client than Spark's; set what Spark needs in spark-defaults.conf"

    def session(self) -> Mapping[str, str]:
        return {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            f"{_OWN_CATALOG}.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }

    def write(self, found: DataFrame) -> None:
        _check(found.sparkSession, self.name, self.package)
        found.write.format("delta").mode("error").partitionBy(*self._settings.partition).save(str(self._settings.path))

    def writer(self, found: DataFrame) -> Any:
        _check(found.sparkSession, self.name, self.package)
        writer = found.writeStream.format("delta").option("path", str(self._settings.path))
        return writer.partitionBy(*self._settings.partition) if self._settings.partition else writer


class IcebergTable:
    """An Iceberg table, whose snapshots tell which micro-batches of which query it has."""

    name = "iceberg"
    is_json = False
    package = f"org.apache.iceberg:iceberg-spark-runtime-{_SPARK}_2.13"

    def __init__(self, settings: Any) -> None:
        self._settings = settings
        self._catalog = str(settings.catalog.get("name", "shoal"))

    def problems(self) -> Iterator[str]:
        yield from _problems(self.name, self._settings)
        if self._settings.catalog.get("type") == "sql":
            yield "sink.iceberg.catalog.type: sql is pyiceberg's; on Spark use rest, hive, glue, jdbc or hadoop"

    def session(self) -> Mapping[str, str]:
        own = f"{_OWN_CATALOG}.{self._catalog}"
        given = {key: value for key, value in with_secrets(self._settings.catalog).items() if key != "name"}
        return {own: "org.apache.iceberg.spark.SparkCatalog", **{f"{own}.{key}": str(value) for key, value in given.items()}}

    @property
    def _table(self) -> str:
        return ".".join(f"`{part}`" for part in (self._catalog, *self._settings.table.split(".")))

    def write(self, found: DataFrame) -> None:
        _check(found.sparkSession, self.name, self.package)
        self._make_namespace(found.sparkSession)
        found.writeTo(self._table).create()

    def writer(self, found: DataFrame) -> Any:
        spark = found.sparkSession
        _check(spark, self.name, self.package)
        self._make_namespace(spark)
        if not spark.catalog.tableExists(self._table):
            spark.createDataFrame([], found.schema).writeTo(self._table).create()
        return found.writeStream.format("iceberg").option("path", f"{self._catalog}.{self._settings.table}")

    def _make_namespace(self, spark: SparkSession) -> None:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {self._table.rsplit('.', 1)[0]}")


def columns(found: DataFrame) -> DataFrame:
    """Types that stay the same for as long as a table lives: ends of intervals are floats, other whole numbers 64 bits wide."""
    return found.select(*(F.col(f"`{field.name}`").cast(kept_type(field.dataType)) for field in found.schema.fields))


def kept_type(kind: DataType) -> DataType:
    """
    >>> kept_type(StructType([StructField("lo", LongType()), StructField("hi", LongType())])).simpleString()
    'struct<lo:double,hi:double>'
    >>> kept_type(ShortType()).simpleString(), kept_type(FloatType()).simpleString()
    ('bigint', 'double')
    """
    if isinstance(kind, StructType):
        ends = ENDS if tuple(kind.names)[:2] == ENDS else ()
        return StructType([
            StructField(field.name, DoubleType() if field.name in ends else kept_type(field.dataType)) for field in kind.fields
        ])  # fmt: skip
    return LongType() if isinstance(kind, _WHOLE) else DoubleType() if isinstance(kind, FloatType) else kind


def _problems(name: str, settings: Any) -> Iterator[str]:
    if settings.roll != Rolled.model_fields["roll"].default:
        yield f"sink.{name}.roll: is not supported on Spark: a commit is a micro-batch; remove it, and set state.checkpoint"
    if settings.number is not None:
        yield f"sink.{name}.number: is not supported on Spark; remove it"


def _check(spark: SparkSession, name: str, package: str) -> None:
    """Check that Spark has its connector for the table.

    Raises
    ------
    InputError
        The connector is not installed.
    """
    try:
        spark.read.format(name).load("/a/table/that/is/not/there")
    except (AnalysisException, Py4JJavaError) as error:  # Spark 4.3 raises the second, unchanged
        if "DATA_SOURCE_NOT_FOUND" in str(error):
            remedy = f"set spark.jars.packages to {package} in spark-defaults.conf"
            raise InputError(f"sink.{name}: Spark's connector for it is not there; {remedy}") from None
