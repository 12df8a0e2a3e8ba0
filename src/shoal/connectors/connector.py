"""The interface of sources and sinks: all that a new connector needs to know.

The pipeline reads deliveries, writes their positions to its journal, and writes released tuples with a number for each. After a
crash it begins again at a saved position and number, and everything is repeated in the same order. So a source must replay its
deliveries, or the journal keeps them; and a sink skips tuples that it already has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from shoal.dialect import USUAL, Dialect
from shoal.errors import ConnectorError
from shoal.formats import Block
from shoal.shapes import Shape

MOST = 64 << 20  # bytes after which a delivery ends: the journal keeps it as one piece, which must be far below 2 GiB

Position = Mapping[str, Any]
"""The position of a source, or what a sink has, in types of JSON. Dead letters show its numbers and texts, so values that come
from the records themselves must be inside a list."""

Payload = bytes | Block  # whole records: lines of JSON or CSV, an Arrow stream, or a parsed block
Format = Literal["json", "csv", "arrow"]


class Delivery(NamedTuple):
    """Some payloads of a source, and its position after them."""

    payloads: Sequence[Payload]
    position: Position


class Source(ABC):
    """Where records come from.

    Calls come from one thread, in this order: `begin`, `replay` any number of times, then `read` and `acknowledge`, `close`.
    A source that does not replay begins after the last payload that the journal keeps.
    """

    identity: tuple[str, ...] = ()
    """The settings that identify it: with another value it is another source, which is read from its beginning."""

    replays: bool
    """Whether it can repeat its deliveries. If not, the journal keeps the payloads, as bytes, and `acknowledge` follows each
    delivery at once; otherwise it follows a checkpoint."""

    numbers_blocks = True
    """Whether rows of its blocks are numbered from the beginning of the stream; otherwise from that of the delivery."""

    format: Format = "json"  # of its payloads
    columns: Sequence[str] = ()  # the names of the columns of CSV
    fields: Sequence[str] = ()  # the fields that are needed, for sources that can read some fields and not others
    passed: Sequence[str] = ()  # those of them that are only passed through
    dialect: Dialect = USUAL  # how CSV is written
    lines_before: int | None = None  # the lines of the file before its first delivery, if a record has a line
    ended = False  # whether it will never deliver anything again

    begin_is_harmless = False
    """Whether `begin` has no effect on others, not even on a pipeline that reads from it, so that a probe can call it."""

    @abstractmethod
    def begin(self, position: Position | None) -> Position:
        """Connect, and continue after a position; without one, at the place that the source itself keeps for its reader.

        Returns the position.
        """

    def probe(self, position: Position | None) -> bool:
        """Check whether it could begin there, without any change, also while a pipeline reads from it. False if only `begin`
        would tell. The source has not begun, and need not be closed. Raises ConnectorError or InputError if it could not.
        """
        if self.begin_is_harmless:
            with closing(self):
                self.begin(position)
        return self.begin_is_harmless

    def replay(self, until: Position) -> Sequence[Payload]:
        """Repeat the payloads from here up to a position, in the same order. Raises ConnectorError if they no longer exist."""
        raise NotImplementedError

    @abstractmethod
    def read(self, seconds: float) -> Delivery | None:
        """The next delivery, as soon as there is one; None after this many seconds, or while there is no connection."""

    @abstractmethod
    def acknowledge(self, position: Position) -> None:
        """Everything before the position is safe, and will not be replayed."""

    @property
    def connected(self) -> bool | None:
        """Whether there is a connection now; None where that is unknown. From any thread."""
        return None

    @property
    def lag(self) -> int | None:
        """How many messages, or bytes of a file, wait to be read; None where that is unknown."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Also after a `begin` that failed, or before any."""


class Sink(ABC):
    """Where anonymized tuples go.

    Calls come from one thread, in this order: `begin`, `write` for the replay, `caught_up`, then `write` for new tuples.
    """

    identity: tuple[str, ...] = ()  # the settings that identify it: with another value it is another sink, which is empty
    fields: Sequence[str] = ()  # the fields of the tuples
    shape: Shape = Shape(())  # what these hold
    schema: pa.Schema | None = None  # their types, as far as the policy tells; null for others
    forms: Mapping[str, str] = {}  # of times that are published as they came, unless they are ISO 8601 or seconds
    spool: Path | None = None  # a file of the state for tuples that were written and are not stored yet
    remembers: bool
    """Whether it knows which numbers it has, so that no tuple is in it twice. If not, a replay writes tuples again."""

    begin_is_harmless = False
    """Whether `begin` has no effect on others, not even on a pipeline that writes to it, so that a probe can call it."""

    @abstractmethod
    def begin(self, mark: Position | None, sequence: int) -> None:
        """Connect. `mark` is its own in a checkpoint, before which `sequence` tuples had left; None at the first start.

        Raises ConnectorError if it already holds something at the first start.
        """

    def probe(self, mark: Position | None, sequence: int) -> bool:
        """Check whether it could begin so, without any change, also while a pipeline writes to it. False if only `begin`
        would tell. The sink has not begun, and need not be closed. Raises ConnectorError if it could not.
        """
        if self.begin_is_harmless:
            with closing(self):
                self.begin(mark, sequence)
        return self.begin_is_harmless

    def outlook(self) -> Sequence[str]:
        """What a start would change, and what readers should know: lines for `--check`, after a probe."""
        return ()

    @property
    def delay(self) -> float:
        """How many seconds tuples wait at most, after they were written, until a commit begins that readers see."""
        return 0.0

    @abstractmethod
    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        """Publish tuples, of which the first has this number. Returns once they are stored, or in the spool."""

    def store_waiting(self, everything: bool = False) -> None:  # noqa: B027
        """Store tuples of the spool that have waited long enough, or all of them. Called ten times a second, and at the end."""

    @abstractmethod
    def caught_up(self, sequence: int) -> None:
        """The replay is complete, up to this number.

        Raises ConnectorError if it has larger numbers, so the state of the pipeline is too old.
        """

    def take_over(self, sequence: int) -> int:
        """Leave what it holds beyond this number as it is, since the state that knew of it is lost; the next number."""
        if self.remembers:
            raise ConnectorError("the sink holds tuples that the state does not know of; start with another sink and state")
        return sequence

    @property
    def connected(self) -> bool | None:
        """Whether there is a connection now; None where that is unknown. From any thread."""
        return None

    @property
    def mark(self) -> Position:
        """What a checkpoint saves of it."""
        return {}

    def make_durable(self) -> None:  # noqa: B027
        """Make everything written so far durable; may be called from another thread, during `write`."""

    @abstractmethod
    def close(self) -> None:
        """Also after a `begin` that failed, or before any."""


class Arrived(Protocol):
    """A message that was received and waits to be read."""

    @property
    def payload(self) -> bytes: ...


A = TypeVar("A", bound=Arrived)


def take_delivery(waiting: deque[A]) -> list[A]:
    """Remove from the front the messages of one delivery: at least one, if there is any, and about `MOST` bytes."""
    taken: list[A] = []
    size = 0
    while waiting and size < MOST:
        taken.append(waiting.popleft())
        size += len(taken[-1].payload)
    return taken
