"""The last step: what was published becomes rows again, in the types that the query promised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from shoal.spark.job import Job
from shoal.spark.wire import from_batch


class Published:
    def __init__(self, job: Job) -> None:
        self._schema = job.published

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in from_batch(batch):
                if row.published:
                    for found in pa.ipc.open_stream(row.published):
                        arrays = [_cast(array, field.type) for array, field in zip(found.columns, self._schema, strict=True)]
                        yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def plain(kind: Any) -> Any:
    """The type of the values, where they come as a dictionary, and of the ends of an interval.

    >>> plain(pa.dictionary(pa.int32(), pa.string()))
    DataType(string)
    """
    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, plain(field.type)) for field in kind])
    return kind


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_struct(array.type) and pa.types.is_struct(kind) and array.type != kind:
        children = [_cast(child, field.type) for child, field in zip(_children(array), kind, strict=True)]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())
    return array if array.type == kind else array.cast(kind)


def _children(array: pa.StructArray) -> list[pa.Array]:
    return [array.field(i) for i in range(array.type.num_fields)]
