"""What becomes of a tuple that is due while fewer than k persons are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import PlainValidator, WithJsonSchema

from shoal.policy.part import refusal
from shoal.policy.scalar import number

SUPPRESS = 1.0
"""The window is not lengthened."""


def _stretch(value: object) -> float:
    if value == "suppress":
        return SUPPRESS
    if isinstance(value, Mapping) and list(value) == ["stretch"]:
        times = number(value["stretch"])
        if times < 1:
            raise refusal(("stretch", "is below 1; use at least 1"))
        return times
    raise refusal("is not allowed; use suppress, or {stretch: 4} for a window up to 4 times as long")


Sparse = Annotated[
    float,
    PlainValidator(_stretch),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "suppress"},
                {"type": "object", "required": ["stretch"], "additionalProperties": False,
                 "properties": {"stretch": {"type": "number", "minimum": 1}}},
            ]
        }
    ),
]  # fmt: skip
