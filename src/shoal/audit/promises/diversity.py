"""Whenever a tuple leaves, the sensitive values that its group has shown differ as much as the policy asks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.audit.evidence import Evidence
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.mixture import mixtures
from shoal.audit.sensitive import Showing, showing, shown
from shoal.policy import Policy
from shoal.policy.sensitive import Diversity

NAME = "diversity"
SAYS = "whenever a tuple leaves unsuppressed, the sensitive values that its group has shown by then differ as much as l asks"
UNKNOWN = "needs a trace: each row of a group shows its own nulls, so that groups cannot be seen"
OUTSIDER = "without a trace rows that look alike are judged together, as an outsider sees them"
_ROUNDING = 1e-9  # of the bound, in favour of what was published

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def is_asked(policy: Policy) -> bool:
    return any(demand.l for demand in policy.requirements)


def check(evidence: Evidence) -> Finding:
    """Count the values of each group at each moment; without a trace those of rows that look alike."""
    docket, who = Docket(evidence), showing(evidence)
    asked = {demand.name: demand.l for demand in evidence.policy.requirements if demand.l}
    figures: dict[str, Any] = {name: {**bound._asdict(), "least": None} for name, bound in asked.items()}
    if who is None:
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, note=UNKNOWN, figures=figures)
    for name, bound in asked.items():
        if name not in evidence.absent or who.traced:
            figures[name]["least"] = _judge(evidence, docket, who, name, bound)
    least = ((told(bound), name, figures[name]["least"]) for name, bound in asked.items())
    notes = [f"{name}: {found:.3g} at the least, {bound}" for bound, name, found in least if found is not None]
    note = "; ".join(notes if who.traced else [*notes, OUTSIDER])
    return docket.finding(NAME, SAYS, checked=len(who.place) * len(asked), figures=figures, note=note)


def _judge(evidence: Evidence, docket: Docket, who: Showing, name: str, asked: Diversity) -> float | None:
    """Enter the moments at which one attribute differs too little; the least that was found."""
    bad, least = np.zeros(int(who.moment.max(initial=-1)) + 1, bool), np.inf
    for moment, _, count in mixtures(who.group, who.moment, shown(evidence, name, who).code):
        found = measure(asked, count)
        bad[moment] = found < asked.l * (1 - _ROUNDING) if asked.kind == "entropy" else found < asked.l
        least = min(least, float(found.min()))
    who.enter(docket, bad, f"a group whose values do not differ by {told(asked)}", name)
    return least if np.isfinite(least) else None


def measure(asked: Diversity, count: Ints) -> Floats:
    """The largest l for which each row of counts is diverse in the kind that is asked.

    >>> counts = np.array([[4, 2, 1, 1], [4, 0, 0, 0], [0, 0, 0, 0]])
    >>> [measure(Diversity(kind, 2, 2.0), counts).round(2).tolist() for kind in ("distinct", "entropy", "recursive")]
    [[4.0, 1.0, 0.0], [3.36, 1.0, 0.0], [2.0, 1.0, 0.0]]
    """
    if asked.kind == "distinct":
        return (count > 0).sum(axis=1).astype(np.float64)
    if asked.kind == "entropy":
        size = count.sum(axis=1)
        share = count / np.maximum(size, 1)[:, None]
        return np.where(size > 0, np.exp(-(share * np.log(np.where(count > 0, share, 1.0))).sum(axis=1)), 0.0)
    ranked = -np.sort(-count, axis=1)
    bound = asked.c * np.cumsum(ranked[:, ::-1], axis=1)[:, ::-1]
    most = ranked[:, :1]
    return ((most < bound * (1 + _ROUNDING)) & (most != bound)).sum(axis=1).astype(np.float64)


def told(asked: Diversity) -> str:
    """What is asked, in short.

    >>> told(Diversity("distinct", 3)), told(Diversity("entropy", 2.5)), told(Diversity("recursive", 3, 2.0))
    ('l=3', 'entropy l=2.5', 'recursive c=2, l=3')
    """
    kind = {"distinct": "", "entropy": "entropy ", "recursive": f"recursive c={asked.c:g}, "}[asked.kind]
    return f"{kind}l={asked.l:g}"
