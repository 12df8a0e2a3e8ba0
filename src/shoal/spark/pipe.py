"""A pipeline's file on Spark: the same policy between a source and a sink that Spark has itself."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from shoal.errors import PolicyError
from shoal.formats import kind
from shoal.pipeline.pipeline_file import Chosen, PipelineFile
from shoal.policy import Policy
from shoal.spark.anonymize import ROCKSDB, anonymize
from shoal.spark.daemon import VARIABLE
from shoal.spark.keeping import keep, kept

_FORMATS = {"jsonl": "json", "csv": "csv", "parquet": "parquet"}
_LINES = {"ignoreNullFields": "false"}
_LANES = 8


def pipe(file: PipelineFile, master: str, started: Callable[[Any], None] = lambda query: None) -> None:
    """Run a pipeline on a cluster, or on `local[2]`, until its source ends or it is stopped.

    `started` is given the query of a source that does not end.

    Raises:
        PolicyError: the file asks for what Spark has not.
    """
    problems = list(_problems(file))
    if problems:
        raise PolicyError(problems)
    policy = Policy.load(file.policy)
    lanes = policy.lanes if policy.lanes > 1 else _LANES
    key = file.state.key.read()
    spark = session(master, policy.algorithm.name, lanes)
    home, path, form = str(file.state.dir), _path(file.source), _FORMATS[kind(_path(file.source))]
    schema = _schema(spark, f"{home}/schema", key, form, path)
    records = _read(spark.read, form, schema, path)
    if not _follows(file.source):
        found = anonymize(records, policy, lanes, key=key)
        _lines(found).write.mode("error").options(**_LINES).json(_path(file.sink))
        return
    stream = _read(spark.readStream, form, schema, path)
    found = anonymize(stream, policy, lanes, sample=records, cells=f"{home}/cells", key=key)
    writer = _lines(found).writeStream.format("json").options(**_LINES, checkpointLocation=f"{home}/checkpoint")
    query = writer.trigger(processingTime=f"{file.state.checkpoint} seconds").start(_path(file.sink))
    started(query)
    query.awaitTermination()


def session(master: str, algorithm: str, lanes: int) -> SparkSession:
    """A session with encryption turned on, and workers that start warm."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault(VARIABLE, algorithm)
    builder = SparkSession.builder.appName("shoal").master(master)
    for name, value in settings(master, algorithm, lanes).items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def settings(master: str, algorithm: str, lanes: int) -> dict[str, str]:
    """
    >>> sorted(set(settings("spark://host:7077", "tide", 8)) - set(settings("local[2]", "tide", 8)))
    ['spark.authenticate', 'spark.network.crypto.enabled']
    """
    chosen = {
        "spark.io.encryption.enabled": "true",
        "spark.python.daemon.module": "shoal.spark.daemon",
        f"spark.executorEnv.{VARIABLE}": algorithm,
        "spark.sql.shuffle.partitions": str(lanes),
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
    }
    if cache := os.environ.get("SHOAL_CACHE"):
        chosen["spark.executorEnv.SHOAL_CACHE"] = cache
    if not master.startswith("local"):  # there all is one process
        chosen |= {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
    return chosen


def _problems(file: PipelineFile) -> Iterator[str]:
    for place, chosen in (("source", file.source), ("sink", file.sink)):
        if chosen.name != "file":
            yield f"{place}.{chosen.name}: only file is read and written by --on; for others call shoal.spark.anonymize"
        elif kind(_path(chosen)) not in (_FORMATS if place == "source" else ("jsonl",)):
            known = "use .jsonl, .csv or .parquet" if place == "source" else "use .jsonl"
            yield f"{place}.file.path: is a format that is not there on Spark; {known}"
    for name in ("late", "dead_letters", "trace", "telemetry"):
        if getattr(file, name) is not None:
            yield f"{name}: is not there on Spark; remove it"


def _lines(found: DataFrame) -> DataFrame:
    """Intervals as pairs, as they are in JSON lines."""
    shown = []
    for field in found.schema.fields:
        column = F.col(f"`{field.name}`")
        if isinstance(field.dataType, StructType) and field.dataType.names == ["lo", "hi"]:
            column = F.when(column.isNotNull(), F.array(column["lo"], column["hi"])).alias(field.name)
        shown.append(column)
    return found.select(*shown)


def _path(chosen: Chosen) -> str:
    settings: Any = chosen.settings
    return str(settings.path)


def _follows(chosen: Chosen) -> bool:
    settings: Any = chosen.settings
    return bool(settings.follow)


def _read(reader: Any, form: str, schema: StructType, path: str) -> DataFrame:
    options = {"header": "true"} if form == "csv" else {}
    return reader.format(form).options(**options).schema(schema).load(path)


def _schema(spark: SparkSession, folder: str, key: str, form: str, path: str) -> StructType:
    """The types of the source's columns, found out once and kept, so that the query goes on with the same."""
    found = kept(spark, folder, key)
    if found is None:
        options = {"header": "true"} if form == "csv" else {}
        found = spark.read.format(form).options(**options).load(path).schema.json().encode()
        keep(spark, folder, key, found)
    return StructType.fromJson(json.loads(found))
