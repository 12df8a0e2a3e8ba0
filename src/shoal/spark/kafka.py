"""Kafka topics as the source and the sink of a pipeline on Spark. Spark's own connector must be installed for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from shoal.errors import InputError

PACKAGE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
"""The Maven name of the connector."""

SOME = 10_000
"""How many messages are read to find the types of the columns."""


class TopicSource:
    """A topic that is followed, from its beginning."""

    follows = True

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    def problems(self) -> Iterator[str]:
        yield from _problems("source", self._settings)

    def options(self) -> dict[str, str]:
        """The options of the connector. The checkpoint stores the offsets, so the group is only a prefix of names."""
        return {
            "kafka.bootstrap.servers": self._settings.brokers,
            "subscribe": self._settings.topic,
            "startingOffsets": "earliest",
            "kafka.isolation.level": "read_committed",
            "groupIdPrefix": self._settings.group,
        }

    def schema(self, spark: SparkSession) -> StructType:
        """The types of the columns, from the first messages.

        Raises
        ------
        InputError
            The topic has no messages, or the connector is not installed.
        """
        _check_connector(spark, "source")
        messages = spark.read.format("kafka").options(**self.options()).load()
        found = columns(lines(messages.limit(SOME)))
        if not found.fields:
            raise InputError(f"kafka: topic {self._settings.topic!r} has no records to learn the columns from; send some first")
        return found

    def read(self, reader: Any, schema: StructType) -> DataFrame:
        return records(reader.format("kafka").options(**self.options()).load(), schema)


class TopicSink:
    """A topic that gets every tuple at least once, one JSON object per message."""

    is_json = True

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    def problems(self) -> Iterator[str]:
        yield from _problems("sink", self._settings)

    def options(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self._settings.brokers, "topic": self._settings.topic}

    def session(self) -> Mapping[str, str]:
        """What the session needs for it."""
        return {}

    def write(self, found: DataFrame) -> None:
        _check_connector(found.sparkSession, "sink")
        messages(found).write.format("kafka").options(**self.options()).save()

    def writer(self, found: DataFrame) -> Any:
        _check_connector(found.sparkSession, "sink")
        return messages(found).writeStream.format("kafka").options(**self.options())


def lines(messages: DataFrame) -> DataFrame:
    """The JSON lines of messages, one row per line; a message may have several lines."""
    each = F.explode(F.split(F.col("value").cast("string"), "\n")).alias("line")
    return messages.select(each).where(F.trim("line") != "")


def columns(lines: DataFrame) -> StructType:
    """The types of the columns of JSON lines; lines that are not JSON are skipped."""
    reader = lines.sparkSession.read.option("mode", "DROPMALFORMED")
    return reader.json(lines.rdd.map(lambda row: row[0])).schema


def records(messages: DataFrame, schema: StructType) -> DataFrame:
    return lines(messages).select(F.from_json("line", schema).alias("record")).select("record.*")


def messages(found: DataFrame) -> DataFrame:
    columns = [F.col(f"`{name}`") for name in found.columns]
    return found.select(F.to_json(F.struct(*columns), {"ignoreNullFields": "false"}).alias("value"))


def _problems(place: str, settings: Any) -> Iterator[str]:
    if settings.format != "json":
        yield f"{place}.kafka.format: is not supported on Spark; use json"
    for name in ("timestamp", "headers", "envelope", "key"):
        if getattr(settings, name, None):
            yield f"{place}.kafka.{name}: is not supported on Spark; remove it"
    if settings.options:
        yield f"{place}.kafka.options: are of another client than Spark's; call shoal.spark.anonymize with Spark's own options"


def _check_connector(spark: SparkSession, place: str) -> None:
    """Check that Spark has its connector for Kafka.

    Raises
    ------
    InputError
        The connector is not installed.
    """
    try:
        spark.read.format("kafka").option("kafka.bootstrap.servers", "localhost").option("subscribe", "any").load()
    except AnalysisException:
        remedy = f"set spark.jars.packages to {PACKAGE} in spark-defaults.conf"
        raise InputError(f"{place}.kafka: Spark's connector for Kafka is not there; {remedy}") from None
