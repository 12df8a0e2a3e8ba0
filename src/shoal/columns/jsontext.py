"""Columns that are passed through as JSON texts: what is written in them."""

from __future__ import annotations

import json

import pyarrow as pa

from shoal.policy import canonical

_MARK = b"shoal", b"json"  # as the readers of files mark such a column


def is_json(field: pa.Field) -> bool:
    """Whether a column holds JSON texts."""
    return bool(field.metadata) and field.metadata.get(_MARK[0]) == _MARK[1]


def meant(texts: pa.Array) -> pa.Array:
    """The texts of what is written.

    >>> meant(pa.array(['" flu"', "1.0", "null", "[1]", None])).to_pylist()
    ['flu', '1', None, '[1]', None]
    """
    encoded = texts.dictionary_encode()
    plain = [_meaning(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(plain, pa.large_string()).take(encoded.indices)


def _meaning(text: str) -> str | None:
    try:
        return canonical(json.loads(text))
    except (ValueError, RecursionError):  # too deep to be read again: it is as it is written
        return text
