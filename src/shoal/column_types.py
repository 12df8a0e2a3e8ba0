"""The Arrow columns that layers pass to each other: the types of what is generalized, and marks in a field's metadata."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

MARK = b"shoal"  # the key of a mark in the metadata of a field
JSON = {MARK: b"json"}  # the mark of a string column whose values are JSON texts, to be published unchanged
CODED = {MARK: b"coded"}  # the mark of a dictionary column that was read as strings, and is published as strings
NESTED = {MARK: b"nested"}  # the mark of a schema whose names are paths, to be written as objects inside objects
ENDS = ("lo", "hi")
IMPUTED = ("value", "of", "had")
DOUBT = "or_missing"  # under `nulls_match: blurred`, the last field of the struct: whether the value may be missing instead
BLURRED_INTERVAL = (*ENDS, DOUBT)
BLURRED_LABEL = ("value", DOUBT)
OR_MISSING = " or missing"  # in CSV, what follows a value in doubt
SEPARATOR = "|"  # in CSV, what stands between the values of a set or a block


def is_json(field: pa.Field) -> bool:
    """Whether a column holds JSON texts.

    >>> is_json(pa.field("note", pa.string(), metadata=JSON)), is_json(pa.field("note", pa.string()))
    (True, False)
    """
    return bool(field.metadata) and field.metadata.get(MARK) == JSON[MARK]


def is_coded(field: pa.Field) -> bool:
    """Whether a column was read as strings."""
    return bool(field.metadata) and field.metadata.get(MARK) == CODED[MARK]


def is_nested(schema: pa.Schema) -> bool:
    """Whether the names of columns are paths, to be written as objects inside objects."""
    return bool(schema.metadata) and schema.metadata.get(MARK) == NESTED[MARK]


def as_nested(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with the mark."""
    return batch.replace_schema_metadata({**(batch.schema.metadata or {}), **NESTED})


def interval(kind: pa.DataType) -> pa.StructType:
    """The type of an interval. Its ends are never null, unlike those of a struct of the same names that is passed through.

    >>> interval(pa.int64())
    StructType(struct<lo: int64 not null, hi: int64 not null>)
    """
    return struct_of(ENDS, (kind, kind))


def struct_of(names: Sequence[str], kinds: Sequence[pa.DataType]) -> pa.StructType:
    """The type of a struct whose fields are never null.

    >>> struct_of(BLURRED_LABEL, (pa.string(), pa.bool_()))
    StructType(struct<value: string not null, or_missing: bool not null>)
    """
    return pa.struct([pa.field(name, kind, nullable=False) for name, kind in zip(names, kinds, strict=True)])


def is_struct_of(kind: pa.DataType, names: tuple[str, ...]) -> bool:
    """Whether a type is a struct with these fields, such as `ENDS` of an interval or `BLURRED_LABEL`."""
    return bool(pa.types.is_struct(kind)) and tuple(field.name for field in kind) == names


SET = pa.list_(pa.dictionary(pa.int32(), pa.string()))
"""The type of published sets and blocks: lists of labels, null among them where the value may be missing."""


def is_set(kind: pa.DataType) -> bool:
    """Whether a type is that of published sets and blocks.

    A list that is passed through holds no dictionary.

    >>> is_set(pa.list_(pa.dictionary(pa.int32(), pa.string()))), is_set(pa.list_(pa.string()))
    (True, False)
    """
    return bool(pa.types.is_list(kind)) and bool(pa.types.is_dictionary(kind.value_type))


def doubt(column: pa.StructArray) -> pa.BooleanArray:
    """Which values of a published column are in doubt; those that are missing are not."""
    return pc.and_(column.field(column.type.num_fields - 1), column.is_valid())


def is_blurred_label(kind: pa.DataType) -> bool:
    """Whether a type is that of published labels under `blurred`. A struct that is passed through holds no dictionary."""
    return is_struct_of(kind, BLURRED_LABEL) and bool(pa.types.is_dictionary(kind.field(0).type))


def holds_dictionary(kind: pa.DataType) -> bool:
    """Whether a dictionary lies inside a struct, a list or a map, which Arrow reads from Parquet within a row group alone.

    >>> holds_dictionary(pa.struct([("value", pa.dictionary(pa.int32(), pa.string()))])), holds_dictionary(pa.string())
    (True, False)
    """
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return any(pa.types.is_dictionary(each) or holds_dictionary(each) for each in inner)
