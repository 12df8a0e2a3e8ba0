"""What a check of one promise found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.audit.trace import NO_ROW

SHOWN = 20


class Verdict(StrEnum):
    """How a promise fared."""

    HELD = "held"
    BROKEN = "broken"
    NOT_CHECKABLE = "not checkable"
    NOT_PROMISED = "not promised"


@dataclass(frozen=True)
class Violation:
    """One place where a promise was broken, without any value. Rows count from 0, without the header of a CSV."""

    what: str
    output_row: int | None = None
    input_row: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        """The place and what is wrong there.

        >>> str(Violation("the value lies outside what is published", 7, 12, "age"))
        "output row 7, input row 12, 'age': the value lies outside what is published"
        """
        places = [
            f"output row {self.output_row}" if self.output_row is not None else "",
            f"input row {self.input_row}" if self.input_row is not None else "",
            f"'{self.field}'" if self.field is not None else "",
        ]
        place = ", ".join(filter(None, places))
        return f"{place}: {self.what}" if place else self.what


@dataclass(frozen=True)
class Finding:
    """The verdict on one promise; `violations` are the first of `broken`."""

    promise: str
    says: str
    verdict: Verdict
    note: str = ""
    checked: int = 0
    broken: int = 0
    violations: tuple[Violation, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)


class Lines(Protocol):
    """What is told of releases, one after the other."""

    @property
    def row(self) -> NDArray[np.int64]: ...


class Places(Protocol):
    """What tells where a violation lies: see `Evidence`."""

    @property
    def line(self) -> NDArray[np.int64]: ...
    @property
    def trace(self) -> Lines | None: ...
    @property
    def releases(self) -> Lines | None: ...
    @property
    def place(self) -> NDArray[np.int64]: ...


class Docket:
    """Collects violations, of which only the first are kept."""

    def __init__(self, evidence: Places) -> None:
        self._evidence = evidence
        self._found: list[Violation] = []
        self.broken = 0

    def add(self, what: str, output_row: int | None = None, input_row: int | None = None, field: str | None = None) -> None:
        """One violation."""
        self.broken += 1
        self._found.append(Violation(what, output_row, input_row, field))

    def rows(self, rows: NDArray[np.integer], what: str, field: str | None = None) -> None:
        """A violation for each of these rows of the output."""
        self.broken += len(rows)
        for row in rows[:SHOWN].tolist():
            self._found.append(Violation(what, row, self._input(row), field))

    def lines(self, lines: NDArray[np.integer], what: str, field: str | None = None) -> None:
        """A violation for each of these lines of the trace."""
        told = self._evidence.releases
        assert told is not None
        self.broken += len(lines)
        for line in lines[:SHOWN].tolist():
            shown = np.flatnonzero(self._evidence.place == line)
            row = int(told.row[line])
            where = None if row == NO_ROW else int(self._evidence.line[row])
            self._found.append(Violation(what, int(shown[0]) if len(shown) else None, where, field))

    def records(self, rows: NDArray[np.integer], what: str) -> None:
        """A violation for each of these accepted records."""
        self.broken += len(rows)
        self._found.extend(Violation(what, None, int(self._evidence.line[row])) for row in rows[:SHOWN].tolist())

    def finding(self, promise: str, says: str, otherwise: Verdict = Verdict.HELD, **more: Any) -> Finding:
        """The finding: broken if anything was entered, else as it is told."""
        verdict = Verdict.BROKEN if self.broken else otherwise
        order = sorted(self._found, key=lambda each: (each.output_row is None, each.output_row or 0, each.input_row or 0))
        return Finding(promise, says, verdict, broken=self.broken, violations=tuple(order[:SHOWN]), **more)

    def _input(self, row: int) -> int | None:
        told = self._evidence.trace
        if told is None or told.row[row] == NO_ROW:
            return None
        return int(self._evidence.line[told.row[row]])
