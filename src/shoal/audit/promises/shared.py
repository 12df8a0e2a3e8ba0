"""Promises on tuples and on observations alike: once, unaltered, silent. What differs is passed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from shoal.audit.equality import altered, is_nothing
from shoal.audit.finding import Docket, Finding, Judged, Verdict
from shoal.audit.form import ROW
from shoal.audit.trace import NO_ROW
from shoal.audit.values import Flags

_NONE = np.empty(0, np.int64)


def once(
    evidence: Judged, says: str, *, noun: str, counts_agree: bool, unknown: str, barred: Mapping[str, Flags], due: Flags,
    dropped: Flags | None = None, excused: Flags | None = None,
) -> Finding:  # fmt: skip
    """Count in the trace how often each record left, and whether trace and output hold the same releases.

    `noun` is what a record is called, and `unknown` what is said of a line of the trace that names none. Records may be
    `barred` from leaving for a reason; those that are `due` must leave. Lines of the trace that are `dropped` have no row in
    the output. Of a stream that goes on, those that are neither due nor `excused` are held. Without a trace only numbers are
    compared.
    """
    docket, releases = Docket(evidence), evidence.releases
    figures = {"accepted": evidence.accepted, "rejected": evidence.rows - evidence.accepted, "released": evidence.released}
    if releases is None:
        if not counts_agree:
            docket.add(f"{evidence.released:,} rows left, but {evidence.accepted:,} {noun} were accepted")
        note = f"needs a trace; without one only the numbers of {noun} can be compared"
        return docket.finding("once", says, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    lines = len(releases.row)
    known = np.flatnonzero(releases.row != NO_ROW)
    row = releases.row[known]
    first = np.full(len(evidence.line), lines)
    np.minimum.at(first, row, known)
    docket.lines(np.flatnonzero(releases.row == NO_ROW), f"left, but is no {unknown}")
    for reason, flags in barred.items():
        docket.lines(known[flags[row]], f"left, but is {reason}")
    docket.lines(known[first[row] != known], "left before")
    docket.records(np.flatnonzero((first == lines) & due), "never left")
    docket.rows(np.flatnonzero(evidence.place < 0), "the trace has no line for it")
    shown = np.zeros(lines, bool)
    shown[evidence.place[evidence.place >= 0]] = True
    if dropped is None:
        dropped = np.zeros(lines, bool)
    else:
        figures["dropped"] = int(dropped.sum())
    docket.lines(np.flatnonzero(~shown & ~dropped), "left by the trace, but is not in the output")
    docket.lines(np.flatnonzero(shown & dropped), "is suppressed, and in the output although the policy drops such rows")
    note = ""
    if evidence.span is not None and excused is not None:
        figures["held"] = held = int(((first == lines) & ~due & ~excused).sum())
        note = f"{held:,} records were held when the span ended"
    return docket.finding("once", says, checked=evidence.accepted, figures=figures, note=note)


def unaltered(
    evidence: Judged,
    says: str,
    passed: Mapping[str, pa.ChunkedArray],
    outsider: Callable[[Docket, Mapping[str, pa.ChunkedArray]], str],
    blank: Flags | None = None,
    withheld: Callable[[str], Flags] | None = None,
) -> Finding:
    """Compare each value that is passed through with the record that the trace names.

    `blank` rows must show null instead; those that are `withheld` may.

    Without a trace, `outsider` adds what can be seen, and returns a note on how little that is.
    """
    docket, trace = Docket(evidence), evidence.trace
    docket.fields(passed)
    passed = {name: column for name, column in passed.items() if name not in evidence.absent}
    if trace is None:
        note = f"needs a trace; {outsider(docket, passed)}"
        return docket.finding("unaltered", says, otherwise=Verdict.NOT_CHECKABLE, note=note)
    rows = np.flatnonzero(trace.row != NO_ROW)
    for name, before in passed.items():
        after = evidence.shown[name]
        wrong = altered(before, after if len(rows) == evidence.released else after.take(rows), trace.row[rows])
        if withheld is not None:
            wrong &= ~withheld(name)[rows]
        if blank is not None:
            wrong &= ~blank[rows]
            docket.rows(np.flatnonzero(blank & ~is_nothing(after)), "the tuple is suppressed, but its value is shown", name)
        docket.rows(rows[wrong], "the value is not the one that came", name)
    return docket.finding("unaltered", says, checked=len(rows) * len(passed))


def silent(evidence: Judged, says: str, checked: int, look: Callable[[Docket], None]) -> Finding:
    """Look at the names of the output's fields and at their dictionaries; `look` adds what is wrong with the values."""
    docket = Docket(evidence)
    for name in evidence.unlisted:
        identity = name == evidence.policy.person
        docket.add("the person's field is published" if identity else "the policy does not list this field", field=name)
    for name in evidence.spare:
        docket.add("the file holds values in its dictionary that no row shows", field=name)
    docket.rows(evidence.forms.get(ROW, _NONE), "is written in another form than the other rows")
    for name in evidence.forms.keys() & evidence.shown.keys():
        docket.rows(evidence.forms[name], "is quoted in another way than in the other rows", name)
    look(docket)
    return docket.finding("silent", says, checked=checked, note="" if evidence.released else "the output has no rows")
