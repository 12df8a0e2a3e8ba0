"""A job: all data that the steps of one query need. Spark sends it to the executors with the query, secrets included."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from shoal.errors import StateError
from shoal.pipeline import Damaged, FileCipher
from shoal.policy import Policy
from shoal.spark.routing import Routing

_OTHER_TREE = "split_tree: is not the one that the state was made with; give that of this query, or use another checkpoint"


@dataclass(frozen=True, kw_only=True)
class Job:
    policy: Policy
    routing: Routing
    whole: tuple[bool, ...]
    """For each quasi-identifier: whether it is published as whole numbers."""

    published: pa.Schema
    secret: str = field(repr=False)
    """It encrypts the state, and the key of the fingerprints is derived from it."""

    pseudonyms: bytes | None = field(default=None, repr=False)
    """The secret of the pseudonyms under z-anonymity."""

    strict: bool = False
    max_rejected: float = 1.0
    late: float | None = None
    """How many seconds the time of a record may be behind; None if that does not matter."""

    traced: bool = False

    @cached_property
    def key(self) -> NDArray[np.uint64]:
        """The key of the fingerprints: the same in every lane, and the same if a step is run again."""
        derived = HKDF(SHA256(), 16, self.policy.fingerprint.encode(), b"shoal fingerprints").derive(self.secret.encode())
        return np.frombuffer(derived, np.uint64).copy()

    @cached_property
    def cipher(self) -> FileCipher:
        return FileCipher(self.secret)

    @property
    def lanes(self) -> int:
        return len(self.routing.keys) - 1

    def counts(self, arrived: NDArray[np.int64]) -> bytes:
        """Arrivals as messages tell them: of each lane under `count`, which numbers them all; else only how many there were."""
        counting = self.policy.window is not None and self.policy.window.kind == "count"
        return (arrived if counting else arrived.sum(keepdims=True)).astype(np.int64).tobytes()

    def sealed(self, header: dict[str, Any], state: bytes) -> bytes:
        """The encrypted state of a lane, as it is stored between batches."""
        out = io.BytesIO()
        writer = self.cipher.writer(out)
        writer.add(json.dumps({"routing": self.routing.digest, **header}).encode())
        writer.add(state)
        return out.getvalue()

    def opened(self, data: bytes) -> tuple[dict[str, Any], bytes]:
        """The decrypted header and state of a lane.

        Raises
        ------
        StateError
            The state is damaged, or was encrypted with another key or under another split tree.
        """
        try:
            header, state = self.cipher.pieces(data)
        except (Damaged, ValueError):
            raise StateError("the state of a lane is damaged; start with another checkpoint") from None
        found = json.loads(header)
        if found["routing"] != self.routing.digest:
            raise StateError(_OTHER_TREE)
        return found, state
