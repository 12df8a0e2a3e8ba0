"""The shape of what a policy publishes."""

from __future__ import annotations

from shoal.policy import Policy
from shoal.shapes import Field, Kind, Shape, together


def shape(policy: Policy) -> Shape:
    """The published fields and what each holds, in the order in which they are written.

    >>> policy = Policy.parse({
    ...     "person": "pid", "attributes": {"age": {"quasi": "numeric", "range": [0, 100]}, "ill": {"sensitive": True}},
    ...     "privacy": {"k": 2}, "window": {"count": 4}, "algorithm": {"name": "fads"},
    ... })
    >>> [(field.name, field.kind) for field in shape(policy).fields]
    [('age', 'interval'), ('ill', 'value')]
    """
    kinds: dict[str, Kind] = {name: "node" if a.hierarchy else "interval" for name, a in policy.quasi}
    if policy.time_grid is not None and policy.time:
        kinds[policy.time.field] = "period"
    keeps = policy.nesting == "keep"
    fields = [Field(tuple(name.split(".")) if keeps else (name,), kinds.get(name, "value")) for name in policy.published]
    fields = together(fields) if keeps else fields
    imputes = not policy.is_filter and getattr(policy.algorithm, "imputes", False) and policy.privacy.nulls_match == "maybe"
    return Shape(tuple(fields), imputes)
