"""What z-anonymity is judged by: the input, the output and the trace, as arrays, and the recount."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.audit.alignment import placed
from shoal.audit.equality import altered, joint
from shoal.audit.files import Source
from shoal.audit.finding import Judged
from shoal.audit.manifest import Span
from shoal.audit.observations.items import BLANK, Nodes, nodes, predict
from shoal.audit.observations.recount import Recount, recount
from shoal.audit.original import original
from shoal.audit.published import published
from shoal.audit.trace import NO_ROW, WITHHELD, FilterTrace, read_filter_trace
from shoal.audit.values import Flags, Floats, Ints, canonical_column, seconds
from shoal.policy import Item, Policy, Zanon

NO_LEVEL = -1
_PSEUDONYM = r"^[0-9a-f]{32}$"


@dataclass(frozen=True, eq=False, kw_only=True)
class Observed(Judged):
    """The n readable observations of the input in the order of arrival, and the m rows of the output."""

    rule: Zanon
    item: Item
    nodes: Nodes
    user: NDArray[np.int32]
    time: Floats  # seconds since 1970
    kept: dict[str, pa.ChunkedArray]  # of the input; the time too
    pseudonym: Ints  # of each row of the output, a number; -1 where there is none
    raw: Flags  # of each row of the output: the person's field holds a user of the input
    formed: Flags  # of each row of the output: the person's field looks like a pseudonym
    count: Recount  # the users of each item at each moment
    trace: FilterTrace | None  # where none was given, the predicted one if the output agrees with it
    releases: FilterTrace | None
    strange: Ints | None  # without a trace: the rows that were not predicted; None if no prediction is possible
    missing: Ints  # the observations that were predicted to leave, and did not

    @property
    def time_field(self) -> str:
        """The name of the field with the time."""
        assert self.policy.time is not None
        return self.policy.time.field

    @property
    def least(self) -> int:
        """The z that is certain from the policy alone: z, or the floor of one that follows the stream."""
        return self.rule.z if isinstance(self.rule.z, int) else self.rule.z.floor

    @property
    def fixed(self) -> bool:
        """Whether z is the same throughout."""
        return isinstance(self.rule.z, int)

    @property
    def accepted(self) -> int:
        """How many observations were not too late."""
        return len(self.line) - int(self.count.rejected.sum())

    @cached_property
    def linked(self) -> Ints:
        """The rows of the output whose observation the trace names."""
        return np.flatnonzero(self.traced.row != NO_ROW)

    @property
    def traced(self) -> FilterTrace:
        """The trace of each row, which there must be."""
        assert self.trace is not None
        return self.trace

    @cached_property
    def level(self) -> Ints:
        """How far above its item each linked row is shown: 0 is the item itself; NO_LEVEL: no ancestor of it, or blank."""
        hit = self.nodes.path[self.traced.row[self.linked]] == self.nodes.shown[self.linked, None]
        return np.where(hit.any(axis=1), hit.argmax(axis=1), NO_LEVEL)

    @cached_property
    def period(self) -> Ints:
        """The number of the period that each observation lies in, in the order of time."""
        return self.periods(self.time)

    def periods(self, time: Floats) -> Ints:
        """The number of the period that each of these times lies in, from 0."""
        window = self.rule.window
        return np.unique(np.floor_divide(time, window) if window else time, return_inverse=True)[1]

    @cached_property
    def shown_time(self) -> Floats:
        """The time that each row of the output shows, NaN where it shows none."""
        column, form = self.shown[self.time_field], self.policy.input.times.get(self.time_field)
        return np.concatenate([seconds(chunk, (), form).value for chunk in column.chunks] or [np.empty(0)])


def observe(
    policy: Policy,
    source: Source,
    target: Source,
    trace: Source | None = None,
    on_rows: Callable[[str, int], None] = lambda what, rows: None,
    late: float | None = None,
    ahead: float | None = None,
    span: Span | None = None,
) -> Observed:
    """Read the input, the output and, if there is one, the trace."""
    rule, item, person = policy.algorithm, policy.item, policy.person
    assert isinstance(rule, Zanon) and item is not None and person is not None
    before = original(policy, source, {}, lambda rows: on_rows("input", rows), late, ahead, span)
    after = published(policy, target, {}, lambda rows: on_rows("output", rows), span)
    assert before.time is not None
    releases = None if trace is None else read_filter_trace(trace, before.line, lambda rows: on_rows("trace", rows), span)
    found = nodes(item, before.item, after.passed)
    shown = {name: column for name, column in after.passed.items() if name in before.passed}
    count = recount(found.path, before.person, before.time, rule.window)
    place, strange, missing = np.full(after.rows, -1, np.int64), None, np.empty(0, np.int64)
    if releases is not None:
        place = placed(after.rows, len(releases.row), partial(_Fit, found, before.passed, shown, releases))
    elif isinstance(rule.z, int) and not {*item.names, *before.passed} & {*after.absent}:
        predicted, node = predict(found.path, count, rule.z, rule.withheld == "blank")
        if np.array_equal(node, found.shown) and not any(
            altered(before.passed[name], column, predicted.row).any() for name, column in shown.items()
        ):
            releases, place, strange = predicted, np.arange(after.rows), missing
        else:
            strange, missing = _differences(after.rows, predicted, _Fit(found, before.passed, shown, predicted, node))
    parts = [canonical_column(chunk)[0] for chunk in after.passed[person].chunks]
    names = pa.chunked_array(parts, pa.string()).combine_chunks()
    return Observed(
        policy=policy,
        rule=rule,
        item=item,
        nodes=found,
        user=before.person,
        time=before.time,
        kept=before.passed,
        line=before.line,
        rows=before.rows,
        shown=shown,
        pseudonym=names.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64),
        raw=pc.and_(pc.is_in(names, value_set=before.persons), names.is_valid()).to_numpy(zero_copy_only=False),
        formed=pc.match_substring_regex(names, _PSEUDONYM).fill_null(False).to_numpy(zero_copy_only=False),
        unlisted=after.unlisted,
        absent=after.absent,
        spare=after.spare,
        forms=after.forms,
        span=span,
        count=count,
        trace=None if releases is None else releases.at(place),
        releases=releases,
        strange=strange,
        missing=missing,
        place=place,
    )


def _differences(rows: int, predicted: FilterTrace, fit: _Fit) -> tuple[Ints, Ints]:
    """The rows of the output that were not predicted, and the predicted observations that are not there."""
    place = placed(rows, len(predicted.row), lambda: fit)
    known = np.flatnonzero(place >= 0)
    known = known[fit(known, place[known])]
    return np.setdiff1d(np.arange(rows), known), np.delete(predicted.row, place[known])


class _Fit:
    """Whether rows of the output can be the observations that lines of the trace name; `node` is what each must show."""

    def __init__(
        self, nodes: Nodes, before: dict[str, pa.ChunkedArray], after: dict[str, pa.ChunkedArray], trace: FilterTrace,
        node: NDArray[np.int32] | None = None,
    ) -> None:  # fmt: skip
        self._nodes, self._trace, self._node = nodes, trace, node
        self._passed = [joint(before[name], after[name]) for name in after]

    def __call__(self, rows: Ints, lines: Ints) -> Flags:
        record, shown = self._trace.row[lines], self._nodes.shown[rows]
        held = self._trace.how[lines] == WITHHELD
        above = (self._nodes.path[record] == shown[:, None]).any(axis=1) if self._node is None else self._node[lines] == shown
        fits: Flags = (record != NO_ROW) & np.where(held, shown == BLANK, above)
        for old, new in self._passed:
            fits &= old[record] == new[rows]
        return fits
