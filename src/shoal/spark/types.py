"""Types of Spark and of Arrow: what the columns of a DataFrame become, and what published columns become again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from shoal.errors import InputError
from shoal.path import in_batch, is_place
from shoal.policy import Policy
from shoal.spark.given import named, with_dots
from shoal.spark.lane import ROW
from shoal.spark.steps import plain

_PLAIN: tuple[tuple[Callable[[Any], bool], Callable[[], DataType]], ...] = (
    (pa.types.is_boolean, BooleanType), (pa.types.is_int8, ByteType), (pa.types.is_int16, ShortType),
    (pa.types.is_int32, IntegerType), (pa.types.is_int64, LongType), (pa.types.is_float32, FloatType),
    (pa.types.is_float64, DoubleType), (pa.types.is_string, StringType), (pa.types.is_large_string, StringType),
    (pa.types.is_binary, BinaryType), (pa.types.is_large_binary, BinaryType), (pa.types.is_date32, DateType),
    (pa.types.is_duration, DayTimeIntervalType), (pa.types.is_null, NullType),
)  # fmt: skip


def arrow_schema(spark: SparkSession, schema: StructType) -> pa.Schema:
    """The types in which Spark hands columns to Python.

    Raises
    ------
    InputError
        Arrow has no such type.
    """
    try:
        return _arrow_schema(spark, schema)
    except PySparkTypeError:
        for field in schema.fields:
            try:
                _arrow_schema(spark, StructType([field]))
            except PySparkTypeError:
                kind = field.dataType.simpleString()
                raise InputError(f"{field.name}: is {kind}, which Arrow does not have; cast it, as to a string") from None
        raise


def _arrow_schema(spark: SparkSession, schema: StructType) -> pa.Schema:
    return spark.createDataFrame([], schema).limit(0).toArrow().schema  # no job is run for this


def spark_type(kind: pa.DataType) -> DataType:
    """The type of Spark for values of this type of Arrow.

    >>> spark_type(pa.struct([("lo", pa.timestamp("us")), ("hi", pa.timestamp("us", "UTC"))])).simpleString()
    'struct<lo:timestamp_ntz,hi:timestamp>'
    """
    for is_kind, found in _PLAIN:
        if is_kind(kind):
            return found()
    if pa.types.is_timestamp(kind):
        return TimestampType() if kind.tz else TimestampNTZType()
    if pa.types.is_decimal(kind):
        return DecimalType(kind.precision, kind.scale)
    if pa.types.is_map(kind):
        return MapType(spark_type(kind.key_type), spark_type(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ArrayType(spark_type(kind.value_type))
    if pa.types.is_struct(kind):
        return StructType([StructField(field.name, spark_type(field.type)) for field in kind])
    raise InputError(f"{kind}: is a type that Spark does not have; cast the column, as to a string")


def published_types(df: DataFrame, records: pa.Schema, published: pa.Schema) -> StructType:
    """The types of the published columns; a column that is passed through keeps its Spark type."""
    nothing, fields = pa.RecordBatch.from_pylist([], records), []
    for field in published:
        before = in_batch(nothing, field.name)
        kind = type_at(df.schema, field.name) if before is not None and plain(before.type) == field.type else None
        fields.append(StructField(field.name, kind or spark_type(field.type)))
    return StructType(fields)


def type_at(schema: StructType, name: str) -> DataType | None:
    """The type of a field by its name or path; None if there is none.

    >>> schema = StructType.fromDDL("`a.b` date, a struct<b: array<struct<c: int>>>")
    >>> [kind and kind.simpleString() for kind in (type_at(schema, name) for name in ("a.b", "a.b.0.c", "a.x"))]
    ['date', 'int', None]
    """
    if name in schema.names:
        return schema[name].dataType
    kind: Any = schema
    for step in name.split("."):
        if isinstance(kind, StructType) and step in kind.names:
            kind = kind[step].dataType
        elif isinstance(kind, ArrayType) and is_place(step):
            kind = kind.elementType
        else:
            return None
    return kind


def column_at(df: DataFrame, name: str) -> Column:
    """The column of a prepared DataFrame with this name, or the field inside a column by its path."""
    known = dict(zip(with_dots(df.columns), df.columns, strict=True))
    if name in known:
        return F.col(f"`{known[name]}`")
    first, *steps = name.split(".")
    found = F.col(f"`{first}`")
    for step in steps:
        found = F.get(found, int(step)) if is_place(step) else found.getField(step)
    return found


def digest(df: DataFrame, policy: Policy) -> Column:
    """A digest of all that the policy reads of a record."""
    columns = [F.col(f"`{name}`") for name in named(df, policy)]
    hashed = [hashable(df, name) for name in named(df, policy)]
    return F.xxhash64(*hashed, *(column.isNull() for column in columns)).alias(ROW)


def hashable(df: DataFrame, name: str) -> Column:
    """A column in a form that Spark can make a digest of: what holds a map or a variant as text."""
    column, kind = F.col(f"`{name}`"), df.schema[name].dataType
    return F.to_json(column) if _holds(kind) else column


def _holds(kind: DataType) -> bool:
    if isinstance(kind, MapType | VariantType):
        return True
    if isinstance(kind, ArrayType):
        return _holds(kind.elementType)
    return isinstance(kind, StructType) and any(_holds(field.dataType) for field in kind.fields)
