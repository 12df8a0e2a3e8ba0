"""The Arrow columns that layers pass to each other: the types of what is generalized, and marks in a field's metadata."""

from __future__ import annotations

import pyarrow as pa

MARK = b"shoal"  # the key of a mark in the metadata of a field
JSON = {MARK: b"json"}  # the mark of a string column whose values are JSON texts, to be published unchanged
CODED = {MARK: b"coded"}  # the mark of a dictionary column that was read as strings, and is published as strings
ENDS = ("lo", "hi")
IMPUTED = ("value", "of", "had")


def is_json(field: pa.Field) -> bool:
    """Whether a column holds JSON texts.

    >>> is_json(pa.field("note", pa.string(), metadata=JSON)), is_json(pa.field("note", pa.string()))
    (True, False)
    """
    return bool(field.metadata) and field.metadata.get(MARK) == JSON[MARK]


def is_coded(field: pa.Field) -> bool:
    """Whether a column was read as strings."""
    return bool(field.metadata) and field.metadata.get(MARK) == CODED[MARK]


def interval(kind: pa.DataType) -> pa.StructType:
    """The type of an interval. Its ends are never null, unlike those of a struct of the same names that is passed through.

    >>> interval(pa.int64())
    StructType(struct<lo: int64 not null, hi: int64 not null>)
    """
    return pa.struct([pa.field(name, kind, nullable=False) for name in ENDS])


def is_struct_of(kind: pa.DataType, names: tuple[str, ...]) -> bool:
    """Whether a type is a struct with these fields, such as `ENDS` of an interval or `IMPUTED`."""
    return bool(pa.types.is_struct(kind)) and tuple(field.name for field in kind) == names
