"""Columns of any Arrow type as numbers, texts or times. A missing value is NaN or null; a wrong one is reported."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.columns.floats import parse_digits, take_floats, to_floats
from shoal.date_text import UNITS, moments, years
from shoal.errors import InputError
from shoal.number_text import PLAIN, Marks, plain_numbers
from shoal.path import in_batch
from shoal.policy import canonical

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?|nan", re.IGNORECASE | re.ASCII)


_BLANKS = " \t\n\v\f\r\x1c\x1d\x1e\x1f"  # the ASCII characters that `str.strip` removes
_UNITS = {"s": 1, "ms": 1e3, "us": 1e6}
LATEST = 9e12  # seconds; about the largest time that fits into 64 bits as microseconds


class Numbers(NamedTuple):
    """Values as float64, NaN if missing or wrong; and which are wrong."""

    values: NDArray[np.float64]
    wrong: NDArray[np.bool_]


def column(batch: pa.RecordBatch, field: str) -> pa.Array:
    """The column of a field, in a layout that Arrow can compute with; all null if the batch has no such field."""
    twins = len(batch.schema.get_all_field_indices(field))
    if twins > 1:
        raise InputError(f"'{field}': {twins} columns have this name; keep one")
    array = in_batch(batch, field)
    if array is None:
        return pa.nulls(batch.num_rows)
    if pa.types.is_run_end_encoded(array.type):
        return pc.run_end_decode(array)
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        return array.cast(pa.large_string() if pa.types.is_string_view(array.type) else pa.large_binary())
    return array


def numbers(array: pa.Array, nulls: Sequence[str], marks: Marks = PLAIN) -> Numbers:
    """Numbers, and strings that hold one, as float64. The marks are those of numbers in strings."""
    return _missing_as_nan(_numbers(array if marks == PLAIN else _unmarked(array, nulls, marks), nulls), nulls)


def _unmarked(array: pa.Array, nulls: Sequence[str], marks: Marks) -> pa.Array:
    """The same, with strings that hold a number written with a point."""
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, _unmarked(array.dictionary, nulls, marks))
    return plain_numbers(_without(array, nulls), marks) if _is_text(array.type) else array


def year_numbers(array: pa.Array, nulls: Sequence[str], form: str | None = None) -> Numbers:
    """The years of dates and times. A plain number is no date, unless the form counts units since 1970."""
    found = times(array, nulls, form)
    wrong = found.wrong | (np.abs(found.values) > LATEST)
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if form is None and not pa.types.is_temporal(kind):
        wrong |= ~np.isnan(numbers(array, nulls).values)
    return Numbers(years(np.where(wrong, np.nan, found.values)), wrong)


def times(array: pa.Array, nulls: Sequence[str], form: str | None = None) -> Numbers:
    """Times as seconds since 1970: numbers are seconds, strings are numbers or ISO 8601; without an offset they are UTC.

    With a form (`date_text`), strings have that form, and numbers count its units.
    """
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if form is not None and not pa.types.is_temporal(kind):
        if form in UNITS:
            counted = numbers(array, nulls)
            return Numbers(counted.values / UNITS[form], counted.wrong)
        return Numbers(*moments(texts(array, nulls), form))
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("s" if pa.types.is_date32(array.type) else "ms"))
    if pa.types.is_timestamp(array.type):
        if array.type.unit == "ns":
            array = array.cast(pa.timestamp("us", array.type.tz), safe=False)
        return Numbers(to_floats(array.cast(pa.int64())) / _UNITS[array.type.unit], np.zeros(len(array), bool))
    if _is_text(array.type) and not pc.any(pc.is_in(array, pa.array(nulls, array.type))).as_py():
        for zone in (None, "UTC"):
            try:
                stamps = array.cast(pa.timestamp("us", zone)).cast(pa.int64())
            except pa.ArrowInvalid:
                continue
            return Numbers(to_floats(stamps) / 1e6, np.zeros(len(array), bool))
    return _missing_as_nan(_numbers(array, nulls, _second), nulls)


def texts(array: pa.Array, nulls: Sequence[str]) -> pa.Array:
    """The `canonical` text of each value; null if it is missing or unreadable."""
    return _without(_texts(array), nulls)


def unreadable(array: pa.Array) -> NDArray[np.bool_]:
    """Which values are bytes that are not UTF-8."""
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)):
        return np.zeros(len(array), bool)
    indices, values = uniques(array)
    return np.array([*(value is not None and _text(value) is None for value in values), False])[indices]


def coded(array: pa.Array) -> tuple[pa.Array, list[Any]]:
    """(indices, values): the index of each row's value in the list of distinct values; null for null."""
    try:
        encoded = array if pa.types.is_dictionary(array.type) else pc.dictionary_encode(array)
    except pa.ArrowNotImplementedError:  # lists and the like
        return pa.array(np.arange(len(array)), mask=np.asarray(array.is_null())), plain(array)
    return encoded.indices, plain(encoded.dictionary)


def uniques(array: pa.Array) -> tuple[NDArray[np.signedinteger[Any]], list[Any]]:
    """As `coded`, with -1 for null."""
    indices, values = coded(array)
    if indices.null_count:
        indices = pc.fill_null(indices if pa.types.is_signed_integer(indices.type) else indices.cast(pa.int64()), -1)
    return indices.to_numpy(zero_copy_only=False), values


def plain(array: pa.Array) -> list[Any]:
    """Python values; a value that Python has no type for, such as nanoseconds, becomes text."""
    try:
        if not pa.types.is_temporal(array.type):
            return array.to_pylist()
    except (ValueError, OverflowError):
        pass
    return [_plain_one(scalar) for scalar in array]


def _plain_one(scalar: pa.Scalar) -> Any:
    """The Python value. If pandas is installed, Arrow returns pandas objects for times; these are converted."""
    try:
        value = scalar.as_py()
    except (ValueError, OverflowError):
        return str(scalar.cast(pa.string()))
    if not type(value).__module__.startswith("pandas"):
        return value
    fine = value.nanosecond if hasattr(value, "nanosecond") else value.nanoseconds
    if fine:
        return str(scalar.cast(pa.string()))
    return value.to_pydatetime() if hasattr(value, "nanosecond") else value.to_pytimedelta()


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _missing_as_nan(found: Numbers, nulls: Sequence[str]) -> Numbers:
    """A number whose text is in `nulls` is missing, whether it was given as text or as a number."""
    listed = [float(text) for text in nulls if _NUMBER.fullmatch(text)]
    if listed and np.isin(found.values, listed).any():
        return Numbers(np.where(np.isin(found.values, listed), np.nan, found.values), found.wrong)
    return found


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError
    return float(text)


def _second(text: str) -> float:
    if _NUMBER.fullmatch(text):
        return float(text)
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _numbers(array: pa.Array, nulls: Sequence[str], parse: Callable[[str], float] = _number) -> Numbers:
    kind = array.type
    if pa.types.is_dictionary(kind):
        values, wrong = _numbers(array.dictionary, nulls, parse)
        marked = take_floats(wrong.astype(np.float64), array.indices) == 1 if wrong.any() else np.zeros(len(array), bool)
        return Numbers(take_floats(values, array.indices), marked)
    if _is_number(kind) or pa.types.is_null(kind):
        return Numbers(to_floats(array), np.zeros(len(array), bool))
    if _is_text(kind):
        digits = parse_digits(array, blanks="" in nulls)
        if digits is not None:
            return Numbers(digits, np.zeros(len(array), bool))
        for missing in ((), nulls):
            text = _without(array, missing)
            try:
                values = to_floats(text)
            except pa.ArrowInvalid:
                continue
            if np.isnan(values).sum() == text.null_count:
                return Numbers(values, np.zeros(len(array), bool))
    return _one_by_one(array, nulls, parse)


def _without(array: pa.Array, texts: Sequence[str]) -> pa.Array:
    """The same strings, null where they are one of the texts."""
    if not texts:
        return array
    return pc.if_else(pc.is_in(array, pa.array(texts, array.type)), pa.scalar(None, array.type), array)


def _one_by_one(array: pa.Array, nulls: Sequence[str], parse: Callable[[str], float]) -> Numbers:
    """Read each distinct value once, in Python: for columns of mixed or unusual content."""
    indices, values = uniques(array)
    table, wrong = np.full(len(values) + 1, np.nan), np.zeros(len(values) + 1, bool)
    for i, value in enumerate(values):
        try:
            text = canonical(value)
            if text is not None and text not in nulls:
                if isinstance(value, bool):
                    raise ValueError
                table[i] = parse(text)
        except (ValueError, OverflowError):
            wrong[i] = True
    return Numbers(table[indices], wrong[indices])


def _texts(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _texts(array.dictionary).take(array.indices)
    if _is_text(kind):
        array = array.cast(pa.large_string())
        if is_ascii(array):
            return pc.ascii_trim(array, characters=_BLANKS)
        return pc.utf8_trim_whitespace(pc.utf8_normalize(array, form="NFC"))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return array.cast(pa.large_string())
    indices, values = uniques(array)
    return pa.array([*(_text(value) for value in values), None], pa.large_string()).take(
        pa.array(np.where(indices < 0, len(values), indices))
    )


def _text(value: Any) -> str | None:
    try:
        return canonical(value)
    except ValueError:
        return None


def is_ascii(array: pa.Array) -> bool:
    data = array.buffers()[2]
    return data is None or data.size == 0 or bool(np.frombuffer(data, np.uint8).max(initial=0) < 128)


def texts_of_json(texts: pa.Array) -> pa.Array:
    """Parse each JSON text; the texts of the parsed values.

    >>> texts_of_json(pa.array(['" flu"', "1.0", "null", "[1]", None])).to_pylist()
    ['flu', '1', None, '[1]', None]
    """
    encoded = texts.dictionary_encode()
    plain = [_meaning(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(plain, pa.large_string()).take(encoded.indices)


def _meaning(text: str) -> str | None:
    try:
        return canonical(json.loads(text))
    except (ValueError, RecursionError):  # too deep to parse: the JSON text itself
        return text
