"""Whether string columns hold valid UTF-8, which files only promise."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

NOT_UTF8 = "not valid UTF-8; give UTF-8"
NOT_UTF8_TEXT = "not valid UTF-8; is it in another encoding? (input.encoding)"  # of files whose encoding can be declared


def valid(columns: Iterable[pa.Array]) -> npt.NDArray[np.bool_] | None:
    """Which rows are valid UTF-8 in every string column; None if all are.

    >>> broken = pa.array([b"a", bytes([255])]).view(pa.string())
    >>> valid([broken])
    array([ True, False])
    """
    good: npt.NDArray[np.bool_] | None = None
    for column in columns:
        found = _valid(column)
        if found is not None:
            good = found if good is None else good & found
    return good


def filtered(column: pa.Array, good: npt.NDArray[np.bool_]) -> pa.Array:
    """The good rows; a dictionary keeps only the entries that they use."""
    column = column.filter(pa.array(good))
    if not pa.types.is_dictionary(column.type):
        return column
    return column.dictionary.take(column.indices).dictionary_encode().cast(column.type)


def is_utf8(text: bytes) -> bool:
    return text.isascii() or _decodes(text)


def as_letters(text: bytes) -> bytes:
    """Each byte as the character of that number, which is always UTF-8; ASCII is unchanged."""
    return text.decode("latin-1").encode()


def as_bytes(column: pa.Array) -> pa.Array:
    """The original bytes of strings that `as_letters` made, as strings.

    >>> as_bytes(pa.array([as_letters("é".encode()).decode()])).to_pylist()
    ['é']
    """
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, as_bytes(column.dictionary))
    return pa.array([value.encode("latin-1") for value in column.to_pylist()], pa.binary()).view(pa.string())


def _valid(column: pa.Array) -> npt.NDArray[np.bool_] | None:
    if pa.types.is_dictionary(column.type):
        entries = _valid(column.dictionary)
        if entries is None:
            return None
        codes: npt.NDArray[np.int64] = column.indices.cast(pa.int64()).fill_null(len(entries)).to_numpy()
        return np.append(entries, True)[codes]
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) or _is_ascii(column):
        return None
    binary = column.cast(pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary())
    try:
        binary.cast(column.type)
    except pa.ArrowInvalid:
        return np.array([_decodes(value) for value in binary.to_pylist()])
    return None


def _is_ascii(column: pa.Array) -> bool:
    """Whether the buffer of the strings holds ASCII only."""
    data = column.buffers()[2]
    return data is None or bool(np.frombuffer(data, np.uint8).max(initial=0) < 128)


def _decodes(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False
