"""Generalized values in columns of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from shoal.column_types import BLURRED_INTERVAL, BLURRED_LABEL, DOUBT, ENDS, IMPUTED
from shoal.frames.kind import kind, one_chunk

_SUFFIXES = {
    ENDS: ("_lo", "_hi"),
    ("left", "right"): ("_lo", "_hi"),  # an interval of pandas
    BLURRED_INTERVAL: ("_lo", "_hi", "_or_missing"),
    BLURRED_LABEL: ("", "_or_missing"),
    IMPUTED: ("", "_of", "_had"),
}


def expanded(frame: Any) -> Any:
    """Split each published value into columns: `age_lo`, `age_hi` and `age_or_missing`, or `city` and `city_or_missing`.

    Where the value is missing, `age_lo`, `age_hi` and `city` are missing, and `…_or_missing` is False.

    Parameters
    ----------
    frame
        What `anonymize` returned, or what was read from a published file of Parquet or Arrow: a DataFrame of pandas, a
        DataFrame or LazyFrame of polars, a Table or RecordBatch of Arrow, or anything that gives an Arrow stream.

    Examples
    --------
    >>> published = pa.table({"age": [{"lo": 30, "hi": 40, "or_missing": True}, None]})
    >>> expanded(published).to_pydict()
    {'age_lo': [30, None], 'age_hi': [40, None], 'age_or_missing': [True, False]}
    """
    found = kind(frame)
    arrived = found.arrow(frame, found.arrow(frame, []).names)
    table = pa.Table.from_batches(arrived.batches, arrived.schema)
    columns = [part for name in table.schema.names for part in _parts(name, one_chunk(table.column(name)))]
    return found.from_arrow(pa.Table.from_arrays([array for _, array in columns], [name for name, _ in columns]), frame)


def _parts(name: str, array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    values = array.storage if isinstance(array, pa.ExtensionArray) else array
    names = tuple(field.name for field in values.type) if pa.types.is_struct(values.type) else ()
    if names not in _SUFFIXES:
        yield name, array
        return
    for field, suffix, part in zip(names, _SUFFIXES[names], values.flatten(), strict=True):
        yield from _parts(name + suffix, part.fill_null(False) if field == DOUBT else part)
