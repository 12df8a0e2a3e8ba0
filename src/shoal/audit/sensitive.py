"""Sensitive values as they are counted, and who shows them when."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.audit.classes import promised
from shoal.audit.evidence import Evidence
from shoal.audit.finding import Docket
from shoal.audit.keys import NO_CLASS
from shoal.audit.values import distinct
from shoal.policy import canonical

Ints = NDArray[np.int64]

NO_VALUE = -1


class Values(NamedTuple):
    """A column by its different canonical texts; what is missing has no value."""

    code: Ints
    text: list[str]


def values(column: pa.ChunkedArray, nulls: Collection[str]) -> Values:
    """A number for each different value.

    >>> values(pa.chunked_array([[" flu", "flu", None, "?", "cold"]]), ["?"])
    Values(code=array([ 0,  0, -1, -1,  1]), text=['flu', 'cold'])
    >>> values(pa.chunked_array([[[1], [1], None]]), [])
    Values(code=array([ 0,  0, -1]), text=['[1]'])
    """
    whole = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0)
    code, different = distinct(whole) if not pa.types.is_nested(whole.type) else (np.arange(len(whole)), whole)
    numbers: dict[str, int] = {}
    each = [_number(value, nulls, numbers) for value in different.to_pylist()]
    return Values(np.array([*each, NO_VALUE], np.int64)[code], list(numbers))


def _number(value: object, nulls: Collection[str], numbers: dict[str, int]) -> int:
    try:
        text = canonical(value)
    except ValueError:  # it is no text, but still a value of its own
        text = repr(value)
    return NO_VALUE if text is None or text in nulls else numbers.setdefault(text, len(numbers))


class Showing(NamedTuple):
    """Who shows sensitive values, by group and moment: lines of the trace or, without one, rows that look alike."""

    place: Ints
    group: Ints
    moment: Ints
    traced: bool

    def enter(self, docket: Docket, is_bad: NDArray[np.bool_], what: str, field: str) -> None:
        """A violation for everyone who leaves at a moment that is bad."""
        found = np.sort(self.place[is_bad[self.moment]]) if len(self.moment) else self.place
        if self.traced:
            docket.lines(found, f"left in {what}", field)
        else:
            docket.rows(found, f"looks like {what}", field)


def showing(evidence: Evidence) -> Showing | None:
    """Who shows what when; None where the files do not tell: rows of one group look different, and there is no trace."""
    replay = evidence.replay
    if replay is not None:
        return Showing(replay.line, replay.group, replay.moment, True)
    if promised(evidence.policy) == "maybe":
        return None
    alike = evidence.alike.of
    rows = np.flatnonzero(alike != NO_CLASS)
    rows = rows[np.argsort(alike[rows], kind="stable")]
    return Showing(rows, alike[rows].astype(np.int64), alike[rows].astype(np.int64), False)


def shown(evidence: Evidence, name: str, who: Showing) -> Values:
    """What each of them shows: by the trace the value of its record, without one what stands in the output."""
    nulls = evidence.policy.nulls
    if not who.traced or evidence.releases is None:
        found = values(evidence.shown[name], nulls)
        return found._replace(code=found.code[who.place])
    found = values(evidence.sensitive[name], nulls)
    return found._replace(code=np.append(found.code, NO_VALUE)[evidence.releases.row[who.place]])
