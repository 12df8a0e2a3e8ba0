"""How much the sensitive values of a group must differ, and how they must be distributed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import PlainValidator, WithJsonSchema

from shoal.config import number, refusal, whole
from shoal.policy.canonical import canonical

_FORM = "write a number, {entropy: l} or {recursive: [c, l]}"
_SUM = 1e-6


class Diversity(NamedTuple):
    """What l-diversity requires of the sensitive values of a group.

    - `distinct`: at least l different values.
    - `entropy`: e to the entropy of their distribution is at least l.
    - `recursive`: with r1 the count of the most frequent value, r2 of the next and so on, r1 < c * (r_l + r_l+1 + ...).
    """

    kind: Literal["distinct", "entropy", "recursive"]
    l: float
    c: float = 0.0


def _diversity(value: object) -> Diversity:
    match value:
        case Diversity():
            return value
        case Mapping() if list(value) == ["entropy"]:
            return Diversity("entropy", _least(number(value["entropy"])))
        case Mapping() if list(value) == ["recursive"]:
            pair = value["recursive"]
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise refusal(("recursive", "is not a pair; write [c, l]"))
            c = number(pair[0])
            if not c > 0:
                raise refusal(("recursive", "its c is not above 0; use more than 0"))
            return Diversity("recursive", _least(whole(pair[1])), c)
        case Mapping():
            raise refusal(f"is no diversity; {_FORM}")
    return Diversity("distinct", _least(whole(value)))


def _least(bound: float) -> float:
    if bound < 1:
        raise refusal("is below 1; use at least 1")
    return bound


def _distribution(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping) or not value:
        raise refusal("is not a mapping; write every value with its share, such as {flu: 0.7, cold: 0.3}")
    shares: dict[str, float] = {}
    for key, share in value.items():
        text = canonical(key)
        if not text or text in shares:
            raise refusal("names a value twice, or none; write each value once")
        shares[text] = number(share)
        if shares[text] < 0:
            raise refusal("has a share below 0; use at least 0")
    if abs(sum(shares.values()) - 1) > _SUM:
        raise refusal("its shares do not add up to 1; correct them")
    return shares


Diverse = Annotated[
    Diversity,
    PlainValidator(_diversity),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "object", "required": ["entropy"], "additionalProperties": False,
                 "properties": {"entropy": {"type": "number", "minimum": 1}}},
                {"type": "object", "required": ["recursive"], "additionalProperties": False,
                 "properties": {"recursive": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}}},
            ]
        }
    ),
]  # fmt: skip
Distribution = Annotated[
    dict[str, float],
    PlainValidator(_distribution),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "number", "minimum": 0}, "minProperties": 1}),
]


class Requirement(NamedTuple):
    """What is required of one sensitive attribute."""

    name: str
    l: Diversity | None
    t: float | None
    distribution: Mapping[str, float] | None  # None: that of the accepted input so far
