"""Runs a pipeline file on Spark: the same policy, with Spark's own sources and sinks."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from shoal.column_types import BLURRED_INTERVAL, BLURRED_LABEL, DOUBT, ENDS
from shoal.errors import PolicyError
from shoal.pipeline import PipelineFile
from shoal.policy import Policy
from shoal.spark.anonymize import anonymize
from shoal.spark.configure import PARTITIONS, needed
from shoal.spark.daemon import VARIABLE
from shoal.spark.drain import Drain
from shoal.spark.files import FileSink, FileSource
from shoal.spark.kafka import TopicSink, TopicSource
from shoal.spark.state_file import load, save
from shoal.spark.tables import DeltaTable, IcebergTable, ParquetFolder
from shoal.spark.tables import columns as table_columns

_SOURCES: dict[str, Any] = {"file": FileSource, "kafka": TopicSource}
_SINKS: dict[str, Any] = {
    "file": FileSink, "kafka": TopicSink, "parquet": ParquetFolder, "delta": DeltaTable, "iceberg": IcebergTable,
}  # fmt: skip
_LANES = 8
_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**29), "MALLOC_TOP_PAD_": str(2**26)}
"""These make glibc keep the memory that a worker frees for the next batch; new pages would take a tenth of a query's time."""


def pipe(file: PipelineFile, master: str, started: Callable[[Any], None] = lambda query: None, drain: bool = False) -> None:
    """Run a pipeline on a cluster, or on `local[2]`, until its source ends or it is stopped.

    `started` is called with the running query, if the source does not end. With `drain` what the source has by now is taken
    in, everything leaves, and the pipeline ends.

    Raises
    ------
    PolicyError, InputError
        The file uses a feature that is not available on Spark, or the input cannot be used.
    """
    problems = list(_problems(file))
    if problems:
        raise PolicyError(problems)
    source, sink = _SOURCES[file.source.name](file.source.settings), _SINKS[file.sink.name](file.sink.settings)
    policy = Policy.load(file.policy)
    lanes = policy.lanes if policy.lanes > 1 else _LANES
    key = file.state.key.read()
    spark = session(master, policy.algorithm.name, lanes, sink.session())
    shaped = _lines if sink.is_json else table_columns
    home = str(file.state.dir)
    schema = _schema(spark, f"{home}/schema", key, source)
    records = source.read(spark.read, schema)
    if not source.follows:
        sink.write(shaped(anonymize(records, policy, lanes, key=key)))
        return
    stream = source.read(spark.readStream, schema)
    ending = Drain() if drain and not policy.is_filter else None  # z-anonymity holds nothing back
    late = file.late.allow if file.late and file.late.then == "reject" else None
    found = anonymize(
        stream, policy, lanes, sample=records, split_tree=f"{home}/split_tree", key=key, observation="shoal", drain=ending,
        late=late,
    )  # fmt: skip
    writer = sink.writer(shaped(found)).option("checkpointLocation", f"{home}/checkpoint")
    if ending:
        ending.run(writer.trigger(availableNow=True), started)
        return
    trigger = {"availableNow": True} if drain else {"processingTime": f"{file.state.checkpoint} seconds"}
    query = writer.trigger(**trigger).start()
    started(query)
    query.awaitTermination()


def session(master: str, algorithm: str, lanes: int, more: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """A session with encryption turned on, and workers that start with shoal already loaded."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in {VARIABLE: algorithm, **_MEMORY}.items():
        os.environ.setdefault(name, value)
    builder = SparkSession.builder.appName("shoal").master(master)
    for name, value in {**settings(master, algorithm, lanes), **more}.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def settings(master: str, algorithm: str, lanes: int) -> dict[str, str]:
    """
    >>> sorted(set(settings("spark://host:7077", "tide", 8)) - set(settings("local[2]", "tide", 8)))
    ['spark.authenticate', 'spark.network.crypto.enabled']
    >>> [settings(master, "tide", 8)[PARTITIONS] for master in ("local", "local[2]", "local[16]", "spark://host:7077")]
    ['1', '2', '8', '8']
    """
    chosen = {
        "spark.io.encryption.enabled": "true",
        "spark.python.daemon.module": "shoal.spark.daemon",
        **{f"spark.executorEnv.{name}": value for name, value in {VARIABLE: algorithm, **_MEMORY}.items()},
        **needed(lanes),
        PARTITIONS: str(min(lanes, _cores(master))),
        "spark.ui.showConsoleProgress": "false",
    }
    if cache := os.environ.get("SHOAL_CACHE"):
        chosen["spark.executorEnv.SHOAL_CACHE"] = cache
    if not master.startswith("local"):  # a local session is one process
        chosen |= {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
    return chosen


def _cores(master: str) -> float:
    """The cores of a local session, where more tasks than cores only cost time; of a cluster they are not known."""
    if not master.startswith("local"):
        return math.inf
    number = re.match(r"local\[(\d+)", master)
    return int(number[1]) if number else (os.cpu_count() or 1) if master.startswith("local[*") else 1


def _problems(file: PipelineFile) -> Iterator[str]:
    for place, chosen, known in (("source", file.source, _SOURCES), ("sink", file.sink, _SINKS)):
        if chosen.name in known:
            yield from known[chosen.name](chosen.settings).problems()
        else:
            yield f"{place}.{chosen.name}: is not supported on Spark; use {', '.join(known)}, or call shoal.spark.anonymize"
    for name in ("bags", "dead_letters", "trace", "telemetry"):
        if getattr(file, name) is not None:
            yield f"{name}: is not supported on Spark; remove it"


def _lines(found: DataFrame) -> DataFrame:
    """Values as they are in JSON lines: an interval is a list, and the list of what is in doubt ends with null."""
    return found.select(*(_line(F.col(f"`{field.name}`"), field.dataType).alias(field.name) for field in found.schema.fields))


def _line(column: Column, kind: DataType) -> Column:
    names = tuple(kind.names) if isinstance(kind, StructType) else ()
    if names == ENDS:
        return F.when(column.isNotNull(), F.array(*(column[end] for end in ENDS)))
    if names == BLURRED_INTERVAL:
        ends = [column[end] for end in ENDS]
        return F.when(column[DOUBT], F.array(*ends, F.lit(None))).when(column.isNotNull(), F.array(*ends))
    if names == BLURRED_LABEL:
        label = column["value"]
        return F.when(column[DOUBT], F.to_variant_object(F.array(label, F.lit(None)))).otherwise(label.cast("variant"))
    return column


def _schema(spark: SparkSession, folder: str, key: str, source: Any) -> StructType:
    """The types of the source's columns. They are found once and saved, so that a restarted query has the same types."""
    found = load(spark, folder, key)
    if found is None:
        found = source.schema(spark).json().encode()
        save(spark, folder, key, found)
    return StructType.fromJson(json.loads(found))
