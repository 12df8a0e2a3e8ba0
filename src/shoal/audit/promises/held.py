"""Records of a stream that goes on: which may still be held, by the policy's window and the pipeline's manifest."""

from __future__ import annotations

import math

import numpy as np

from shoal.audit.algorithms import deadline
from shoal.audit.evidence import Evidence
from shoal.audit.promises.in_time import clock
from shoal.audit.trace import NO_ROW
from shoal.audit.values import Flags


def may_be_held(evidence: Evidence) -> Flags:
    """Which records need not have left by the end of the span: the latest at which they came, and the deadline, lie behind it.

    A record that is older than a tick comes at the tick; it came no later than any record behind it that has left.
    """
    span, releases = evidence.span, evidence.releases
    if span is None or releases is None or not evidence.accepted:
        return np.zeros(evidence.accepted, bool)
    came = clock(evidence)
    now = max(float(came[-1]), float(releases.released.max(initial=-math.inf)))
    if evidence.policy.window.timed:
        now = max(now, -math.inf if span.end.clock is None else span.end.clock)
    left = releases.row != NO_ROW
    latest = np.full(evidence.accepted, now)
    latest[releases.row[left]] = releases.arrived[left]
    latest = np.maximum(np.minimum.accumulate(latest[::-1])[::-1], came)
    found: Flags = latest + deadline(evidence.policy) > now
    return found
