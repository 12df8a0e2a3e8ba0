"""Columns of an output under `nulls_match: blurred`, taken apart: the values, and which of them are in doubt."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.audit.sets import WORDS
from shoal.audit.values import Flags, distinct, is_text

_DOUBT = "or_missing"


class Apart(NamedTuple):
    """A column as it would be without doubts; `bad` marks what has no form that a value can have."""

    value: pa.Array
    doubt: Flags
    bad: Flags
    extra: tuple[str, ...] = ()  # fields that do not belong there


def apart(column: pa.Array, size: int) -> Apart:
    """Take a column apart; a value without doubt is a list of `size` parts: 2 for an interval, 1 for a label.

    >>> found = apart(pa.array(["[60, 85]", "[60, 85] or missing", None]), 2)
    >>> found.value.to_pylist(), found.doubt.tolist()
    (['[60, 85]', '[60, 85]', None], [False, True, False])
    """
    kind = column.type
    if pa.types.is_struct(kind):
        return _of_structs(column, size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _of_lists(column, size)
    if is_text(kind):
        return _of_texts(column, size)
    none = np.zeros(len(column), bool)
    return Apart(column, none, none)


def _of_structs(column: pa.Array, size: int) -> Apart:
    """`{lo, hi, or_missing}` or `{value, or_missing}`; the flag must be there, also where nothing is in doubt."""
    there = column.is_valid().to_numpy(zero_copy_only=False)
    fields = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
    flag = fields.pop(_DOUBT, pa.nulls(len(column)))
    if not pa.types.is_boolean(flag.type):
        flag = pa.nulls(len(column), pa.bool_())
    bad = there & flag.is_null().to_numpy(zero_copy_only=False)
    doubt = flag.fill_null(False).to_numpy(zero_copy_only=False)
    if size == 2:
        return Apart(column, doubt, bad, tuple(sorted(fields.keys() - {"lo", "hi"})))
    value = fields.pop("value", pa.nulls(len(column)))
    return Apart(value, doubt, bad | (there & value.is_null().to_numpy(zero_copy_only=False)), tuple(sorted(fields)))


def _of_lists(column: pa.Array, size: int) -> Apart:
    """`[60, 85]`, `[60, 85, null]` or `["sitting", null]`; a label without doubt is no list."""
    there = column.is_valid().to_numpy(zero_copy_only=False)
    length = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    start = np.cumsum(length) - length
    parts = column.flatten()
    sure, longer = (length == size) & (size > 1), length == size + 1
    doubt = longer & np.append(parts.is_null().to_numpy(zero_copy_only=False), False)[np.where(longer, start + size, -1)]
    fine = sure | doubt
    taken = [parts.take(pa.array(start + place, mask=~fine)) for place in range(size)]
    value = taken[0] if size == 1 else pa.StructArray.from_arrays(taken, ["lo", "hi"], mask=pa.array(~fine))
    return Apart(value, doubt, there & ~fine)


def _of_texts(column: pa.Array, size: int) -> Apart:
    """`[60, 85] or missing` and `sitting or missing`; or a list, written as JSON."""
    code, values = distinct(column)
    found = [_of_text(raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw, size) for raw in values.to_pylist()]
    texts = pa.array([text for text, _ in found], pa.string())
    value = pa.DictionaryArray.from_arrays(pa.array(code, pa.int32(), mask=code < 0), texts)
    return Apart(value, np.array([*(doubt for _, doubt in found), False], bool)[code], np.zeros(len(code), bool))


def _of_text(text: str, size: int) -> tuple[str, bool]:
    if text.endswith(WORDS):
        return text.removesuffix(WORDS), True
    if text.startswith("["):
        with suppress(ValueError, RecursionError):
            parts = json.loads(text)
            if len(parts) == size + 1 and parts[-1] is None:
                return parts[0] if size == 1 and isinstance(parts[0], str) else json.dumps(parts[:-1]), True
    return text, False
