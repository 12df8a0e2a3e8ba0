"""Nothing is published that the policy does not list, and nothing raw."""

from __future__ import annotations

import numpy as np

from shoal.audit.cover import imputes
from shoal.audit.evidence import NO_NODE, NO_PAIR, Band, Evidence
from shoal.audit.finding import Docket, Finding
from shoal.audit.values import Flags, Floats
from shoal.policy import Attribute

NAME = "silent"
SAYS = "no identity, no field that the policy does not list, no raw quasi-identifier"
_ROUNDING = 4  # times the distance to the next double


def check(evidence: Evidence) -> Finding:
    """Look at the names of the output's fields, and at the form of every published quasi-identifier."""
    docket = Docket(evidence)
    for name in evidence.unlisted:
        identity = name == evidence.policy.person
        docket.add("the person's field is published" if identity else "the policy does not list this field", field=name)
    for name in evidence.spare:
        docket.add("the file holds values in its dictionary that no row shows", field=name)
    for name, attribute in evidence.policy.quasi:
        column = evidence.published[name]
        if not imputes(evidence.policy) and column.of is not None:
            docket.rows(np.flatnonzero(column.of != NO_PAIR), "bears counts of its group", name)
        if isinstance(column, Band):
            shown = ~column.null
            formed = column.lo <= column.hi
            within = (column.lo >= attribute.low) & (column.hi <= attribute.high)
            docket.rows(np.flatnonzero(shown & ~formed), "what is published is no interval", name)
            docket.rows(np.flatnonzero(shown & formed & ~within), "the interval leaves the range", name)
            off = ~(_on_grid(column.lo, attribute) & _on_grid(column.hi, attribute))
            docket.rows(np.flatnonzero(shown & formed & within & off), "an end of the interval is not on the grid", name)
        else:
            docket.rows(np.flatnonzero(column.node == NO_NODE), "what is published is no node of the hierarchy", name)
    checked = evidence.released * len(evidence.published)
    return docket.finding(NAME, SAYS, checked=checked, note="" if evidence.released else "the output has no rows")


def _on_grid(ends: Floats, attribute: Attribute) -> Flags:
    """Which ends are multiples of the grid, or an end of the range."""
    if attribute.grid is None:
        return np.ones(len(ends), bool)
    with np.errstate(invalid="ignore"):
        multiple = np.round(ends / attribute.grid) * attribute.grid
        near = np.abs(ends - multiple) <= _ROUNDING * np.spacing(np.abs(ends))
    return near | (ends == attribute.low) | (ends == attribute.high)
