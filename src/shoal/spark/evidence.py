"""What `shoal audit` needs to judge a query: its input, its output and its trace, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from shoal.anonymizer import TRACE
from shoal.columns import Rejections, event_times
from shoal.errors import InputError
from shoal.policy import Policy
from shoal.spark.given import given_policy, named, named_columns, refuse_connect, with_dots
from shoal.spark.lane import ROW
from shoal.spark.types import digest

TIME, COPY, SEEN = "shoal_time", "shoal_copy", "shoal_seen"
ORDER = ("released", "lane", "place")
"""Tuples in the order in which they left."""

_NO_ROW = 2**52  # the number of a record that is not in the input
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
    if policy.releases:
        raise InputError("releases: a trace of Spark does not show which records the budget held back; judge without a trace")
    left = traced_lines(traced)
    both, names = paired(df, left, policy)
    columns = [F.col(f"`{column}`").alias(name) for column, name in names]
    arrival = Window.partitionBy(SEEN).orderBy(F.col("arrived").asc_nulls_last(), F.desc(TIME), "lane", ROW, COPY)
    row = F.when(F.col(SEEN), F.row_number().over(arrival) - 1).otherwise(_NO_ROW)
    both = both.withColumn("row", row)
    released = [F.col(f"{TRACE}.{name}") for name in ORDER]
    shown = traced.where(F.col(f"{TRACE}.how") != "suppressed") if policy.suppressed == "drop" else traced
    return Evidence(
        both.where(SEEN).coalesce(1).sortWithinPartitions("row").select(*columns),
        shown.coalesce(1).sortWithinPartitions(*released).drop(TRACE),
        both.where("how IS NOT NULL").coalesce(1).sortWithinPartitions(*ORDER).select(*_TRACE),
    )


def traced_lines(traced: DataFrame, *columns: Column) -> DataFrame:
    """The lines of the trace, with the digest of the record of each, and with these columns.

    Raises
    ------
    InputError
        There is no trace.
    """
    refuse_connect(traced)
    if TRACE not in traced.columns:
        raise InputError(f"traced: has no column {TRACE}; make it with anonymize(…, trace=True)")
    left = traced.select(f"{TRACE}.*", *columns).withColumnRenamed("record", ROW)
    return left.withColumn(COPY, F.row_number().over(Window.partitionBy(ROW).orderBy("arrived", "released", "lane", "place")))


def paired(df: DataFrame, left: DataFrame, policy: Policy) -> tuple[DataFrame, list[tuple[str, str]]]:
    """Each record with its line of the trace, and each that is alone. `SEEN` are records.

    Also the columns of the records: as they are called here, and in the policy.
    """
    names = named(df, policy)
    safe = df.select(*named_columns(df, policy), digest(df, policy))
    seen = safe.mapInArrow(TimeStep(policy).__call__, StructType([*safe.schema.fields]).add(TIME, "double"))
    seen = seen.withColumn(COPY, F.row_number().over(Window.partitionBy(ROW).orderBy(ROW))).withColumn(SEEN, F.lit(True))
    return seen.join(left, [ROW, COPY], "full"), list(zip(safe.columns, names, strict=False))


class TimeStep:
    """Adds the times of the records in seconds; null where there is none that can be read."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            records = batch.rename_columns(with_dots(batch.schema.names))
            seconds = event_times(records, self._policy, Rejections(len(batch)))
            yield batch.append_column(TIME, pa.array(seconds, from_pandas=True))
