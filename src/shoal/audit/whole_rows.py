"""Classes of rows that are alike in all that is published: quasi-identifiers, time and kept fields.

Sensitive values are what an outsider wants to know, not what one knows: they are not counted. Neither are fields for which the
policy gives a reason. Kept values differ where they are written in different ways: `1.5` and `1.50` are two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.audit.classes import counted
from shoal.audit.evidence import Evidence
from shoal.audit.published import key
from shoal.audit.values import Ints, codes_as_written


@dataclass(frozen=True)
class WholeRows:
    """How many rows are alone, or below k, with all that is published."""

    counted: tuple[str, ...]  # fields beside the quasi-identifiers that count
    reasons: Mapping[str, str]  # fields that do not, and why, in the policy's words
    rows: int  # that were looked at: all but suppressed ones, unless these show their values
    below: int  # in classes of fewer than k
    alone: int
    smallest: int


def whole_rows(evidence: Evidence) -> WholeRows:
    """Count the classes: in persons, or in rows without a trace. A null is a value of its own."""
    policy = evidence.policy
    kept = [name for name in policy.counted if name in evidence.shown]
    group = evidence.alike.of.astype(np.int64)
    if policy.suppressed == "publish" and kept:
        group[evidence.suppressed] = group.max(initial=-1) + 1
    looked_at = group >= 0
    fields = list(kept)
    if evidence.moment is not None:
        group = _split(group, np.unique(key(evidence.moment, 0), return_inverse=True)[1])
        fields = [evidence.time_field or "", *kept]
    for name in kept:
        group = _split(group, codes_as_written(evidence.shown[name]))
        if name in evidence.written:
            group = _split(group, evidence.written[name])
    size = counted(group, evidence.persons)[looked_at]
    return WholeRows(
        counted=tuple(fields),
        reasons={name: reason for name, reason in policy.reasons.items() if reason},
        rows=int(looked_at.sum()),
        below=int((size < policy.privacy.k).sum()),
        alone=int((size == 1).sum()),
        smallest=int(size.min()) if len(size) else 0,
    )


def _split(group: Ints, code: Ints) -> Ints:
    """The groups, cut by the codes of one more field; rows without a group stay without one.

    >>> _split(np.array([0, 0, 0, -1]), np.array([5, 5, 7, 5])).tolist()
    [0, 0, 1, -1]
    """
    found = np.full(len(group), -1)
    inside = np.flatnonzero(group >= 0)
    low = int(code.min(initial=0))
    width = int(code.max(initial=0)) - low + 1
    found[inside] = np.unique(group[inside] * width + code[inside] - low, return_inverse=True)[1]
    return found
