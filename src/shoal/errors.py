"""Every error that shoal raises on purpose. A message names the place, the bound and the remedy, and never the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class ShoalError(Exception):
    """The root of the tree: catch this to catch all of them.

    Where a long batch is taken in piece by piece, `released` holds what had left in the same call before.
    """

    released: Any = None


class PolicyError(ShoalError):
    """A policy, or a hierarchy it names, cannot be used; `problems` lists everything that is wrong with it."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class InputError(ShoalError):
    """A file cannot be read or written: absent, of an unknown kind, or broken."""


class RecordError(ShoalError):
    """A record was refused while `strict` was asked for."""


class SnapshotError(ShoalError):
    """Bytes that are no snapshot, of another version, or of another policy."""


class WorkerError(ShoalError):
    """Work on a stream failed half done; the stream must go on from its last snapshot.

    Who goes on from a snapshot that was made before the call drops what the error says was `released`: it leaves again.
    """


class ModelError(ShoalError):
    """A parameter of the model of z-anonymity is out of its bounds."""


class ConnectorError(ShoalError):
    """A source or a sink cannot be used: not reachable, refused, or it holds what is not ours."""


class StateError(ShoalError):
    """What a pipeline remembers cannot be used: damaged, of another policy, under another key, or older than its output."""
