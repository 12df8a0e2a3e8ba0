"""Snapshots: an anonymizer's whole state as bytes. They contain the waiting records: protect them like the input."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import SnapshotError

VERSION = 6
_DIGEST = hashlib.sha256().digest_size
_LENGTH = struct.Struct("<Q")
_BEFORE = b"PK"  # how the bytes begun until version 4


class Snapshot(NamedTuple):
    """A header, arrays, and the columns that are passed through, for the waiting tuples."""

    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    kept: pa.Table

    def to_bytes(self) -> bytes:
        header = json.dumps({"version": VERSION, **self.header}).encode()
        content = archived({"header": np.frombuffer(header, np.uint8), **self.arrays}, self.kept)
        return hashlib.sha256(content).digest() + content

    @staticmethod
    def from_bytes(data: bytes, fingerprint: str) -> Snapshot:
        """Raises `SnapshotError` unless the bytes are a whole snapshot of this version and this policy."""
        digest, content = data[:_DIGEST], data[_DIGEST:]
        if hashlib.sha256(content).digest() != digest:
            raise SnapshotError("these bytes are not a snapshot, or are damaged; restore from an intact copy")
        if content.startswith(_BEFORE):
            raise SnapshotError(f"a snapshot of version 4 or less, but this shoal reads {VERSION}; use the shoal that made it")
        arrays, kept = from_archive(content)
        header = json.loads(arrays.pop("header").tobytes())
        if header["version"] != VERSION:
            made = f"a snapshot of version {header['version']}, but this shoal reads {VERSION}"
            raise SnapshotError(f"{made}; use the shoal that made it")
        if header["policy"] != fingerprint:
            raise SnapshotError("a snapshot of another policy; restore it with the policy it was made under")
        return Snapshot(header, arrays, kept)


def archived(arrays: Mapping[str, NDArray[Any]], kept: pa.Table) -> bytes:
    """Arrays and a table as bytes: how long the contents are, the contents, and the arrays, one after the other.

    >>> given = {"a": np.arange(6.0).reshape(2, 3), "b": np.zeros((0, 2), np.int8), "c": np.zeros(2, [("x", "i4")])}
    >>> found, _ = from_archive(archived(given, pa.table({})))
    >>> found["a"].tolist(), found["b"].shape, found["c"].dtype.names
    ([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], (0, 2), ('x',))
    """
    columns = {**arrays, "kept": np.frombuffer(streamed(kept), np.uint8)}
    described = [(name, np.lib.format.dtype_to_descr(column.dtype), column.shape) for name, column in columns.items()]
    contents = json.dumps(described).encode()
    parts = (np.ascontiguousarray(column).tobytes() for column in columns.values())
    return b"".join([_LENGTH.pack(len(contents)), contents, *parts])


def from_archive(data: bytes) -> tuple[dict[str, NDArray[Any]], pa.Table]:
    (size,) = _LENGTH.unpack_from(data)
    at, found = _LENGTH.size + size, {}
    for name, kind, shape in json.loads(data[_LENGTH.size : at]):
        count = math.prod(shape)
        found[name] = np.frombuffer(data, np.lib.format.descr_to_dtype(kind), count, at).reshape(shape).copy()
        at += found[name].nbytes
    return found, pa.ipc.open_stream(found.pop("kept")).read_all()


def streamed(table: pa.Table) -> pa.Buffer:
    """A table as an Arrow stream."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()
