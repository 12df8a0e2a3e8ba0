"""Columns as the policy compares them: texts, numbers, times, codes; by the judge's own rule of equality, canonical texts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.audit.written import moment, point_number, units

_DIGITS = 4300  # the longest number that is written out


def canonical(value: object) -> str | None:
    """The trimmed NFC text of a value; None where it is missing.

    >>> [canonical(value) for value in (" café ", 7, 7.0, 2.5, True, b"x", None, float("nan"))]
    ['café', '7', '7', '2.5', 'true', 'x', None, None]

    Lists and objects are written as JSON with sorted keys. Fields without a value are left out.

    >>> canonical({"b": [7.0, None], "a": None})
    '{"b": [7, null]}'

    Raises ValueError if the value is not UTF-8, or too long or too deeply nested to be written out.
    """
    text = value if value is None or isinstance(value, str) else _text(value)
    return None if text is None else normalize("NFC", text).strip()


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple | dict):
        try:
            return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True)
        except RecursionError:
            raise ValueError("nested too deeply") from None
    if isinstance(value, Decimal):
        return _decimal(value)
    found = _number(value)
    if found is None:
        return None
    return str(found).lower() if isinstance(found, bool) else str(found)


def _plain(value: object) -> object:
    """A nested value in which every whole number is an integer and NaN is None; fields without a value are left out."""
    if isinstance(value, dict):
        fields = ((str(name), _plain(each)) for name, each in value.items())
        return {name: each for name, each in fields if each is not None}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    found = _number(value)
    return found if found is None or isinstance(found, bool | int | float | str) else str(found)


def _number(value: object) -> object:
    """A float as an integer where it is whole, None where it is NaN; any other value as it is."""
    if not isinstance(value, float):
        return value
    return None if math.isnan(value) else int(value) if value.is_integer() else value


def _decimal(value: Decimal) -> str | None:
    if not value.is_finite():
        return None if value.is_nan() else str(float(value))
    if not value:
        return "0"
    if max(abs(value.adjusted()), len(value.as_tuple().digits)) > _DIGITS:
        raise ValueError("a number with too many digits")
    whole, _, part = format(value, "f").partition(".")
    part = part.rstrip("0")
    return f"{whole}.{part}" if part else whole


Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Integers: TypeAlias = NDArray[np.integer]  # of any width
_IS_CANONICAL = r"^([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?$"
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NAN = re.compile(r"nan", re.IGNORECASE)
_FURTHEST = 9e12  # seconds
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Readings(NamedTuple):
    """A column of numbers or times: NaN where there is none, and which values cannot be read."""

    value: Floats
    bad: Flags


class Texts(NamedTuple):
    """A column by its distinct values: the canonical text of each, None where it is missing or cannot be read."""

    code: Ints  # of each row; -1 null
    text: list[str | None]
    bad: Flags  # of each distinct value: it cannot be read as text


def is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    of = pa.types
    return any(test(kind) for test in (of.is_string, of.is_large_string, of.is_binary, of.is_large_binary))


def is_number(kind: pa.DataType) -> bool:
    of = pa.types
    return of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind)


def joined(parts: list[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    """The parts of a column as one array; an empty one of this type where there are none."""
    return np.concatenate(parts) if parts else np.empty(0, kind)


def distinct(column: pa.Array) -> tuple[Ints, pa.Array]:
    """Codes of a column, -1 where it is null, and the values they stand for.

    >>> code, values = distinct(pa.array(["b", None, "b", "a"]))
    >>> code.tolist(), values.to_pylist()
    ([0, -1, 0, 1], ['b', 'a'])
    """
    if not pa.types.is_dictionary(column.type):
        if pa.types.is_nested(column.type):
            return _distinct_nested(column)
        column = column.dictionary_encode()
    code = column.indices.fill_null(-1).cast(pa.int64()).to_numpy()
    return code, column.dictionary


def _distinct_nested(column: pa.Array) -> tuple[Ints, pa.Array]:
    numbers: dict[str, int] = {}
    values = column.to_pylist()
    written = (None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values)
    code = [-1 if text is None else numbers.setdefault(text, len(numbers)) for text in written]
    return np.array(code, np.int64), pa.array(list(numbers), pa.string())


def texts(column: pa.Array) -> Texts:
    """A column as trimmed NFC text.

    >>> texts(pa.array([" Oslo", "Oslo", None])).text
    ['Oslo', 'Oslo']
    """
    code, values = distinct(column)
    found: list[str | None] = []
    bad = np.zeros(len(values), bool)
    for i, value in enumerate(values.to_pylist()):
        try:
            found.append(canonical(value))
        except ValueError:
            found.append(None)
            bad[i] = True
    return Texts(code, found, bad)


def canonical_column(column: pa.Array) -> tuple[pa.Array, Flags]:
    """A column's canonical texts as an Arrow column, null where missing; and which values cannot be read."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    fast: pa.Array | None = None
    if pa.types.is_integer(kind):
        fast = column.cast(kind).cast(pa.string())
    elif is_text(kind):
        with suppress(pa.ArrowInvalid):
            values = column.cast(kind).cast(pa.string())
            if pc.all(pc.match_substring_regex(values, _IS_CANONICAL)).as_py() is not False:
                fast = values
    if fast is not None:
        return fast, np.zeros(len(fast), bool)
    found = texts(column)
    bad = np.append(found.bad, False)[found.code]
    return pa.array([*found.text, None], pa.string()).take(pa.array(found.code % (len(found.text) + 1))), bad


class Marks(NamedTuple):
    """The marks of numbers in texts: before the fraction, and between thousands."""

    decimal: str = "."
    thousands: str = ""


_POINT = Marks()


def numbers(column: pa.Array, nulls: Collection[str] = (), marks: Marks = _POINT) -> Readings:
    """A column as numbers; text that holds a number is that number.

    >>> found = numbers(pa.array(["34", " 3.5 ", "1e3", "?", "x", "inf", None]), {"?"})
    >>> found.value.tolist(), np.flatnonzero(found.bad).tolist()
    ([34.0, 3.5, 1000.0, nan, nan, nan, nan], [4, 5])
    """
    kind = column.type
    if pa.types.is_dictionary(kind) or is_text(kind):
        code, values = distinct(column)
        found = _numbers_of_texts(values, nulls, marks) if is_text(values.type) else numbers(values, nulls)
        return Readings(np.append(found.value, math.nan)[code], np.append(found.bad, False)[code])
    there = column.is_valid().to_numpy(zero_copy_only=False)
    if is_number(kind):
        value = column.cast(pa.float64(), safe=False).fill_null(math.nan).to_numpy(zero_copy_only=False)
        value = np.where(np.isin(value, _listed(nulls)), math.nan, value)
        infinite = np.isinf(value)
        return Readings(np.where(infinite, math.nan, value), infinite)
    if pa.types.is_boolean(kind):
        for null in {"true", "false"} & set(nulls):
            there &= column.fill_null(null == "false").to_numpy(zero_copy_only=False) != (null == "true")
    return Readings(np.full(len(column), math.nan), there)


def _listed(nulls: Collection[str]) -> list[float]:
    """The numbers that are missing, however they are written."""
    return [float(null) for null in nulls if _NUMBER.fullmatch(null)]


def _numbers_of_texts(values: pa.Array, nulls: Collection[str], marks: Marks = _POINT) -> Readings:
    listed = _listed(nulls)
    with suppress(pa.ArrowInvalid):
        if marks != _POINT:
            raise pa.ArrowInvalid
        value = values.cast(pa.string()).cast(pa.float64()).to_numpy(zero_copy_only=False)
        if np.isfinite(value).all() and not listed:
            return Readings(value, np.zeros(len(value), bool))
    value, bad = np.full(len(values), math.nan), np.zeros(len(values), bool)
    for i, raw in enumerate(values.to_pylist()):
        try:
            text = canonical(raw) or ""
        except ValueError:
            bad[i] = True
            continue
        if text in nulls:
            continue
        text = text if marks == _POINT or _NAN.fullmatch(text) else point_number(text, *marks) or " "
        if _NUMBER.fullmatch(text):
            number = float(text)
            if math.isinf(number):
                bad[i] = True
            elif number not in listed:
                value[i] = number
        else:
            bad[i] = not _NAN.fullmatch(text)
    return Readings(value, bad)


def years(column: pa.Array, nulls: Collection[str], form: str | None) -> Readings:
    """A column of dates as years; a plain number is no date, unless the form counts units since 1970.

    >>> years(pa.array(["1985-03-01", "1985", None]), (), None).value.tolist()
    [1985.0, nan, nan]
    """
    found = seconds(column, nulls, form)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    bad = found.bad | (np.abs(found.value) > _FURTHEST)
    if form is None and not pa.types.is_temporal(kind):
        bad |= ~np.isnan(numbers(column, nulls).value)
    value = [math.nan if wrong or math.isnan(s) else _year(s) for s, wrong in zip(found.value.tolist(), bad, strict=True)]
    return Readings(np.array(value, np.float64), bad)


def _year(second: float) -> float:
    return float(str(np.datetime64(math.floor(second), "s").astype("datetime64[Y]")))


def days(column: pa.Array, nulls: Collection[str], form: str) -> tuple[pa.Array, Flags]:
    """A column of dates as ISO 8601 days, null where they are missing; and which cannot be read."""
    found = seconds(column, nulls, form)
    written = [
        None if wrong or math.isnan(s) else str(np.datetime64(math.floor(s), "s").astype("datetime64[D]"))
        for s, wrong in zip(found.value.tolist(), found.bad, strict=True)
    ]
    return pa.array(written, pa.string()), found.bad


def seconds(column: pa.Array, nulls: Collection[str] = (), form: str | None = None) -> Readings:
    """A column as seconds since 1970: numbers, timestamps, or ISO 8601 text (in UTC where it names no offset).

    With a form of the policy's `input.times`, texts have that form, and numbers count its units.

    >>> seconds(pa.array(["1970-01-02", "1970-01-01T01:00:00+01:00", "7", "soon"])).value.tolist()
    [86400.0, 0.0, 7.0, nan]
    """
    kind = column.type
    if pa.types.is_dictionary(kind) or is_text(kind):
        code, values = distinct(column)
        found = _seconds_of_texts(values, nulls, form) if is_text(values.type) else seconds(values, nulls, form)
        return Readings(np.append(found.value, math.nan)[code], np.append(found.bad, False)[code])
    if pa.types.is_date(kind):
        column, kind = column.cast(pa.timestamp("ms")), pa.timestamp("ms")
    if pa.types.is_timestamp(kind):
        ticks = column.cast(pa.int64())
        there = ticks.is_valid().to_numpy(zero_copy_only=False)
        value = ticks.fill_null(0).to_numpy() / _PER_SECOND[kind.unit]
        return Readings(np.where(there, value, math.nan), np.zeros(len(column), bool))
    found = numbers(column, nulls)
    return found._replace(value=found.value / (units(form) or 1))


def _seconds_of_texts(values: pa.Array, nulls: Collection[str], form: str | None = None) -> Readings:
    if per_second := units(form):
        counted = _numbers_of_texts(values, nulls)
        return counted._replace(value=counted.value / per_second)
    if form is not None:
        return _of_form(values, nulls, form)
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
        with suppress(pa.ArrowInvalid):
            return seconds(values.cast(pa.string()).cast(kind))
    found = _numbers_of_texts(values, nulls)
    for i in np.flatnonzero(found.bad):
        raw = values[int(i)].as_py()
        with suppress(ValueError, OverflowError):
            moment = datetime.fromisoformat(canonical(raw) or "")
            found.value[i] = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
            found.bad[i] = False
    return found


def _of_form(values: pa.Array, nulls: Collection[str], form: str) -> Readings:
    value, bad = np.full(len(values), math.nan), np.zeros(len(values), bool)
    for i, raw in enumerate(values.to_pylist()):
        try:
            text = canonical(raw)
            if text is not None and text not in nulls:
                value[i] = moment(text, form)
        except (ValueError, OverflowError):
            bad[i] = True
    return Readings(value, bad)


class Codes(NamedTuple):
    """A number for each different value, in their order, the same for every format; what is missing comes first."""

    code: Ints
    ordered: bool


def codes(column: pa.ChunkedArray) -> Codes:
    """The codes of a column; texts that are all numbers are numbers.

    >>> codes(pa.chunked_array([["10", "9", None, "10"]]))
    Codes(code=array([2, 1, 0, 2]), ordered=True)
    >>> codes(pa.chunked_array([["flu", None, "flu"]]))
    Codes(code=array([1, 0, 1]), ordered=False)
    """
    if pa.types.is_nested(column.type):
        column = pa.chunked_array([pa.array([None if each is None else repr(each) for each in column.to_pylist()])])
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if not pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_encode()
    place = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    number = _as_numbers(whole.dictionary)
    rank = _ranks(whole.dictionary) if number is None else _number_ranks(whole.dictionary, number)
    return Codes(np.append(rank, -1)[place] + 1, number is not None)


def codes_of_meaning(column: pa.ChunkedArray, nulls: Collection[str]) -> Codes:
    """The codes of a column in which values that the policy takes for the same are the same, and its nulls are missing.

    >>> codes_of_meaning(pa.chunked_array([["flu ", "flu", "?", "", None, "cold"]]), ["?"]).code.tolist()
    [2, 2, 0, 0, 0, 1]
    """
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    text, bad = canonical_column(whole)
    if bad.any():
        return codes(column)
    missing = pc.is_in(text, value_set=pa.array(["", *nulls], pa.string()))
    return codes(pa.chunked_array([pc.if_else(missing, pa.scalar(None, pa.string()), text)]))


def codes_as_written(column: pa.ChunkedArray) -> Ints:
    """A number for each different value, 0 for null; values are different if they are published in different ways.

    >>> codes_as_written(pa.chunked_array([["1.5", "1.50", None, "1.5"]])).tolist()
    [1, 2, 0, 1]
    >>> codes_as_written(pa.chunked_array([[0.0, -0.0]])).tolist()
    [1, 2]
    """
    if pa.types.is_nested(column.type):
        shown = [None if each is None else repr(each) for each in column.to_pylist()]
        column = pa.chunked_array([pa.array(shown, pa.string())])
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    whole = pa.chunked_array(column.cast(kind)).combine_chunks()
    if pa.types.is_float64(kind):
        whole = whole.view(pa.int64())
    return whole.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1


def _number_ranks(values: pa.Array, number: Floats) -> Ints:
    """The order of numbers, also of those with more digits than a double holds.

    >>> values = pa.array([2**53 + 1, 2**53, 3])
    >>> _number_ranks(values, values.cast(pa.float64(), safe=False).to_numpy()).tolist()
    [2, 1, 0]
    """
    if not np.isfinite(number).all() or not (np.abs(number) >= 2**53).any():
        return np.unique(number, return_inverse=True)[1]
    exact = [Decimal(str(value.decode() if isinstance(value, bytes) else value)) for value in values.to_pylist()]
    place = {value: rank for rank, value in enumerate(sorted({*exact}))}
    return np.array([place[value] for value in exact])


def _ranks(values: pa.Array) -> Ints:
    kind = values.type
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        values = values.cast(pa.string())
    return pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64) - 1


def _as_numbers(values: pa.Array) -> Floats | None:
    if pa.types.is_boolean(values.type) or pa.types.is_null(values.type) or not len(values):
        return None
    try:
        return pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
