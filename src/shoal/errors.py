"""Every error that shoal raises on purpose. A message names the place, the bound and the remedy, and never the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class ShoalError(Exception):
    """The root of the tree: catch this to catch all of them.

    `released` holds the tuples that the same call had released before, of a long batch.
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


class RejectedError(ShoalError):
    """More records were rejected than `max_rejected` allows; the output was kept as a draft, if it is a file.

    `stats` holds the figures of the run, and `draft` the path of the draft, None if the output was a stream.
    """

    def __init__(self, text: str, stats: Any, draft: str | None) -> None:
        self.stats = stats
        self.draft = draft
        super().__init__(text)


class SnapshotError(ShoalError):
    """Bytes that are no snapshot, of another version, or of another policy."""


class WorkerError(ShoalError):
    """Work on a stream failed half done; the stream must go on from its last snapshot.

    A stream that goes on from a snapshot of before the call releases the tuples in `released` again: do not publish them.
    """


class AlgorithmError(ShoalError):
    """An algorithm in plain Python raised an exception, or chose tuples that it must not choose."""


class ModelError(ShoalError):
    """A parameter of the model of z-anonymity is out of its bounds."""


class ConnectorError(ShoalError):
    """A source or a sink cannot be used: not reachable, refused, or it holds the data of another."""


class StateError(ShoalError):
    """The state of a pipeline cannot be used: damaged, of another policy, under another key, or older than its output."""
