"""JSON texts, Python's values and Arrow's columns, and each as the others."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.text import plain_number

EXACT = 2.0**53  # below this, every whole number is a float64
TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"


def dumps(value: Any) -> str:
    """JSON as Python writes it.

    >>> dumps(["é", 1.0, None])
    '["é", 1.0, null]'
    """
    return json.dumps(value, ensure_ascii=False, default=_unusual)


def _unusual(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def content(texts: pa.Array) -> memoryview:
    """All bytes of a string or binary array, one text after the other, without a copy.

    >>> bytes(content(pa.array(["a", "bc", "d"])[1:]))
    b'bcd'
    """
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return memoryview(b"")
    ends = np.frombuffer(offsets, np.int32)
    return memoryview(data)[ends[texts.offset] : ends[texts.offset + len(texts)]]


def float_texts(values: pa.Array, whole: str = ".0") -> pa.Array:
    """The shortest text that reads back as the same float64, as `json.dumps` gives it; `whole` ends whole numbers.

    >>> float_texts(pa.array([1.0, 0.1, 1e-7, 1e22, None])).to_pylist()
    ['1.0', '0.1', '1e-07', '1e+22', None]
    >>> float_texts(pa.array([1.0, 2.5, -0.0]), whole="").to_pylist()
    ['1', '2.5', '0']
    """
    if values.null_count == len(values):
        return pa.nulls(len(values), pa.string())
    numbers = values.fill_null(0.0).to_numpy(zero_copy_only=False)
    size = np.abs(numbers)
    is_whole = (size < 1e16) & (numbers == np.trunc(numbers))
    if whole:
        is_whole &= ~((numbers == 0) & np.signbit(numbers))
    plain = ~is_whole & (size >= 1e-4) & (size < 1e9)
    if is_whole.all():
        texts = _whole(numbers, whole)
    else:
        texts = values.fill_null(0.0).cast(pa.string())
        if is_whole.any():
            texts = pc.replace_with_mask(texts, pa.array(is_whole), _whole(numbers[is_whole], whole))
        odd = ~(is_whole | plain)
        if odd.any():
            reprs = pa.array(map(json.dumps, numbers[odd].tolist()), pa.string())
            texts = pc.replace_with_mask(texts, pa.array(odd), reprs)
    return pc.if_else(values.is_valid(), texts, None) if values.null_count else texts


def _whole(numbers: np.ndarray, end: str) -> pa.Array:
    texts = pa.array(numbers.astype(np.int64)).cast(pa.string())
    return pc.binary_join_element_wise(texts, end, "") if end else texts


def common_type(values: Iterable[Any]) -> pa.DataType | None:
    """The type that holds all values without loss, or None if only text does.

    >>> common_type([1, None]), common_type([1, 2.5]), common_type([1, "1"]), common_type([None])
    (DataType(int64), DataType(double), None, DataType(null))
    """
    values = [value for value in values if value is not None]
    found = set(map(type, values))
    if found == {int, float}:
        return pa.float64() if all(abs(v) < EXACT for v in values if type(v) is int) else None
    if len(found) > 1:
        return None
    for one in found:
        fits = one in TYPES and (one is not int or all(-(2**63) <= v < 2**63 for v in values))
        return TYPES[one] if fits else None
    return pa.null()


def plain_text(value: Any) -> str | None:
    """The canonical text of a value: a whole number has no fraction, and what is not a number is missing.

    >>> plain_text(True), plain_text(1.0), plain_text(1.5), plain_text("x"), plain_text([1, "é"]), plain_text(float("nan"))
    ('true', '1', '1.5', 'x', '[1, "é"]', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return plain_number(value)
    return dumps(value)


def typed_column(values: Sequence[Any]) -> pa.Array:
    """The values of a field that will be generalized or compared.

    >>> typed_column([1, "a", None]).to_pylist()
    ['1', 'a', None]
    """
    one = common_type(values)
    return pa.array(map(plain_text, values), pa.string()) if one is None else pa.array(values, one)


def json_texts(values: Iterable[Any]) -> pa.Array:
    """The values of a field that is passed through, as JSON text.

    >>> json_texts(["a", 1.0, None, {"b": []}]).to_pylist()
    ['"a"', '1.0', None, '{"b": []}']
    """
    return pa.array([None if value is None else dumps(value) for value in values], pa.string())


def json_integers(texts: pa.Array) -> pa.Array | None:
    """As int64, if each text is exactly what an integer is written as.

    >>> json_integers(pa.array(["1", None, "-20"])).to_pylist(), json_integers(pa.array(["01"]))
    ([1, None, -20], None)
    """
    data = np.frombuffer(content(texts), np.uint8)
    if not (((data >= ord("0")) & (data <= ord("9"))) | (data == ord("-"))).all():
        return None
    try:
        found = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return found if all_true(pc.equal(found.cast(pa.string()), texts)) else None


def json_strings(texts: pa.Array) -> pa.Array | None:
    """As strings, if each text is quoted and nothing in it is escaped, or should be.

    >>> json_strings(pa.array(['"a"', None])).to_pylist(), json_strings(pa.array(['"a" "b"']))
    (['a', None], None)
    """
    quoted = pc.and_(pc.starts_with(texts, '"'), pc.ends_with(texts, '"'))
    if not all_true(pc.and_(quoted, pc.greater(pc.binary_length(texts), 1))):
        return None
    inner = pc.binary_slice(texts.cast(pa.binary()), 1, -1)
    data = content(inner)
    if len(data) and (np.frombuffer(data, np.uint8).min() < 32 or re.search(rb'["\\]', data)):
        return None
    return inner.view(pa.string())


def json_numbers(texts: pa.Array) -> pa.Array | None:
    """As float64, if each text is a JSON number that float64 does not round to another whole number.

    >>> json_numbers(pa.array(["1.50", "2", None])).to_pylist(), json_numbers(pa.array(["1."]))
    ([1.5, 2.0, None], None)
    >>> json_numbers(pa.array(["1e999"])) is None
    True
    """
    if not all_true(pc.match_substring_regex(texts, _NUMBER)):
        return None
    found = texts.cast(pa.float64())
    return found if all_true(pc.less(pc.abs(found), EXACT)) else None


def all_true(true: pa.Array) -> bool:
    """Whether nothing is false.

    >>> all_true(pa.array([True, None])), all_true(pa.array([], pa.bool_()))
    (True, True)
    """
    return bool(pc.all(true, min_count=0).as_py())


def typed_texts(texts: pa.Array) -> pa.Array | None:
    """As the one type that all have, or None if they differ.

    >>> typed_texts(pa.array(["true", "false", None])).to_pylist(), typed_texts(pa.array(["true", "1"]))
    ([True, False, None], None)
    """
    if texts.null_count == len(texts):
        return pa.nulls(len(texts))
    for form in (json_integers, json_strings, json_numbers):
        found = form(texts)
        if found is not None:
            return found
    encoded = texts.dictionary_encode()
    values = [json.loads(text) for text in encoded.dictionary.to_pylist()]
    one = common_type(values)
    return None if one is None else pa.array(values, one).take(encoded.indices)
