"""What `shoal audit` needs to judge a query: its input, its output and its trace, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from shoal.anonymizer import TRACE
from shoal.columns import Rejections, event_times
from shoal.errors import InputError
from shoal.policy import Policy
from shoal.spark.given import given_policy, named, named_columns, with_dots
from shoal.spark.lane import ROW
from shoal.spark.types import digest

_TIME = "shoal_time"
_TRACE = ("row", "how", "cluster", "arrived", "released")


class Evidence(NamedTuple):
    """DataFrames of one partition each, as the files that `shoal run` reads and writes. All but `output` are private."""

    input: DataFrame
    output: DataFrame
    trace: DataFrame


def evidence(df: DataFrame, traced: DataFrame, policy: Policy | Mapping[str, Any] | str | PathLike[str]) -> Evidence:
    """Put what a query read and what left it into the order in which `shoal audit` reads it.

    Parameters
    ----------
    df
        All records that the query has read, as a batch DataFrame.
    traced
        All that left, with the column `shoal_trace`, of `anonymize(…, trace=True)`. Give what was written: a DataFrame that is
        computed again for each of the three takes its time.
    policy
        A policy, its YAML text, or the mapping or the path of one.
    """
    policy = given_policy(policy)
    if TRACE not in traced.columns:
        raise InputError(f"traced: has no column {TRACE}; make it with anonymize(…, trace=True)")
    names = named(df, policy)
    safe = df.select(*named_columns(df, policy), digest(df, policy))
    seen = safe.mapInArrow(TimeStep(policy).__call__, StructType([*safe.schema.fields]).add(_TIME, "double"))
    seen = seen.withColumn("copy", F.row_number().over(Window.partitionBy(ROW).orderBy(ROW)))
    left = traced.select(f"{TRACE}.*").withColumnRenamed("record", ROW)
    copies = Window.partitionBy(ROW).orderBy("arrived", "released", "lane", "place")
    left = left.withColumn("copy", F.row_number().over(copies))
    arrival = Window.orderBy(F.col("arrived").asc_nulls_last(), F.desc(_TIME), "lane", ROW, "copy")
    both = seen.join(left, [ROW, "copy"], "left").withColumn("row", F.row_number().over(arrival) - 1)
    columns = [F.col(f"`{column}`").alias(name) for column, name in zip(safe.columns, names, strict=False)]
    released = [F.col(f"{TRACE}.{name}") for name in ("released", "lane", "place")]
    shown = traced.where(F.col(f"{TRACE}.how") != "suppressed") if policy.suppressed == "drop" else traced
    return Evidence(
        both.coalesce(1).sortWithinPartitions("row").select(*columns),
        shown.coalesce(1).sortWithinPartitions(*released).drop(TRACE),
        both.where("how IS NOT NULL").coalesce(1).sortWithinPartitions("released", "lane", "place").select(*_TRACE),
    )


class TimeStep:
    """Adds the times of the records in seconds; null where there is none that can be read."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            records = batch.rename_columns(with_dots(batch.schema.names))
            seconds = event_times(records, self._policy, Rejections(len(batch)))
            yield batch.append_column(_TIME, pa.array(seconds, from_pandas=True))
