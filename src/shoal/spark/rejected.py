"""Rejected records: why, as a DataFrame; and the limits at which a query fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from shoal.columns import Encoder, ObservationEncoder, Rejection
from shoal.errors import InputError, RecordError, RejectedError
from shoal.policy import Policy
from shoal.spark.given import given_policy, named_columns, with_dots
from shoal.text import percent

_PLACE = "shoal_place_"


def rejected(df: DataFrame, policy: Policy | Mapping[str, Any] | str | PathLike[str], *place: str) -> DataFrame:
    """The records that `anonymize` rejects: one row each, with its place, the field and the reason, and no value.

    Parameters
    ----------
    df
        The records; streaming or not. They are read once more for this.
    policy
        A policy, its YAML text, or the mapping or the path of one.
    place
        Columns of the DataFrame that say where a record is, such as a number or an offset. By default `file`: the file from
        which Spark read it. These columns are published as they are.
    """
    policy = given_policy(policy)
    columns = named_columns(df, policy)
    absent = [name for name in place if name not in df.columns]
    if absent:
        raise InputError(f"{', '.join(absent)}: no such column; correct the place or the DataFrame")
    places = [F.col(f"`{name}`") for name in place] or [F.nullif(F.input_file_name(), F.lit("")).alias("file")]
    found = df.select(*columns, *(column.alias(f"{_PLACE}{number}") for number, column in enumerate(places)))
    shown = df.select(*places).schema
    schema = StructType([*shown.fields]).add("field", "string").add("reason", "string")
    return found.mapInArrow(RejectStep(policy, shown.names).__call__, schema)


class RejectStep:
    """Records become their rejections."""

    def __init__(self, policy: Policy, places: list[str]) -> None:
        self._policy, self._places = policy, places

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kind = ObservationEncoder if self._policy.is_filter else Encoder
        encoder: Any = kind(self._policy, np.zeros(2, np.uint64))
        for batch in batches:
            width = batch.num_columns - len(self._places)
            rows = np.arange(len(batch))
            records = batch.select(range(width))
            records = records.rename_columns(with_dots(records.schema.names))
            found: list[Rejection] = encoder.encode(records, rows).rejected
            if found:
                places = batch.select(range(width, batch.num_columns)).take(pa.array([each.row for each in found]))
                texts = [pa.array([getattr(each, name) for each in found], pa.string()) for name in ("field", "reason")]
                yield pa.RecordBatch.from_arrays([*places.columns, *texts], [*self._places, "field", "reason"])


def refuse_strictly(found: list[Rejection]) -> None:
    """Fail at the first of these.

    Raises
    ------
    RecordError
        There is one.
    """
    if found:
        raise RecordError(f"a record was rejected under strict: {found[0].kind}")


def check_share(received: int, refused: int, most: float, never_all: bool = False) -> None:
    """Fail if too many records were rejected.

    Raises
    ------
    RejectedError
        The share is above `most`; or, if they are never all to be rejected, all are.
    """
    if refused > most * received or (never_all and refused == received > 0):
        more = f", more than {percent(most)}" if refused > most * received else ""
        text = f"{percent(refused / received)} of {received:,} records were rejected{more}"
        raise RejectedError(f"{text}; shoal.spark.rejected(df, policy) gives the reasons", None, None)
