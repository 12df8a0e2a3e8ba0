"""What is legal in a policy but worth saying."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shoal.policy.zanon import Zanon

if TYPE_CHECKING:
    from shoal.policy.policy import Policy


def notes(policy: Policy) -> Iterator[str]:
    """What a reader of the policy should know before relying on it."""
    if policy.person is None:
        yield "person: none counts every record as a person; one who comes back counts more than once"
    if policy.time and policy.time.publish == "keep" and not policy.is_filter:
        yield "time.publish: keep publishes each record's exact time, which may single it out; drop is safer"
    if isinstance(policy.algorithm, Zanon):
        yield from _filter(policy.algorithm)
        return
    for name, attribute in policy.quasi:
        if attribute.quasi == "numeric" and attribute.grid is None:
            yield f"attributes.{name}.grid: without one, the ends of a published interval are persons' own values"
        if attribute.hierarchy and any(text in attribute.hierarchy.code for text in policy.nulls):
            yield f"attributes.{name}.hierarchy: has a leaf that nulls lists too; it is always read as missing"
    if policy.privacy.k == 1:
        yield "privacy.k: 1 hides nobody among others"
    if policy.privacy.nulls_match == "maybe":
        yield "privacy.nulls_match: maybe lets a null stand for any value; who takes nulls for values sees smaller groups"
    if policy.window.kind == "buffer":
        yield "window.buffer: bounds memory but promises no delay; count and time do"


def _filter(parameters: Zanon) -> Iterator[str]:
    yield "time: is published as it came, exactly, and so are kept attributes; either may single an observation out"
    if parameters.z == 1:
        yield "algorithm.z: 1 withholds nothing"
    if parameters.window == 0:
        yield "algorithm.window: 0 counts a single moment only, and changes pseudonyms with every time"
