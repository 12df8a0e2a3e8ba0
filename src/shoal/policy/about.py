"""What a policy is for, and who answers for it: words that reports repeat, and that decide no outcome."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainValidator, WithJsonSchema

from shoal.config import FrozenModel, refusal

_LONGEST = 500


def _words(value: object) -> str:
    """
    >>> _words(" to plan  care ")
    'to plan care'
    """
    if not isinstance(value, str) or not value.strip():
        raise refusal("is no text; say it in words")
    words = " ".join(value.split())
    if len(words) > _LONGEST:
        raise refusal(f"has {len(words)} characters; use at most {_LONGEST}")
    return words


def _several(value: object) -> tuple[str, ...]:
    return tuple(map(_words, value)) if isinstance(value, list | tuple) and value else (_words(value),)


_TEXT = {"type": "string", "minLength": 1, "maxLength": _LONGEST}
Words = Annotated[str, PlainValidator(_words), WithJsonSchema(_TEXT)]
Several = Annotated[
    tuple[str, ...],
    PlainValidator(_several),
    WithJsonSchema({"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}),
]


class About(FrozenModel):
    """What the output is for, and who answers for it. Reports repeat it; it decides no outcome."""

    purpose: Words | None = Field(default=None, description="what the output is for")
    recipients: Several = Field(default=(), description="who gets the output: a text, or a list")
    controller: Words | None = Field(default=None, description="who answers for the data and for what the policy accepts")
    contact: Words | None = Field(default=None, description="where questions go, such as an address")
