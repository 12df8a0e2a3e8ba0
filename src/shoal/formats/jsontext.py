"""Columns of JSON texts as typed columns, all at once where every text is of one simple form."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.formats.dialects import content
from shoal.formats.numerals import EXACT
from shoal.formats.values import kind

_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"


def integers(texts: pa.Array) -> pa.Array | None:
    """As int64, if each text is exactly what an integer is written as.

    >>> integers(pa.array(["1", None, "-20"])).to_pylist(), integers(pa.array(["01"]))
    ([1, None, -20], None)
    """
    data = np.frombuffer(content(texts), np.uint8)
    if not (((data >= ord("0")) & (data <= ord("9"))) | (data == ord("-"))).all():
        return None
    try:
        found = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return found if holds(pc.equal(found.cast(pa.string()), texts)) else None


def strings(texts: pa.Array) -> pa.Array | None:
    """As strings, if each text is quoted and nothing in it is escaped, or should be.

    >>> strings(pa.array(['"a"', None])).to_pylist(), strings(pa.array(['"a" "b"']))
    (['a', None], None)
    """
    quoted = pc.and_(pc.starts_with(texts, '"'), pc.ends_with(texts, '"'))
    if not holds(pc.and_(quoted, pc.greater(pc.binary_length(texts), 1))):
        return None
    inner = pc.binary_slice(texts.cast(pa.binary()), 1, -1)
    data = content(inner)
    if len(data) and (np.frombuffer(data, np.uint8).min() < 32 or re.search(rb'["\\]', data)):
        return None
    return inner.view(pa.string())


def numbers(texts: pa.Array) -> pa.Array | None:
    """As float64, if each text is a JSON number that float64 does not round to another whole number.

    >>> numbers(pa.array(["1.50", "2", None])).to_pylist(), numbers(pa.array(["1."])), numbers(pa.array(["1e999"]))
    ([1.5, 2.0, None], None, None)
    """
    if not holds(pc.match_substring_regex(texts, _NUMBER)):
        return None
    found = texts.cast(pa.float64())
    return found if holds(pc.less(pc.abs(found), EXACT)) else None


def holds(true: pa.Array) -> bool:
    """Whether nothing is false.

    >>> holds(pa.array([True, None])), holds(pa.array([], pa.bool_()))
    (True, True)
    """
    return bool(pc.all(true, min_count=0).as_py())


def typed(texts: pa.Array) -> pa.Array | None:
    """As the one type that all have, or None if they differ.

    >>> typed(pa.array(["true", "false", None])).to_pylist(), typed(pa.array(["true", "1"]))
    ([True, False, None], None)
    """
    if texts.null_count == len(texts):
        return pa.nulls(len(texts))
    for form in (integers, strings, numbers):
        found = form(texts)
        if found is not None:
            return found
    encoded = texts.dictionary_encode()
    values = [json.loads(text) for text in encoded.dictionary.to_pylist()]
    one = kind(values)
    return None if one is None else pa.array(values, one).take(encoded.indices)
