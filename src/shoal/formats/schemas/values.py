"""The cells of published columns as plain values, each distinct one once."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.column_types import BLURRED_INTERVAL, BLURRED_LABEL, ENDS, IMPUTED, SEPARATOR, is_json, is_set, is_struct_of
from shoal.formats.json_values import dumps
from shoal.formats.writing.cells import lists, pairs
from shoal.shapes import Kind


class Distinct(NamedTuple):
    """The distinct values of a column, and the place of each row's among them."""

    values: list[Any]
    codes: NDArray[np.int32]


class Interval(NamedTuple):
    lo: Any
    hi: Any
    or_missing: bool = False
    of: int | None = None
    had: int | None = None


class Node(NamedTuple):
    value: str
    or_missing: bool = False
    of: int | None = None
    had: int | None = None


def distinct(column: pa.Array, field: pa.Field, kind: Kind) -> Distinct:
    """The values of a column: intervals and periods, nodes, or plain values of JSON; None where they are missing.

    >>> distinct(pa.array(["a", "b", "a"]).dictionary_encode(), pa.field("x", pa.string()), "node")
    Distinct(values=[Node(value='a', or_missing=False, of=None, had=None), Node(value='b', or_missing=False, of=None, \
had=None), None], codes=array([0, 1, 0], dtype=int32))
    """
    if is_struct_of(column.type, IMPUTED):
        return _each(column, lambda row: _counted(row, kind))
    if kind in ("interval", "period"):
        if is_struct_of(column.type, ENDS) or is_struct_of(column.type, BLURRED_INTERVAL):
            codes, firsts = pairs(column)
            found = [None, *(_interval(row) for row in _standard(column.take(firsts)))]
            return Distinct(found, codes)
        return _each(column, _interval)
    if is_set(column.type) and kind == "node":
        codes, firsts = lists(column)
        return Distinct([None, *(_node(labels) for labels in column.take(firsts).to_pylist())], codes)
    if is_struct_of(column.type, BLURRED_LABEL) and kind == "node":
        return _each(column, lambda row: None if row is None else Node(row["value"], row["or_missing"]))
    coded = column if pa.types.is_dictionary(column.type) else _encoded(column)
    entries = _standard(coded.dictionary)
    if is_json(field):
        entries = [None if entry is None else json.loads(entry) for entry in entries]
    values = [Node(str(entry)) for entry in entries] if kind == "node" else [_plain(entry) for entry in entries]
    codes = coded.indices.cast(pa.int32()).fill_null(len(values)).to_numpy(zero_copy_only=False)
    return Distinct([*values, None], codes)


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    try:
        return column.dictionary_encode()
    except pa.ArrowException:  # lists and structs
        texts = pa.array([None if value is None else dumps(value) for value in column.to_pylist()], pa.string())
        return texts.dictionary_encode()


def _each(column: pa.Array, made: Callable[[Any], Any]) -> Distinct:
    """The values of rows that have no codes of their own; equal ones are made once."""
    known: dict[Any, int] = {}
    found = [made(row) for row in _standard(column)]
    codes = np.fromiter((known.setdefault(value, len(known)) for value in found), np.int32, len(found))
    return Distinct(list(known), codes)


def _standard(column: pa.Array) -> list[Any]:
    """Python's values, with moments as ISO 8601, as in JSON."""
    if pa.types.is_struct(column.type) and any(map(_is_moment, (field.type for field in column.type))):
        parts = [_standard(part) for part in column.flatten()]
        rows = zip(*parts, strict=True)
        names = [field.name for field in column.type]
        valid = column.is_valid().to_pylist()
        return [dict(zip(names, row, strict=True)) if there else None for row, there in zip(rows, valid, strict=True)]
    if _is_moment(column.type):
        column = pc.replace_substring(column.cast(pa.string()), " ", "T")
    return list(column.to_pylist())


def _is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind))


def _interval(row: dict[str, Any] | None) -> Interval | None:
    return None if row is None else Interval(row["lo"], row["hi"], bool(row.get("or_missing")))


def _node(labels: list[str | None]) -> Node:
    """A set, as CSV shows it."""
    return Node(SEPARATOR.join(label for label in labels if label is not None), None in labels)


def _counted(row: dict[str, Any] | None, kind: Kind) -> Interval | Node | None:
    if row is None or row["value"] is None:
        return None
    value = _interval(row["value"]) if kind == "interval" else Node(row["value"])
    assert value is not None
    return value._replace(of=row["of"], had=row["had"])


def _plain(value: Any) -> Any:
    """A value that JSON has no type for as text; lists and objects as JSON text; what is not a number is missing."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else json.dumps(value)
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return dumps(value) if isinstance(value, list | dict | bytes) else str(value)
