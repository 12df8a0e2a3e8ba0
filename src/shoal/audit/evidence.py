"""What an audit judges by: the accepted input, the output, and the trace, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.audit.alignment import Tuples, placed, shows_roots
from shoal.audit.files import Source
from shoal.audit.finding import Judged
from shoal.audit.manifest import Span
from shoal.audit.nested import flat
from shoal.audit.original import Category, Numeric, Tree, original
from shoal.audit.published import Alike, Band, Node, Published, alike, published
from shoal.audit.second_output import SecondOutput
from shoal.audit.stable import compared, within_budget
from shoal.audit.trace import CLUSTER, NO_ROW, REUSE, SUPPRESSED, Replay, Trace, read_trace, replay
from shoal.audit.values import Flags, Floats, Ints
from shoal.policy import Policy


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence(Judged):
    """The accepted records, n of them in the order of arrival, and the m rows of the output."""

    original: dict[str, Numeric | Category]  # the quasi-identifiers of the input
    person: NDArray[np.int32]  # a number for each person; where the policy says so, each record its own
    time: Floats | None  # seconds since 1970
    sensitive: dict[str, pa.ChunkedArray]  # of the input; the labels of blocks, where those are published
    exact: dict[str, pa.ChunkedArray]  # of the input: the values of stable attributes that are published as blocks or in bags
    kept: dict[str, pa.ChunkedArray]  # of the input; the time too, where it is published as it is
    published: dict[str, Band | Node]  # the quasi-identifiers of the output
    moment: Band | None  # the generalized time, of the output
    trace: Trace | None
    releases: Trace | None
    bags: SecondOutput | None  # if it was given
    excused: (
        Flags  # of each accepted record: it may have left before the span that is judged, or leaves with what is not judged
    )
    suppressed: Flags  # of each row of the output: by the trace; without one, those that show the root everywhere
    written: Mapping[str, Ints] = field(default_factory=dict)  # of kept fields: which values are written alike
    unnamed: int = 0  # accepted records without a person, where the policy names one: each counts as a person
    clock: Floats | None = None  # when the records of a part of a stream came, which do not say so themselves
    cache: dict[str, Any] = field(default_factory=dict, repr=False)  # results that several checks need

    @property
    def time_field(self) -> str | None:
        """The name of the field with the records' own time."""
        return self.policy.time.field if self.policy.time else None

    @property
    def doubt(self) -> float:
        """The share of the quasi-identifiers of unsuppressed rows that say "or missing"."""
        shown = ~self.suppressed
        return float(np.mean([column.doubt[shown].mean() for column in self.published.values()])) if shown.any() else 0.0

    @property
    def row(self) -> dict[str, Band | Node]:
        """What an outsider sees of a row: the quasi-identifiers and, if it is published, the generalized time."""
        time = {self.time_field: self.moment} if self.time_field and self.moment else {}
        return {**self.published, **time}

    @cached_property
    def alike(self) -> Alike:
        """The classes of equal rows of the output."""
        return alike(self.row, self.suppressed)

    @cached_property
    def replay(self) -> Replay | None:
        """The trace by groups and moments."""
        return None if self.releases is None else replay(self.releases)

    def person_of(self, row: Ints) -> Ints:
        """The person of accepted records, -1 where there is no such record."""
        return np.append(self.person, -1)[row].astype(np.int64)

    @cached_property
    def persons(self) -> Ints | None:
        """The person of each row of the output, if there is a trace; a row without a record counts as a person of its own."""
        if self.trace is None:
            return None
        row = self.trace.row
        found = len(self.person) + np.arange(len(row))
        found[row >= 0] = self.person[row[row >= 0]]
        return found


def _shown(policy: Policy, releases: Trace, rows: int) -> Ints:
    """The lines of the trace that have a row in the output: under `suppressed: drop` not those of suppressed tuples.

    Where there are as many rows as lines nothing was dropped, and each line has its row.
    """
    lines = np.arange(len(releases.row))
    return lines[releases.how != SUPPRESSED] if policy.suppressed == "drop" and rows != len(lines) else lines


def _of_new_groups(policy: Policy, after: Published, releases: Trace, excused: Flags) -> tuple[Published, Trace]:
    """Without the tuples that reuse a group from before the span: its members are not known. Their records are excused."""
    known = np.isin(releases.cluster, releases.cluster[releases.how == CLUSTER])
    judged = (releases.how != REUSE) | known
    left = releases.row[~judged]
    excused[left[left != NO_ROW]] = True
    shown = judged[_shown(policy, releases, after.rows)]
    return (after.at(shown) if len(shown) == after.rows else after), releases.at(np.flatnonzero(judged))


def gather(
    policy: Policy,
    source: Source,
    target: Source,
    trace: Source | None = None,
    on_rows: Callable[[str, int], None] = lambda what, rows: None,
    late: float | None = None,
    ahead: float | None = None,
    span: Span | None = None,
    bags: SecondOutput | None = None,
) -> Evidence:
    """Read the input, the output and, if there is one, the trace. The bags have been read."""
    trees = {name: Tree.of(attribute.hierarchy) for name, attribute in policy.quasi if attribute.hierarchy}
    came = within_budget(policy, original(policy, source, trees, lambda rows: on_rows("input", rows), late, ahead, span))
    with flat(policy, target) as output:
        shown = published(policy, output, trees, lambda rows: on_rows("output", rows), span)
    before, after, exact = compared(policy, came, shown)
    releases = None if trace is None else read_trace(trace, before.line, lambda rows: on_rows("trace", rows), span)
    excused = np.zeros(len(before.line), bool)
    if span is not None and span.begin.released and releases is not None:
        excused = before.line < span.begin.received
        after, releases = _of_new_groups(policy, after, releases, excused)
    sensitive = [name for name, attribute in policy.attributes.items() if attribute.role == "sensitive"]
    sensitive = [name for name in sensitive if name not in policy.bags]
    place = np.full(after.rows, -1, np.int64)
    if releases is not None:
        lines = _shown(policy, releases, after.rows)
        some = releases.at(lines)
        found = placed(after.rows, len(lines), partial(Tuples, policy, before, after, some))
        place = np.append(lines, -1)[found]
    matched = None if releases is None else releases.at(place) if len(releases.row) != after.rows else releases
    roots = shows_roots(policy, after.quasi) & (policy.suppressed != "drop")
    return Evidence(
        policy=policy,
        original=before.quasi,
        person=before.person,
        time=before.time,
        sensitive={name: before.passed[name] for name in sensitive},
        exact=exact,
        kept={name: each for name, each in before.passed.items() if name not in sensitive and name not in policy.bags},
        bags=bags,
        line=before.line,
        rows=before.rows,
        published=after.quasi,
        shown=after.passed,
        moment=after.moment,
        unlisted=after.unlisted,
        absent=after.absent,
        spare=after.spare,
        forms=after.forms,
        written=after.written,
        unnamed=int((before.person >= len(before.persons)).sum()) if policy.person is not None else 0,
        span=span,
        trace=matched,
        releases=releases,
        place=place,
        excused=excused,
        suppressed=roots if matched is None else np.where(place < 0, roots, matched.how == SUPPRESSED),
    )
