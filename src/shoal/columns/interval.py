"""The type of what is generalized to an interval."""

from __future__ import annotations

import pyarrow as pa


def interval(kind: pa.DataType) -> pa.StructType:
    """Its ends are never null, which tells it from a struct of the same names that is passed through.

    >>> interval(pa.int64())
    StructType(struct<lo: int64 not null, hi: int64 not null>)
    """
    return pa.struct([pa.field(name, kind, nullable=False) for name in ("lo", "hi")])
