"""Once work on a stream has failed, half done, nothing can be done any more but to go on from a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shoal.errors import ShoalError, WorkerError

_FAILED = "while tuples were taken in; nothing of this call has left: go on from the last snapshot, or run it again"
_STOPPED = "an earlier call failed; restore the last snapshot, and go on from there"


class Guard:
    """Knows whether the last piece of work came to its end."""

    def __init__(self) -> None:
        self._failed = False

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Around work that must be done whole. A refusal, which comes before anything is done, passes through."""
        self.ask()
        self._failed = True
        try:
            yield
        except ShoalError:
            self._failed = False
            raise
        except Exception as error:
            raise WorkerError(f"{type(error).__name__} {_FAILED}") from error
        self._failed = False

    def ask(self) -> None:
        """Whether anything can be done: raises `WorkerError` if not."""
        if self._failed:
            raise WorkerError(_STOPPED)
