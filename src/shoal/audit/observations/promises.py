"""Promises of z-anonymity; each is checked from the evidence alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.observations.evidence import NO_LEVEL, Observed
from shoal.audit.observations.items import BLANK, UNKNOWN
from shoal.audit.observations.recount import NO_NODE, recount
from shoal.audit.promises import shared
from shoal.audit.trace import GENERALIZED, NO_ROW, RELEASED, WITHHELD
from shoal.audit.values import Flags, Ints

_AGAIN = "has a pseudonym of another period"


def z_users(evidence: Observed) -> Finding:
    """Recount every release; without a trace over the whole input, which can only count more."""
    says = "of every item that is published, at least z users exposed it, or something below it, within the window before"
    docket, least = Docket(evidence), evidence.least
    notes = [] if evidence.fixed else [_z_follows(evidence)]
    if evidence.trace is None:
        rows, users = _counted_without_trace(evidence)
        docket.rows(rows[users < least], _few(evidence))
        notes.append("needs a trace; without one the users of the whole input are counted, whenever they came")
        otherwise = Verdict.NOT_CHECKABLE
    else:
        rows, users = counted(evidence)
        z = evidence.trace.z
        if evidence.fixed:
            docket.rows(evidence.linked[z[evidence.linked] != least], "the trace has another z than the policy")
        else:
            docket.rows(rows[z[rows] < least], f"the z of the trace is below the floor of {least}")
        docket.rows(_with_too_few(evidence), _few(evidence))
        otherwise = Verdict.HELD
    figures = {"z": least, "fixed": evidence.fixed, "smallest": int(users.min()) if len(users) else None}
    return docket.finding("z users", says, otherwise=otherwise, checked=len(rows), note="; ".join(notes), figures=figures)


def counted(evidence: Observed) -> tuple[Ints, Ints]:
    """The rows that show their item or an ancestor, and the users of it by then."""
    known = evidence.level != NO_LEVEL
    rows, level = evidence.linked[known], evidence.level[known]
    return rows, evidence.count.users[evidence.traced.row[rows], level].astype(np.int64)


def _required(evidence: Observed, rows: Ints) -> Ints:
    """The z that held when each of these rows left: the policy's, or the trace's."""
    return np.full(len(rows), evidence.least) if evidence.fixed else np.maximum(evidence.traced.z[rows], evidence.least)


def _with_too_few(evidence: Observed) -> Ints:
    """The rows that left with fewer than z users."""
    rows, users = counted(evidence)
    required = _required(evidence, rows)
    few = users < required
    for place in np.flatnonzero(few & evidence.count.behind[evidence.traced.row[rows]]).tolist():
        few[place] = _users(evidence, int(rows[place])) < required[place]
    return np.sort(rows[few])


def _users(evidence: Observed, row: int) -> int:
    """How many users had exposed what a row shows within the window before its time.

    The recount forgets users from more than a window before the newest time. For a row that is far behind, users may count
    that the recount has forgotten.
    """
    record = int(evidence.traced.row[row])
    time = evidence.time[: record + 1]
    near = np.flatnonzero((time >= time[-1] - evidence.rule.window) & (time <= time[-1]))
    exposed = (evidence.nodes.path[near] == evidence.nodes.shown[row]).any(axis=1)
    return len(np.unique(evidence.user[near[exposed]]))


def _counted_without_trace(evidence: Observed) -> tuple[Ints, Ints]:
    """The rows that show an item and a time that the input has, and the users of it until the end of that instant."""
    order = np.argsort(evidence.time, kind="stable")
    path, time = evidence.nodes.path[order], evidence.time[order]
    users = recount(path, evidence.user[order], time, evidence.rule.window).users
    moments = np.unique(time)
    record, level = np.nonzero(path != NO_NODE)
    key = path[record, level].astype(np.int64) * (len(moments) + 1) + np.searchsorted(moments, time[record])
    rank = np.lexsort((users[record, level], key))
    key, users = key[rank], users[record, level][rank]
    shown, at = evidence.nodes.shown.astype(np.int64), np.searchsorted(moments, evidence.shown_time)
    last = np.searchsorted(key, shown * (len(moments) + 1) + at, side="right") - 1
    fits = (shown >= 0) & np.isin(evidence.shown_time, moments) & (last >= 0)
    fits[fits] = key[last[fits]] == (shown * (len(moments) + 1) + at)[fits]
    return np.flatnonzero(fits), users[last[fits]].astype(np.int64)


def _few(evidence: Observed) -> str:
    z = f"z={evidence.least}" if evidence.fixed else "z" if evidence.trace else f"the floor of {evidence.least}"
    return f"fewer than {z} users had exposed what is published"


def _z_follows(evidence: Observed) -> str:
    if evidence.trace is None:
        return f"z follows the stream and is not in the files: counts are compared with its floor of {evidence.least}"
    return f"z follows the stream: counts are compared with the z of the trace, and that with its floor of {evidence.least}"


def exact(evidence: Observed) -> Finding:
    """Compare what left with the recount; an observation far behind the stream is left out, whose users may be forgotten."""
    says = "an observation is published as its item, or else its nearest ancestor, that z users exposed; else it is withheld"
    docket, releases = Docket(evidence), evidence.releases
    if releases is None:
        return _as_predicted(evidence, docket, says)
    if set(evidence.item.names) & set(evidence.absent):
        return docket.finding("exact", says, otherwise=Verdict.NOT_CHECKABLE, note="the output does not have the item")
    count, notes = evidence.count, []
    judged = ~count.behind[evidence.traced.row[evidence.linked]]
    rows, level = evidence.linked[judged], evidence.level[judged]
    enough = count.users[evidence.traced.row[rows]] >= _required(evidence, rows)[:, None]
    nearest = np.where(enough.any(axis=1), enough.argmax(axis=1), NO_LEVEL)
    blank = evidence.nodes.shown[rows] == BLANK
    farther = (nearest != NO_LEVEL) & (nearest < level)
    docket.rows(rows[farther], "the item or a nearer ancestor had z users")
    docket.rows(rows[blank & (nearest != NO_LEVEL)], "left blank, but the item or an ancestor had z users")
    checked = len(rows)
    if evidence.rule.withheld == "drop":
        if evidence.fixed:
            dropped = ~count.rejected & ~count.behind
            dropped[releases.row[releases.row != NO_ROW]] = False
            known = dropped & (count.users >= evidence.least).any(axis=1)
            docket.records(np.flatnonzero(known), "withheld, but the item or an ancestor had z users")
            checked += int(dropped.sum())
        else:
            notes.append("what was dropped cannot be judged, because its z is not in the files")
    behind = int((count.behind & ~count.rejected).sum())
    if behind:
        notes.append(f"{behind:,} observations more than a window behind the stream are not judged")
    return docket.finding("exact", says, checked=checked, note="; ".join(notes))


def _as_predicted(evidence: Observed, docket: Docket, says: str) -> Finding:
    """Without a trace: the rows that are not what the input and the policy lead to, and those that are not there."""
    behind = int(evidence.count.behind.sum())
    if evidence.strange is None:
        note = "needs a trace, which shows what was withheld"
    elif behind:
        note = f"needs a trace: what left of {behind:,} observations more than a window behind the stream cannot be predicted"
    else:
        docket.rows(evidence.strange, "is not what the input and the policy lead to")
        docket.records(evidence.missing, "should have left, but is not in the output")
        note = "without a trace the output is compared with what the input and the policy lead to"
    return docket.finding("exact", says, otherwise=Verdict.NOT_CHECKABLE, checked=evidence.released, note=note)


def once(evidence: Observed) -> Finding:
    """Where nothing is dropped, every observation that is accepted must leave."""
    count, blank = evidence.count, evidence.rule.withheld == "blank"
    too_many = evidence.released > len(evidence.line)
    return shared.once(
        evidence,
        "no observation is published twice, none that was not accepted, and what the trace names is in the output",
        noun="observations",
        counts_agree=not too_many and (not blank or bool(count.behind.any()) or evidence.released == evidence.accepted),
        unknown="observation that can be read",
        barred={"more than a window older than the newest of its item": count.rejected & ~count.behind},
        due=~count.rejected & ~count.behind & ~_before(evidence) if blank else np.zeros(len(evidence.line), bool),
    )


def _before(evidence: Observed) -> Flags:
    """Which observations came before the span that is judged."""
    return evidence.line < (evidence.span.begin.received if evidence.span else 0)


def in_order(evidence: Observed) -> Finding:
    """Look for rows whose observation came before that of an earlier row; one that left twice is named elsewhere."""
    says = "observations leave in the order of the input"
    docket, releases = Docket(evidence), evidence.releases
    if releases is None:
        return docket.finding("in order", says, otherwise=Verdict.NOT_CHECKABLE, note="needs a trace")
    lines = np.flatnonzero(releases.row != NO_ROW)
    lines = lines[np.sort(np.unique(releases.row[lines], return_index=True)[1])]
    row = releases.row[lines]
    docket.lines(lines[row < np.maximum.accumulate(row)], "left after one that came later")
    return docket.finding("in order", says, checked=len(lines))


def true(evidence: Observed) -> Finding:
    """Compare each row with the observation that the trace names; without one, whether the input has such an item."""
    says = "what is published is the item, or an ancestor of it, or blank where that is allowed"
    docket = Docket(evidence)
    docket.fields(evidence.item.names)
    if docket.broken:
        return docket.finding("true", says)
    field, blank = evidence.item.names[0], evidence.nodes.shown == BLANK
    if evidence.rule.withheld == "drop":
        docket.rows(np.flatnonzero(blank), "the item is blank, though the policy drops what is withheld", field)
    if evidence.trace is None:
        docket.rows(np.flatnonzero(evidence.nodes.shown == UNKNOWN), "is neither an item of the input nor an ancestor", field)
        note = "needs a trace, which names the observation of each row"
        return docket.finding("true", says, otherwise=Verdict.NOT_CHECKABLE, note=note)
    rows, level = evidence.linked, evidence.level
    docket.rows(rows[(level == NO_LEVEL) & ~blank[rows]], "what is published is not the item, nor an ancestor of it", field)
    how = evidence.trace.how[rows]
    shown = np.select([blank[rows], level == 0, level > 0], [WITHHELD, RELEASED, GENERALIZED], how)
    docket.rows(rows[how != shown], "the trace has another way of leaving than the row shows", field)
    return docket.finding("true", says, checked=len(rows))


def unaltered(evidence: Observed) -> Finding:
    """Without a trace, look for each time in the input."""

    def outsider(docket: Docket, passed: Mapping[str, pa.ChunkedArray]) -> str:
        if evidence.time_field in passed:
            strange = np.flatnonzero(~np.isin(evidence.shown_time, evidence.time))
            docket.rows(strange, "no observation has this time", evidence.time_field)
        return "without one only times are looked for in the input"

    return shared.unaltered(evidence, "times and kept values are published as they came", evidence.kept, outsider)


def pseudonyms(evidence: Observed) -> Finding:
    """Compare pseudonyms with users and periods; without a trace, with the times that the rows show."""
    says = "in a period a user has one pseudonym, no two users share one, and none is used in two periods"
    docket, person = Docket(evidence), evidence.policy.person
    sound = evidence.formed & ~evidence.raw
    note = "whether they are made with the secret is not judged"
    if evidence.trace is None:
        rows = np.flatnonzero(sound & ~np.isnan(evidence.shown_time))
        period = evidence.periods(evidence.shown_time[rows])
        docket.rows(rows[_other(evidence.pseudonym[rows], period)], _AGAIN, person)
        note = f"needs a trace; without one only their change from period to period is looked at; {note}"
        return docket.finding("pseudonyms", says, otherwise=Verdict.NOT_CHECKABLE, checked=len(rows), note=note)
    rows = evidence.linked[sound[evidence.linked]]
    checked = len(rows)
    record = evidence.trace.row
    user, period = (np.append(each, -1)[record].astype(np.int64) for each in (evidence.user, evidence.period))
    user_in_period = user * (int(evidence.period.max(initial=0)) + 1) + period
    for what, name, owner in (
        (_AGAIN, evidence.pseudonym, period),
        ("has a pseudonym of another user", evidence.pseudonym, user),
        ("has another pseudonym than before in its period", user_in_period, evidence.pseudonym),
    ):
        wrong = _other(name[rows], owner[rows])
        docket.rows(rows[wrong], what, person)
        rows = rows[~wrong]
    figures = {"pseudonyms": len(np.unique(evidence.pseudonym[rows])), "periods": len(np.unique(evidence.period))}
    return docket.finding("pseudonyms", says, checked=checked, note=note, figures=figures)


def _other(name: Ints, owner: Ints) -> Flags:
    """Which rows have another owner than the first row of the same name."""
    if not len(name):
        return np.zeros(0, bool)
    _, first, place = np.unique(name, return_index=True, return_inverse=True)
    return owner[first][place] != owner


def silent(evidence: Observed) -> Finding:
    """Look at the form of every pseudonym too."""

    def look(docket: Docket) -> None:
        person = evidence.policy.person
        assert person is not None
        docket.fields([person])
        if person not in evidence.absent:
            docket.rows(np.flatnonzero(evidence.raw), "holds a user of the input instead of a pseudonym", person)
            odd = ~evidence.formed & ~evidence.raw
            docket.rows(np.flatnonzero(odd), "is not a pseudonym of 32 hexadecimal digits", person)

    says = "no identity, no field that the policy does not list, no value that no row shows"
    return shared.silent(evidence, says, evidence.released, look)


PROMISES: Mapping[str, Callable[[Observed], Finding]] = {
    "z users": z_users,
    "exact": exact,
    "once": once,
    "in order": in_order,
    "true": true,
    "unaltered": unaltered,
    "pseudonyms": pseudonyms,
    "silent": silent,
}
