"""Snapshots: an anonymizer's whole state as bytes. They contain the waiting records: protect them like the input."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import SnapshotError

VERSION = 4
_DIGEST = hashlib.sha256().digest_size


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
            raise SnapshotError("these bytes are no snapshot, or a damaged one; restore from an intact copy")
        arrays, kept = from_archive(content)
        header = json.loads(arrays.pop("header").tobytes())
        if header["version"] != VERSION:
            made = f"a snapshot of version {header['version']}, but this shoal reads {VERSION}"
            raise SnapshotError(f"{made}; use the shoal that made it")
        if header["policy"] != fingerprint:
            raise SnapshotError("a snapshot of another policy; restore it with the policy it was made under")
        return Snapshot(header, arrays, kept)


def archived(arrays: Mapping[str, NDArray[Any]], kept: pa.Table) -> bytes:
    """Arrays and a table as bytes."""
    out = io.BytesIO()
    np.savez(out, **arrays, kept=np.frombuffer(streamed(kept), np.uint8))  # type: ignore[arg-type]
    return out.getvalue()


def from_archive(data: bytes) -> tuple[dict[str, NDArray[Any]], pa.Table]:
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return arrays, pa.ipc.open_stream(arrays.pop("kept").tobytes()).read_all()


def streamed(table: pa.Table) -> pa.Buffer:
    """A table as an Arrow stream."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()
