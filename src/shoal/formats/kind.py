"""The formats of files, by the suffix of their names."""

from __future__ import annotations

from shoal.errors import InputError

SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".csv", ".csv.gz", ".parquet", ".arrow")


def kind(path: str) -> str:
    """The format of a file, by its name.

    >>> kind("people.csv.gz"), kind("-")
    ('csv', 'jsonl')
    """
    if path == "-":
        return "jsonl"
    for suffix in SUFFIXES:
        if path.lower().endswith(suffix):
            return suffix.split(".")[1].replace("ndjson", "jsonl")
    known = ", ".join(SUFFIXES)
    if path.lower().endswith((".parquet.gz", ".arrow.gz")):
        raise InputError(f"{path}: Parquet and Arrow files compress themselves; name it without .gz")
    raise InputError(f"{path}: unknown kind of file; its name must end in one of {known}, or be - for JSON lines")
