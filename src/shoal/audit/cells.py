"""Published values, whatever form a format gives them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.audit.values import Floats, distinct, is_text, numbers, seconds

NULL = -1
NO_NODE = -2
NO_PAIR = -1
_BAND = {"lo", "hi"}
_PAIR = {"value", "of", "had"}


class Part(NamedTuple):
    """A column of one block."""

    lo: Floats = np.empty(0)
    hi: Floats = np.empty(0)
    node: NDArray[np.int32] = np.empty(0, np.int32)
    of: NDArray[np.int32] | None = None
    had: NDArray[np.int32] | None = None
    extra: tuple[str, ...] = ()


def paired(column: pa.Array, read: Callable[[pa.Array], Part]) -> Part:
    """A column whose values may bear the pair of an imputed group."""
    names = {field.name for field in column.type} if pa.types.is_struct(column.type) else set()
    if "value" not in names:
        return read(column)
    fields = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
    part = read(fields["value"])
    pair = [_counts(fields[name]) if name in fields else None for name in ("of", "had")]
    return part._replace(of=pair[0], had=pair[1], extra=(*part.extra, *sorted(names - _PAIR)))


def _counts(column: pa.Array) -> NDArray[np.int32]:
    return np.nan_to_num(numbers(column).value, nan=NO_PAIR).astype(np.int32)


def bands(column: pa.Array, number: Callable[[pa.Array], Any] = numbers) -> Part:
    kind = column.type
    there = column.is_valid().to_numpy(zero_copy_only=False)
    extra: tuple[str, ...] = ()
    lo, hi = np.full(len(column), math.nan), np.full(len(column), math.nan)
    if pa.types.is_struct(kind):
        names = {field.name for field in kind}
        extra = tuple(sorted(names - _BAND))
        if names >= _BAND:
            fields = dict(zip((field.name for field in kind), column.flatten(), strict=True))
            lo, hi = number(fields["lo"]).value, number(fields["hi"]).value
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        pairs = pc.list_value_length(column).fill_null(0).to_numpy() == 2
        if (pairs == there).all():
            ends = number(column.flatten()).value
            lo[pairs], hi[pairs] = ends[::2], ends[1::2]
        else:
            return bands(pa.array([json.dumps(each) for each in column.to_pylist()]), number)
    elif is_text(kind):
        return _bands_of_texts(column, number)
    return Part(lo=np.where(there & np.isnan(lo), math.inf, lo), hi=np.where(there & np.isnan(hi), -math.inf, hi), extra=extra)


def _bands_of_texts(column: pa.Array, number: Callable[[pa.Array], Any]) -> Part:
    code, values = distinct(column)
    ends: list[Any] = []
    pairs: list[tuple[int, int]] = []
    extra: dict[str, None] = {}
    for raw in values.to_pylist():
        found, pair = _parsed(raw, extra)
        pairs.append(pair)
        ends.extend(found if isinstance(found, list) and len(found) == 2 else [None, None] if found is None else ["?", "?"])
    texts = pa.array([end if end is None or isinstance(end, str) else json.dumps(end) for end in ends], pa.string())
    value, bad = number(texts)
    lo, hi = np.append(value[::2], math.nan), np.append(value[1::2], math.nan)
    wrong = np.append(bad[::2] | bad[1::2] | (np.isnan(value[::2]) != np.isnan(value[1::2])), False)
    lo[wrong], hi[wrong] = math.inf, -math.inf
    of, had = _spread(pairs, code)
    return Part(lo=lo[code], hi=hi[code], of=of, had=had, extra=tuple(extra))


def _parsed(raw: str | bytes, extra: dict[str, None]) -> tuple[Any, tuple[int, int]]:
    """What a cell of text says, and its pair; a cell that is empty says nothing."""
    if not raw:
        return None, (NO_PAIR, NO_PAIR)
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
        return text.removeprefix("[").removesuffix("]").split(", "), (NO_PAIR, NO_PAIR)
    if isinstance(found, dict) and "value" in found:
        extra.update(dict.fromkeys(sorted(found.keys() - _PAIR)))
        return found["value"], (_whole(found.get("of")), _whole(found.get("had")))
    return found, (NO_PAIR, NO_PAIR)


def _whole(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**31 else NO_PAIR


def _spread(pairs: list[tuple[int, int]], code: NDArray[np.int64]) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    if all(pair == (NO_PAIR, NO_PAIR) for pair in pairs):
        return None, None
    table = np.array([*pairs, (NO_PAIR, NO_PAIR)], np.int32)
    return table[code, 0], table[code, 1]


def moments(column: pa.Array) -> Part:
    return bands(column, seconds)


def nodes(nodes: dict[str, int]) -> Callable[[pa.Array], Part]:
    def read(column: pa.Array) -> Part:
        there = column.is_valid().to_numpy(zero_copy_only=False)
        if not is_text(column.type):
            return Part(node=np.where(there, NO_NODE, NULL).astype(np.int32))
        code, values = distinct(column)
        found, pairs = [], []
        extra: dict[str, None] = {}
        for raw in values.to_pylist():
            node, pair = _node(raw, nodes, extra)
            found.append(node)
            pairs.append(pair)
        of, had = _spread(pairs, code)
        return Part(node=np.array([*found, NULL], np.int32)[code], of=of, had=had, extra=tuple(extra))

    return read


def _node(raw: str | bytes, nodes: dict[str, int], extra: dict[str, None]) -> tuple[int, tuple[int, int]]:
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    if not text or text in nodes:
        return nodes.get(text, NULL), (NO_PAIR, NO_PAIR)
    with suppress(ValueError, RecursionError):
        if isinstance(json.loads(text), dict):
            value, pair = _parsed(text, extra)
            return nodes.get(value, NO_NODE) if isinstance(value, str) else NULL if value is None else NO_NODE, pair
    return NO_NODE, (NO_PAIR, NO_PAIR)
