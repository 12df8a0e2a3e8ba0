"""What a source and a sink can do: all that a new connector needs to know.

The pipeline reads deliveries, remembers their positions in its journal, and writes what leaves with a number for each tuple.
After a crash it begins again at a position and a number that it remembers, and everything comes again in the same order: so a
source gives again what it gave, or leaves it to the journal to keep it, and a sink passes over what it has already.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from shoal.formats import Block

Position = Mapping[str, Any]
"""Where a source stands, or what a sink has: what JSON can hold. Its numbers and texts are told in dead letters, so that what
comes from the records themselves must stand in a list."""

Payload = bytes | Block
"""Whole records: lines of JSON or CSV, an Arrow stream, or a block that is read already."""

Format = Literal["json", "csv", "arrow"]


class Delivery(NamedTuple):
    """What a source gives at a time, and where it stands then."""

    payloads: Sequence[Payload]
    position: Position


class Source(ABC):
    """Where records come from.

    Calls come from one thread, in this order: `begin`, `replay` any number of times, then `read` and `acknowledge`, `close`.
    One that does not replay begins behind all that the journal kept of it.
    """

    identity: tuple[str, ...] = ()
    """The settings by which it is known: with another value it is another source, which is read from its beginning."""

    replays: bool
    """Whether it can give again what it gave. If not, the journal keeps the payloads, as bytes, and `acknowledge` follows each
    delivery at once; otherwise it follows a checkpoint."""

    format: Format = "json"
    """What its payloads are."""

    columns: Sequence[str] = ()
    """The names of the columns of CSV."""

    fields: Sequence[str] = ()
    passed: Sequence[str] = ()
    """What is asked for, and what of it is only passed through: for sources that can read some fields and not others."""

    ended = False
    """Whether nothing will ever come any more."""

    begins_unnoticed = False
    """Whether a beginning changes nothing for others, not even for a pipeline that reads from it, so a probe can be one."""

    @abstractmethod
    def begin(self, position: Position | None) -> Position:
        """Connect, and go on behind a position; without one, where the source itself says that its reader stands.

        Where it stands now.
        """

    def probe(self, position: Position | None) -> bool:
        """Look whether it could begin there, also while a pipeline reads from it, and change nothing; False if only a beginning
        would tell. It is a source that has not begun, and need not be closed.

        Raises
        ------
        ConnectorError, InputError
            It could not.
        """
        if self.begins_unnoticed:
            with closing(self):
                self.begin(position)
        return self.begins_unnoticed

    def replay(self, until: Position) -> Sequence[Payload]:
        """Again what lies from here up to a position, in the same order.

        Raises
        ------
        ConnectorError
            It is not there any more.
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
    def close(self) -> None:
        """Also after a `begin` that failed, or before any."""


class Sink(ABC):
    """Where anonymized tuples go.

    Calls come from one thread, in this order: `begin`, `write` what comes again, `caught_up`, then `write` what is new.
    """

    identity: tuple[str, ...] = ()
    """The settings by which it is known: with another value it is another sink, which is empty."""

    remembers: bool
    """Whether it knows which numbers it has, so that nothing is in it twice. If not, what comes again is written again."""

    begins_unnoticed = False
    """Whether a beginning changes nothing for others, not even for a pipeline that writes to it, so a probe can be one."""

    @abstractmethod
    def begin(self, mark: Position | None, sequence: int) -> None:
        """Connect. `mark` is what it told a checkpoint, before which `sequence` tuples had left; None at the very beginning.

        Raises
        ------
        ConnectorError
            At the very beginning, what is there already is not ours.
        """

    def probe(self, mark: Position | None, sequence: int) -> bool:
        """Look whether it could begin so, also while a pipeline writes to it, and change nothing; False if only a beginning
        would tell. It is a sink that has not begun, and need not be closed.

        Raises
        ------
        ConnectorError
            It could not.
        """
        if self.begins_unnoticed:
            with closing(self):
                self.begin(mark, sequence)
        return self.begins_unnoticed

    @abstractmethod
    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        """Publish tuples, of which the first has this number. It returns when they are there, however long that takes."""

    @abstractmethod
    def caught_up(self, sequence: int) -> None:
        """Everything came again, up to this number.

        Raises
        ------
        ConnectorError
            Numbers from there on are in it, so that what the pipeline remembers is too old.
        """

    @property
    def mark(self) -> Position:
        """What a checkpoint should remember of it."""
        return {}

    def harden(self) -> None:  # noqa: B027
        """Make durable what was written before; it may be called from another thread, beside `write`."""

    @abstractmethod
    def close(self) -> None:
        """Also after a `begin` that failed, or before any."""
