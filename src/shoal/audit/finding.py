"""What a check of one promise found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.audit.manifest import Span
from shoal.audit.trace import NO_ROW
from shoal.policy import Policy

SHOWN = 20


class Verdict(StrEnum):
    """How a promise fared."""

    HELD = "held"
    BROKEN = "broken"
    NOT_CHECKABLE = "not checkable"
    NOT_PROMISED = "not promised"


@dataclass(frozen=True)
class Violation:
    """One place where a promise was broken, without any value. Rows count from 0 here, and from 1 where they are shown."""

    what: str
    output_row: int | None = None
    input_row: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        """The place and what is wrong there.

        >>> str(Violation("the value lies outside what is published", 7, 12, "age"))
        "output row 8, input row 13, 'age': the value lies outside what is published"
        """
        places = [
            f"output row {self.output_row + 1}" if self.output_row is not None else "",
            f"input row {self.input_row + 1}" if self.input_row is not None else "",
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

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types; rows count from 1.

        >>> Finding("true", "", Verdict.BROKEN, violations=(Violation("wrong", 7),)).to_dict()["violations"]
        ({'what': 'wrong', 'output_row': 8, 'input_row': None, 'field': None},)
        """
        shown = [
            replace(each, output_row=_from_one(each.output_row), input_row=_from_one(each.input_row))
            for each in self.violations
        ]
        return asdict(replace(self, violations=tuple(shown)))


def _from_one(row: int | None) -> int | None:
    return None if row is None else row + 1


class Lines(Protocol):
    """The lines of a trace of either kind."""

    @property
    def row(self) -> NDArray[np.int64]: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """What the evidence on tuples and on observations has in common."""

    policy: Policy
    rows: int  # of the input, rejected ones included
    line: NDArray[np.int64]  # the input row of each record that can be read, from 0
    shown: dict[str, pa.ChunkedArray]  # values that are passed through, of the output
    unlisted: list[str]  # fields of the output that the policy does not list
    absent: list[str]  # fields that the policy lists and the output does not have
    spare: dict[str, int]  # how many values lie in the dictionary of a field of the output that no row shows
    forms: Mapping[str, NDArray[np.int64]]  # rows of the output that are written in another form, as a whole or in a field
    span: Span | None  # of a stream that goes on; None: it has ended, and all of it is judged
    trace: Lines | None  # of each row of the output
    releases: Lines | None  # the trace as it was written, line by line
    place: NDArray[np.int64]  # the line of the trace for each row of the output, -1 where there is none

    @property
    def accepted(self) -> int:
        """How many records were accepted."""
        return len(self.line)

    @property
    def released(self) -> int:
        """How many rows the output has."""
        return len(self.place)


class Docket:
    """Collects violations, of which only the first are kept."""

    def __init__(self, evidence: Judged) -> None:
        self._evidence = evidence
        self._found: list[Violation] = []
        self.broken = 0

    def fields(self, names: Iterable[str]) -> None:
        """A violation for each of these fields that the output does not have."""
        for name in names:
            if name in self._evidence.absent:
                self.add("the output does not have this field", field=name)

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
        releases = self._evidence.releases
        assert releases is not None
        self.broken += len(lines)
        for line in lines[:SHOWN].tolist():
            shown = np.flatnonzero(self._evidence.place == line)
            row = int(releases.row[line])
            where = None if row == NO_ROW else int(self._evidence.line[row])
            self._found.append(Violation(what, int(shown[0]) if len(shown) else None, where, field))

    def records(self, rows: NDArray[np.integer], what: str) -> None:
        """A violation for each of these accepted records."""
        self.broken += len(rows)
        self._found.extend(Violation(what, None, int(self._evidence.line[row])) for row in rows[:SHOWN].tolist())

    def finding(self, promise: str, says: str, otherwise: Verdict = Verdict.HELD, **more: Any) -> Finding:
        """The finding: broken if any violation was added, else the verdict `otherwise`."""
        verdict = Verdict.BROKEN if self.broken else otherwise
        order = sorted(self._found, key=lambda each: (each.output_row is None, each.output_row or 0, each.input_row or 0))
        return Finding(promise, says, verdict, broken=self.broken, violations=tuple(order[:SHOWN]), **more)

    def _input(self, row: int) -> int | None:
        trace = self._evidence.trace
        if trace is None or trace.row[row] == NO_ROW:
            return None
        return int(self._evidence.line[trace.row[row]])
