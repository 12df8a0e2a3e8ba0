"""What the owner of a policy accepts: the success of attacks that the audit runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import PlainValidator, WithJsonSchema

from shoal.config import nearest, refusal
from shoal.policy.frozen_map import FrozenMap

ATTACKS = (
    "whole row", "below k", "linkage", "null pattern", "timing", "order", "intersection", "minimality",
    "homogeneity", "inference", "intersection of values", "end points", "helper", "presence",
    "values across releases",
)  # fmt: skip
"""The attacks that `privacy.accept` may name; the audit calls them so."""
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")


def _accepted(value: object) -> Mapping[str, float]:
    if not isinstance(value, Mapping):
        raise refusal("is not a mapping; write attacks with the success that is accepted, such as {homogeneity: 5%}")
    found: dict[str, float] = {}
    problems = []
    for name, share in value.items():
        if name not in ATTACKS:
            problems.append((str(name), f"is no attack; {nearest(str(name), ATTACKS, listed=True)}"))
            continue
        try:
            found[name] = percentage(share)
        except ValueError:
            problems.append((name, "is not a share; write it like 5%, or as a number from 0 to 1"))
    if problems:
        raise refusal(*problems)
    return FrozenMap(found)


def percentage(value: object) -> float:
    """A share: a number from 0 to 1, or text that ends with a percent sign. Raises ValueError if it is neither.

    >>> percentage("5%"), percentage("12.5 %"), percentage(0.2)
    (0.05, 0.125, 0.2)
    """
    if isinstance(value, str):
        written = _PERCENT.fullmatch(value.strip())
        share = float(written[1]) / 100 if written else -1.0
    else:
        share = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else -1.0
    if not 0 <= share <= 1:
        raise ValueError
    return share


Accepted = Annotated[
    Mapping[str, float],
    PlainValidator(_accepted),
    WithJsonSchema(
        {
            "type": "object", "additionalProperties": False,
            "properties": {
                name: {
                    "anyOf": [
                        {"type": "number", "minimum": 0, "maximum": 1},
                        {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)? ?%\s*$"},
                    ]
                }
                for name in ATTACKS
            },
        }
    ),
]  # fmt: skip
