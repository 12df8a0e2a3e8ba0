"""What a source and a sink can do: all that a new connector needs to know.

The pipeline reads deliveries, remembers their positions in its journal, and writes what leaves with a number for each tuple.
After a crash it begins again at a position and a number that it remembers, and everything comes again in the same order: so a
source gives again what it gave, or leaves it to the journal to keep it, and a sink passes over what it has already.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

Position = Mapping[str, Any]
"""Where a source stands, or what a sink has: what JSON can hold."""

Payload = bytes | pa.RecordBatch
"""Whole records: lines of JSON or CSV, an Arrow stream, or a batch that is read already."""


class Delivery(NamedTuple):
    """What a source gives at a time, and where it stands then."""

    payloads: Sequence[Payload]
    position: Position


class Source(ABC):
    """Where records come from.

    Calls come from one thread, in this order: `begin`, `replay` any number of times, then `read` and `acknowledge`, `close`.
    """

    replays: bool
    """Whether it can give again what it gave. If not, the journal keeps the payloads, as bytes, and `acknowledge` follows each
    delivery at once; otherwise it follows a checkpoint."""

    ended = False
    """Whether nothing will ever come any more."""

    @abstractmethod
    def begin(self, position: Position | None) -> None:
        """Connect, and go on behind a position; without one, where the source itself says that its reader stands."""

    def replay(self, until: Position) -> Sequence[Payload]:
        """Again what lies from here up to a position, in the same order.

        Raises:
            ConnectorError: it is not there any more.
        """
        raise NotImplementedError

    @abstractmethod
    def read(self, seconds: float) -> Delivery | None:
        """What comes next, as soon as anything is there; nothing if nothing comes for so long, or the connection is away."""

    @abstractmethod
    def acknowledge(self, position: Position) -> None:
        """What lies before is safe, and will not be asked for again."""

    @property
    def lag(self) -> int | None:
        """How many messages, or bytes of a file, wait to be read; None where that cannot be known."""
        return None

    @abstractmethod
    def close(self) -> None: ...


class Sink(ABC):
    """Where anonymized tuples go.

    Calls come from one thread, in this order: `begin`, `write` what comes again, `caught_up`, then `write` what is new.
    """

    remembers: bool
    """Whether it knows which numbers it has, so that nothing is in it twice. If not, what comes again is written again."""

    @abstractmethod
    def begin(self, mark: Position | None, sequence: int) -> None:
        """Connect. `mark` is what it told a checkpoint, before which `sequence` tuples had left; None at the very beginning.

        Raises:
            ConnectorError: at the very beginning, what is there already is not ours.
        """

    @abstractmethod
    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        """Publish tuples, of which the first has this number. It returns when they are there, however long that takes."""

    @abstractmethod
    def caught_up(self, sequence: int) -> None:
        """Everything came again, up to this number.

        Raises:
            ConnectorError: numbers from there on are in it, so that what the pipeline remembers is too old.
        """

    def settle(self) -> Position:
        """Make everything written durable; what a checkpoint should remember of it."""
        return {}

    @abstractmethod
    def close(self) -> None: ...
