"""All figures of an audit that are no verdict: risk, diversity, utility, attacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from shoal.audit.attacks import Attack, attacks
from shoal.audit.classes import Classes, NullReading
from shoal.audit.diversity import Diversity, diversity
from shoal.audit.evidence import Evidence
from shoal.audit.published import NO_NODE, NULL, Band, Node
from shoal.audit.risk import Histogram, Risk, by_doubling, members, population, risk
from shoal.audit.utility import Utility, utility
from shoal.audit.values import codes_of_meaning
from shoal.audit.withheld import withheld

STEPS = ("risk", "diversity", "utility", "attacks")


@dataclass(frozen=True)
class Figures:
    """What an audit measures besides the promises.

    - `risk`: under each reading of nulls, `extended` (a null is a value) and `maybe` (a null is any value).
    - `diversity`: of each sensitive attribute, over classes of equal rows, a null being a value, unless it is withheld;
      `group_diversity`: over all rows that show the generalization of one group, which needs a trace.
    - `class_sizes`: how many classes of equal rows have how many rows.
    """

    risk: dict[NullReading, Risk]
    diversity: dict[str, Diversity]
    group_diversity: dict[str, Diversity] | None
    utility: Utility
    attacks: tuple[Attack, ...]
    class_sizes: Histogram


def figures(
    evidence: Evidence, classes: Mapping[NullReading, Classes], on_step: Callable[[str], None] = lambda step: None
) -> Figures:
    """Measure; `classes` are those of the output under the readings `extended` and `maybe`."""
    evidence = _readable(evidence)
    trace = evidence.trace
    alike = classes["extended"].of
    threshold = 1.0 / evidence.policy.privacy.k
    on_step("risk")
    risks: dict[NullReading, Risk] = {}
    for reading, found in classes.items():
        if reading != "basic":
            judged = found._replace(size=np.where(found.unknown, 0, found.size))
            around = population(evidence, judged, patterns=reading == "extended")
            risks[reading] = risk(judged.size, threshold, around, found.smallest)
    on_step("diversity")
    nulls = evidence.policy.nulls_of
    sensitive = {
        name: codes_of_meaning(evidence.shown[name], nulls(name)) for name in evidence.sensitive if name in evidence.shown
    }
    hidden = {name: withheld(evidence, name) for name in sensitive}
    by_class = {name: diversity(np.where(hidden[name], -1, alike), each.code, each.ordered) for name, each in sensitive.items()}
    by_group = None
    if trace is not None:
        by_group = {
            name: diversity(np.where(hidden[name], -1, trace.cluster), each.code, each.ordered)
            for name, each in sensitive.items()
        }
    on_step("utility")
    use = utility(evidence, alike)
    on_step("attacks")
    attacked = attacks(evidence, alike, {name: each.code for name, each in sensitive.items()})
    return Figures(
        risk=risks,
        diversity=by_class,
        group_diversity=by_group,
        utility=use,
        attacks=attacked,
        class_sizes=by_doubling(members(alike)),
    )


def _readable(evidence: Evidence) -> Evidence:
    """The same evidence with null where what is published is not an interval, or no node; that is a finding of its own."""
    published = dict(evidence.published)
    for name, shown in published.items():
        if isinstance(shown, Band):
            wrong = ~(shown.lo <= shown.hi) & ~np.isnan(shown.lo)
            if wrong.any():
                published[name] = shown._replace(lo=np.where(wrong, np.nan, shown.lo), hi=np.where(wrong, np.nan, shown.hi))
        elif isinstance(shown, Node) and (shown.node == NO_NODE).any():
            published[name] = shown._replace(node=np.where(shown.node == NO_NODE, NULL, shown.node))
    return replace(evidence, published=published)
