"""Promises of an algorithm that holds a window; each is checked from the evidence alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.audit.algorithms import imputes
from shoal.audit.alignment import cover, is_hidden, is_root
from shoal.audit.classes import classes, promised
from shoal.audit.equality import no_more, same_counts
from shoal.audit.evidence import Evidence
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.original import Category, Numeric
from shoal.audit.promises import shared
from shoal.audit.promises.held import may_be_held
from shoal.audit.published import NO_NODE, NO_PAIR, NULL, NULL_KEY, Band, Keys, Node, keys
from shoal.audit.trace import CLUSTER, NO_CLUSTER, NO_ROW, REUSE, SUPPRESSED, Trace
from shoal.audit.values import Flags, Floats, Ints
from shoal.audit.withheld import withheld
from shoal.policy import Attribute

_TRUE = "each original value lies inside what is published, {}, a suppressed tuple shows the root"
_NULLS = {
    "blurred": "a missing value is missing or in doubt: in doubt where a member of the group has it, missing where none has it",
    "maybe": "a missing value stays missing",
    "extended": "or is blanked with its group, a missing value stays missing",
    "root": "a missing value is shown as the root",
}
_ALIKE = {
    "blurred": "all members of a group, and all tuples that reuse it, show exactly the same, nulls and doubts included",
    "maybe": "all members of a group, and all tuples that reuse it, show the same generalization",
    "extended": "all members of a group, and all tuples that reuse it, show exactly the same, nulls included",
    "root": "all members of a group, and all tuples that reuse it, show exactly the same",
}
_BARE = "is null, where nulls_match: root shows the root"
_UNKNOWN, _NONE, _SOME, _ALL = -1, 0, 1, 2  # how many members of a group have something
_ROUNDING = 4  # times the distance to the next double


def k_persons(evidence: Evidence) -> Finding:
    """Replay the trace; without one, count the rows that an outsider cannot tell apart."""
    says = "whenever a tuple leaves unsuppressed, the group whose generalization it shows counts at least k persons"
    releases, replay = evidence.releases, evidence.replay
    if releases is None or replay is None:
        return _k_rows(evidence, says)
    docket, k = Docket(evidence), evidence.policy.privacy.k
    member = replay.is_member
    member_person = np.where(member, evidence.person_of(releases.row[replay.line]), -1)
    count, left = replay.so_far(replay.first_seen(member_person)), replay.so_far(member.astype(np.int64))
    few = count < k
    docket.lines(replay.line[member & few], f"left in a group of fewer than k={k} persons")
    docket.lines(replay.line[~member & (left == 0)], "reuses a group that was not published before")
    docket.lines(replay.line[~member & (left > 0) & few], f"reuses a group of fewer than k={k} persons")
    nameless = releases.cluster == NO_CLUSTER
    docket.lines(np.flatnonzero((releases.how == CLUSTER) & nameless), "left in a group that is not named")
    docket.lines(np.flatnonzero((releases.how == REUSE) & nameless), "reuses a group that was not published before")
    sizes = count[member][np.unique(replay.group[member], return_index=True)[1]]
    figures: dict[str, Any] = {"k": k, "groups": len(sizes), "smallest": int(sizes.min()) if len(sizes) else None}
    figures["unnamed"] = evidence.unnamed
    note = "rows are counted as persons, since the policy names none" if evidence.policy.person is None else ""
    if evidence.unnamed:
        note = f"{evidence.unnamed:,} records name no person, and each is counted as one"
    checked = int((releases.how != SUPPRESSED).sum())
    return docket.finding("k persons", says, checked=checked, figures=figures, note=note)


def _k_rows(evidence: Evidence, says: str) -> Finding:
    docket, k = Docket(evidence), evidence.policy.privacy.k
    reading = promised(evidence.policy)
    found = classes(evidence, reading)
    size = found.size
    if reading == "maybe":
        size = size + np.where(_shows_nothing(evidence), np.count_nonzero(evidence.suppressed), 0)
    few = np.flatnonzero((size < k) & ~evidence.suppressed & ~found.unknown)
    docket.rows(few, f"fewer than k={k} rows look like it")
    figures = {"k": k, "smallest": found.smallest, "floor": found.floor}
    note = "without a trace rows that look alike are counted, as an outsider sees them, not persons"
    unknown = int(found.unknown.sum())
    if unknown:
        note += f"; {unknown:,} rows seem to match few others, and were not compared with all"
    checked = int((~evidence.suppressed).sum()) - unknown
    otherwise = Verdict.NOT_CHECKABLE if unknown else Verdict.HELD
    return docket.finding("k persons", says, otherwise=otherwise, checked=checked, figures=figures, note=note)


def _shows_nothing(evidence: Evidence) -> Flags:
    """Which rows show a root or null everywhere: rows that show roots alone, suppressed or not, look like them."""
    shown = ((evidence.published[name], attribute) for name, attribute in evidence.policy.quasi)
    return np.logical_and.reduce([is_root(column, attribute) | column.null for column, attribute in shown])


def support(evidence: Evidence) -> Finding:
    """Count, for each group, the members who have each quasi-identifier."""
    says = "what fewer than min_support persons of a group have is shown as the root by every row that shows it"
    docket, trace, least = Docket(evidence), evidence.trace, evidence.policy.privacy.support
    figures = {"min_support": least, "groups": 0}
    if trace is None:
        note = "needs a trace, which names the groups"
        return docket.finding("support", says, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    grouped = np.flatnonzero(~evidence.suppressed & (trace.cluster >= 0))
    _, group = np.unique(trace.cluster[grouped], return_inverse=True)
    groups = int(group.max(initial=-1)) + 1
    record = trace.row[grouped]
    is_member = (trace.how[grouped] == CLUSTER) & (record != NO_ROW)
    person = evidence.person_of(record)
    width = int(person.max(initial=0)) + 1
    bared = np.zeros(groups, bool)
    for name, attribute in evidence.policy.quasi:
        if name in evidence.absent:
            continue
        counted = np.flatnonzero(is_member & ~evidence.original[name].missing[record])
        persons = np.bincount(np.unique(group[counted] * width + person[counted]) // width, minlength=groups)
        scarce = (persons > 0) & (persons < least)
        column = evidence.published[name]
        shows = ~column.null[grouped] & ~is_root(column, attribute, grouped)
        what = f"is not the root, though fewer than min_support={least} persons of its group have it"
        docket.rows(grouped[shows & scarce[group]], what, name)
        bared |= scarce
    figures["groups"] = int(bared.sum())
    note = f"{figures['groups']:,} of {groups:,} groups have a value that fewer than {least} of their persons have"
    return docket.finding("support", says, note=note, checked=len(grouped), figures=figures)


def once(evidence: Evidence) -> Finding:
    """Every record must leave; the policy may drop those that are suppressed."""
    drops = evidence.policy.suppressed == "drop"
    return shared.once(
        evidence,
        "every accepted record left exactly once" + (", and is in the output unless it was suppressed" if drops else ""),
        noun="records",
        counts_agree=evidence.accepted == evidence.released or (drops and evidence.released <= evidence.accepted),
        unknown="accepted record",
        barred={},
        due=~evidence.excused & ~may_be_held(evidence),
        excused=evidence.excused,
        dropped=evidence.releases.how == SUPPRESSED if drops and evidence.releases is not None else None,
    )


def true(evidence: Evidence) -> Finding:
    """Compare each row of the output with the record that the trace names."""
    docket, reading = Docket(evidence), evidence.policy.privacy.nulls_match
    says = _TRUE.format(_NULLS[reading])
    missing = sum(int(each.missing.sum()) for each in evidence.original.values())
    nulls = sum(int(each.null.sum()) for each in evidence.published.values())
    cells = len(evidence.original) * evidence.accepted
    figures: dict[str, Any] = {"missing": missing, "missing_published": nulls}
    figures["missing_pollution_rate"] = (nulls - missing) / cells if cells else 0.0
    docket.fields(name for name in evidence.absent if name not in evidence.shown)
    if evidence.trace is None:
        if reading in ("maybe", "blurred") and not docket.broken and nulls > missing:
            docket.add("more values are null in the output than in the input")
        for name in evidence.published:
            docket.rows(_bare(evidence, name), _BARE, name)
        note = f"needs a trace, which names the record of each row{_doubted(evidence, '; ')}"
        return docket.finding("true", says, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    figures |= _compare(evidence, docket)
    name = evidence.policy.algorithm.name
    note = f"{name} imputes: it shows values for records that had none" if imputes(evidence.policy) else _doubted(evidence)
    if figures["blanked"]:
        note = f"{figures['blanked']:,} values were blanked, for the rows of a group to look alike"
    return docket.finding("true", says, note=note, checked=evidence.released, figures=figures)


def _doubted(evidence: Evidence, before: str = "") -> str:
    is_blurred = evidence.policy.privacy.nulls_match == "blurred"
    return f"{before}{100 * evidence.doubt:.1f} % of the values say “or missing”" if is_blurred else ""


def _untrue(evidence: Evidence) -> Flags:
    """Which rows are untrue in one of their quasi-identifiers."""
    if "untrue" not in evidence.cache:
        _compare(evidence, Docket(evidence))
    found: Flags = evidence.cache["untrue"]
    return found


def _compare(evidence: Evidence, docket: Docket) -> dict[str, int]:
    """Add what is untrue; the result is how many values are imputed, and how many blanked."""
    trace, reading = evidence.trace, evidence.policy.privacy.nulls_match
    assert trace is not None
    found, imputed, blanked = np.zeros(evidence.released, bool), 0, 0
    shown = np.flatnonzero(~evidence.suppressed & (trace.row != NO_ROW))
    hidden = np.flatnonzero(evidence.suppressed)
    records = trace.row[shown]
    for name, attribute in evidence.policy.quasi:
        if name in evidence.absent:
            continue
        before, after = evidence.original[name], evidence.published[name]
        covered = cover(before, after, records, shown)
        wrong = covered.beyond(reading, is_root(after, attribute, shown))
        blanked += int((covered.vanished & ~wrong.vanished).sum())
        made_up = _imputed(evidence, after, shown) & wrong.appeared
        imputed += int(made_up.sum())
        kinds = {
            "the value lies outside what is published": shown[wrong.outside],
            "the value became null": shown[wrong.vanished & (reading != "root")],
            _BARE: _bare(evidence, name),
            "a missing value became a value": shown[wrong.appeared & ~made_up],
            "the tuple is suppressed, but does not show the root": hidden[~is_hidden(after, attribute, hidden)],
            "the counts of an imputed group are wrong": _miscounted(trace, before, after),
        }
        if reading == "blurred":
            kinds |= _inexact(evidence, trace, name, np.setdiff1d(shown, np.concatenate(list(kinds.values()))))
        for what, rows in kinds.items():
            found[rows] = True
            docket.rows(rows, what, name)
    evidence.cache["untrue"] = found
    return {"imputed": imputed, "blanked": blanked}


def _inexact(evidence: Evidence, trace: Trace, name: str, rows: Ints) -> dict[str, Ints]:
    """Those of the rows that do not show how many members of their group have a quasi-identifier, by what is wrong.

    A group whose rows differ in that is left out: they are not alike.
    """
    shown, due = (each[rows] for each in _shares(evidence, trace, name))
    cluster = trace.cluster[rows]
    least, most = (np.full(int(trace.cluster.max(initial=-1)) + 2, first) for first in (_ALL, _NONE))
    np.minimum.at(least, cluster, shown)
    np.maximum.at(most, cluster, shown)
    wrong = (least == most)[cluster] & (shown != due) & (due != _UNKNOWN)
    return {
        "is missing, though a member of its group has it": rows[wrong & (shown == _NONE)],
        "is shown, though no member of its group has it": rows[wrong & (due == _NONE)],
        "is in doubt, though all members of its group have it": rows[wrong & (shown == _SOME) & (due == _ALL)],
        "is not in doubt, though a member of its group lacks it": rows[wrong & (shown == _ALL) & (due == _SOME)],
    }


def _shares(evidence: Evidence, trace: Trace, name: str) -> tuple[Ints, Ints]:
    """How many members of a group have a quasi-identifier, for each row of the output: as it says, and in truth.

    None, some or all; in truth unknown for a row in no group.
    """
    column, before = evidence.published[name], evidence.original[name]
    members = np.flatnonzero((trace.how == CLUSTER) & (trace.cluster >= 0) & (trace.row != NO_ROW))
    cluster, groups = trace.cluster[members], int(trace.cluster.max(initial=-1)) + 1
    of, had = np.bincount(cluster, minlength=groups), np.bincount(cluster, ~before.missing[trace.row[members]], groups)
    due = np.select([of == 0, had == 0, had < of], [_UNKNOWN, _NONE, _SOME], _ALL)
    return np.select([column.null, column.doubt], [_NONE, _SOME], _ALL), np.append(due, _UNKNOWN)[trace.cluster]


def _bare(evidence: Evidence, name: str) -> Ints:
    """The rows that show null where the policy allows none."""
    if evidence.policy.privacy.nulls_match != "root" or name in evidence.absent:
        return np.empty(0, np.int64)
    return np.flatnonzero(evidence.published[name].null & ~evidence.suppressed)


def _imputed(evidence: Evidence, after: Band | Node, rows: Ints) -> Flags:
    if not imputes(evidence.policy) or after.of is None or after.had is None:
        return np.zeros(len(rows), bool)
    return (after.of[rows] != NO_PAIR) & (after.had[rows] < after.of[rows])


def _miscounted(trace: Trace, before: Numeric | Category, after: Band | Node) -> Ints:
    """The rows whose pair is not that of their group: how many members, and how many of them had a value."""
    if after.of is None or after.had is None:
        return np.empty(0, np.int64)
    paired = np.flatnonzero((after.of != NO_PAIR) | (after.had != NO_PAIR))
    members = np.flatnonzero((trace.how == CLUSTER) & (trace.cluster >= 0) & (trace.row != NO_ROW))
    if not len(members):
        return paired
    most = int(trace.cluster.max()) + 1
    of = np.bincount(trace.cluster[members], minlength=most)
    had = np.bincount(trace.cluster[members], ~before.missing[trace.row[members]], minlength=most)
    group = trace.cluster[paired]
    wrong = (group < 0) | (after.of[paired] != of[group]) | (after.had[paired] != had[group])
    return paired[wrong]


def alike(evidence: Evidence) -> Finding:
    """Compare what the rows of each group show; rows that are already untrue are not named twice."""
    docket = Docket(evidence)
    trace, reading = evidence.trace, evidence.policy.privacy.nulls_match
    says = _ALIKE[reading]
    for name in evidence.forms.keys() & evidence.row.keys():
        docket.rows(evidence.forms[name], "is written in another way than in other rows that show the same", name)
    if trace is None:
        return docket.finding("alike", says, otherwise=Verdict.NOT_CHECKABLE, note="needs a trace, which names the groups")
    grouped = np.flatnonzero(~evidence.suppressed & (trace.cluster >= 0) & ~_untrue(evidence))
    order = grouped[np.argsort(trace.cluster[grouped], kind="stable")]
    cluster = trace.cluster[order]
    starts = np.flatnonzero(np.append(True, cluster[1:] != cluster[:-1])) if len(order) else np.empty(0, np.int64)
    for name, each in zip(evidence.published, keys(evidence.published), strict=True):
        if name in evidence.absent or not len(order):
            continue
        values = each[order]
        odd, torn = _odd(evidence, name, values, order, starts)
        docket.rows(odd, "shows another generalization than its group", name)
        docket.rows(torn, "shows another pattern of nulls than its group", name)
        if reading == "maybe":
            docket.rows(_beyond(values, trace, order, starts), "shows what no member of its group shows", name)
    return docket.finding("alike", says, checked=len(order), figures={"groups": len(starts)})


def _odd(evidence: Evidence, name: str, values: Keys, order: Ints, starts: Ints) -> tuple[Ints, Ints]:
    """The rows that show another value than the generalization of their group; and those that differ in being null at all.

    Under `maybe` each row has its own nulls, and no null is odd.
    """
    trace, reading = evidence.trace, evidence.policy.privacy.nulls_match
    assert trace is not None
    own_nulls = reading == "maybe"
    inexact = np.not_equal(*_shares(evidence, trace, name)) if reading == "blurred" else np.zeros(evidence.released, bool)
    largest = np.maximum.reduceat(values, starts)
    compared = np.where(values == NULL_KEY, np.iinfo(np.uint64).max, values) if own_nulls else values
    smallest = np.minimum.reduceat(compared, starts)
    ends = np.append(starts[1:], len(order))
    odd, torn = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for group in np.flatnonzero((smallest != largest) & (largest != NULL_KEY)).tolist():
        part = slice(int(starts[group]), int(ends[group]))
        rows, shown = order[part], values[part]
        if own_nulls:
            rows, shown = rows[shown != NULL_KEY], shown[shown != NULL_KEY]
        usual = _generalization(evidence, name, rows, shown, inexact)
        is_torn = (shown == NULL_KEY) != (usual == NULL_KEY)
        odd.append(rows[(shown != usual) & ~is_torn])
        torn.append(rows[is_torn])
    return np.concatenate(odd), np.concatenate(torn)


def _generalization(evidence: Evidence, name: str, rows: Ints, shown: Keys, inexact: Flags) -> np.uint64:
    """The generalization of a group whose rows differ: it holds all members, most show it, or it is the narrowest."""
    trace, reading = evidence.trace, evidence.policy.privacy.nulls_match
    assert trace is not None
    before, after = evidence.original[name], evidence.published[name]
    attribute = evidence.policy.attributes[name]
    records = trace.row[rows[(trace.how[rows] == CLUSTER) & (trace.row[rows] != NO_ROW)]]
    each, first, count = np.unique(shown, return_index=True, return_counts=True)
    ranks = []
    for row, votes in zip(rows[first].tolist(), count.tolist(), strict=True):
        same = np.full(len(records), row)
        wrong = cover(before, after, records, same).beyond(reading, is_root(after, attribute, same))
        holds = not (wrong.outside | (wrong.appeared & (reading != "maybe"))).any()
        ranks.append((inexact[row] or not holds, -votes, _width(after, row), row))
    return np.uint64(each[ranks.index(min(ranks))])


def _width(after: Band | Node, row: int) -> float:
    """How wide a row's value is; null is the widest."""
    if isinstance(after, Band):
        width = float(after.hi[row] - after.lo[row])
        return math.inf if math.isnan(width) else width
    node = after.node[row]
    return math.inf if node == NULL else float(after.sizes[node])


def _beyond(values: Keys, trace: Trace, order: Ints, starts: Ints) -> Ints:
    """The rows that show a value by reuse where no member of the group does."""
    is_member = trace.how[order] == CLUSTER
    shown = values != NULL_KEY
    lengths = np.diff(np.append(starts, len(order)))
    some = np.logical_or.reduceat(is_member & shown, starts)
    grouped = np.logical_or.reduceat(is_member, starts)
    return order[np.repeat(~some & grouped, lengths) & shown & ~is_member]


def unaltered(evidence: Evidence) -> Finding:
    """Without a trace, compare how often each value appears."""

    def outsider(docket: Docket, passed: Mapping[str, pa.ChunkedArray]) -> str:
        exact = evidence.policy.suppressed == "publish" and evidence.accepted == evidence.released
        for name, before in passed.items():
            same = same_counts if exact and name not in asked else no_more
            if not same(before, evidence.shown[name]):
                docket.add("the values are not those of the input", field=name)
        return "without one only the numbers of each value can be compared"

    asked = {demand.name for demand in evidence.policy.requirements}
    says, blank = "sensitive and kept values are published as they came", None
    if asked:
        says = f"{says}, or withheld for the whole group"
    if evidence.policy.suppressed == "blank":
        says, blank = f"{says}; of a suppressed tuple, none is", evidence.suppressed
    blocks = evidence.policy.blocks  # a promise of their own
    passed = {name: column for name, column in {**evidence.sensitive, **evidence.kept}.items() if name not in blocks}
    return shared.unaltered(evidence, says, passed, outsider, blank, lambda name: withheld(evidence, name))


def silent(evidence: Evidence) -> Finding:
    """Look at the form of every published quasi-identifier too."""

    def look(docket: Docket) -> None:
        for name, attribute in evidence.policy.quasi:
            column = evidence.published[name]
            if not imputes(evidence.policy) and column.of is not None:
                docket.rows(np.flatnonzero(column.of != NO_PAIR), "bears counts of its group", name)
            if isinstance(column, Band):
                _look_at_intervals(docket, name, column, attribute)
            else:
                docket.rows(np.flatnonzero(column.node == NO_NODE), "what is published is not a node of the hierarchy", name)

    says = "no identity, no field that the policy does not list, no raw quasi-identifier"
    return shared.silent(evidence, says, evidence.released * len(evidence.published), look)


def _look_at_intervals(docket: Docket, name: str, column: Band, attribute: Attribute) -> None:
    shown = ~column.null
    formed = column.lo <= column.hi
    within = (column.lo >= attribute.low) & (column.hi <= attribute.high)
    docket.rows(np.flatnonzero(shown & ~formed), "what is published is not an interval", name)
    docket.rows(np.flatnonzero(shown & formed & ~within), "the interval leaves the range", name)
    off = ~(_on_grid(column.lo, attribute) & _on_grid(column.hi, attribute))
    docket.rows(np.flatnonzero(shown & formed & within & off), "an end of the interval is not on the grid", name)


def _on_grid(ends: Floats, attribute: Attribute) -> Flags:
    """Which ends are multiples of the grid, or an end of the range."""
    if attribute.grid is None:
        return np.ones(len(ends), bool)
    with np.errstate(invalid="ignore"):
        multiple = np.round(ends / attribute.grid) * attribute.grid
        near = np.abs(ends - multiple) <= _ROUNDING * np.spacing(np.abs(ends))
    return near | (ends == attribute.low) | (ends == attribute.high)
