"""Figures of z-anonymity that are no verdict: what left, who is alike, attacks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.audit.attacks.attack import Attack
from shoal.audit.histogram import Histogram, by_doubling
from shoal.audit.keys import mixed
from shoal.audit.observations.evidence import Observed
from shoal.audit.observations.promises.z_users import counted
from shoal.audit.observations.rotation import rotation


@dataclass(frozen=True)
class Crowds:
    """Who publishes the same items as others in the same period; those who publish none are left out."""

    pseudonyms: int
    alone: int  # pseudonyms whose set of items nobody else has
    sizes: Histogram  # of sets, how many pseudonyms have them


@dataclass(frozen=True)
class Transactions:
    """What an audit of z-anonymity measures besides the promises."""

    shown: int  # rows with an item
    generalized: int | None  # rows that show an ancestor; this and the next need a trace
    users: Histogram | None  # of releases, how many users the item had by then
    items: int  # different items of the input
    published: int  # different items and ancestors of the output
    crowds: Crowds
    attacks: tuple[Attack, ...]


def transactions(evidence: Observed) -> Transactions:
    """Measure."""
    shown = evidence.nodes.shown[evidence.nodes.shown >= 0]
    traced = evidence.trace is not None
    return Transactions(
        shown=len(shown),
        generalized=int((evidence.level > 0).sum()) if traced else None,
        users=by_doubling(counted(evidence)[1]) if traced else None,
        items=len(np.unique(evidence.nodes.path[:, 0])),
        published=len(np.unique(shown)),
        crowds=_crowds(evidence),
        attacks=rotation(evidence),
    )


def _crowds(evidence: Observed) -> Crowds:
    """Sets are compared by sums of 64-bit keys."""
    rows = np.flatnonzero((evidence.nodes.shown >= 0) & (evidence.pseudonym >= 0) & ~np.isnan(evidence.shown_time))
    window, time, shown = evidence.rule.window, evidence.shown_time[rows], evidence.nodes.shown[rows].astype(np.int64)
    period = np.unique(np.floor_divide(time, window) if window else time, return_inverse=True)[1]
    spans, owner = np.unique(evidence.pseudonym[rows] * (int(period.max(initial=0)) + 1) + period, return_inverse=True)
    width = int(shown.max(initial=0)) + 1
    pair = np.unique(owner.ravel() * width + shown)
    total = np.zeros(len(spans), np.uint64)
    np.add.at(total, pair // width, mixed((pair % width + 1).astype(np.uint64)))
    when = (spans % (int(period.max(initial=0)) + 1)).astype(np.uint64)
    sizes = np.unique(mixed(total + mixed(when + np.uint64(1))), return_counts=True)[1]
    return Crowds(len(spans), int((sizes == 1).sum()), by_doubling(sizes))
