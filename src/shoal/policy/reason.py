"""`keep`, and why: what is published as it is, with the reason of the policy's owner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainValidator, WithJsonSchema

from shoal.config import refusal

KEEP = "keep"
_FORM: dict[str, Any] = {
    "type": "object", "required": [KEEP, "because"], "additionalProperties": False,
    "properties": {KEEP: {"const": True}, "because": {"type": "string", "minLength": 1}},
}  # fmt: skip
_NO_REASON = "is no reason; write in words why it may be published as it is"
_TIMES = ("drop", KEEP, "generalize")


class Keep(str):
    """The word `keep`, with a reason or without.

    The reason is printed in reports. It decides no outcome, so no fingerprint of a policy depends on it.

    >>> found = _kept({"keep": True, "because": "drawn anew each day"})
    >>> found == "keep", found.because
    (True, 'drawn anew each day')
    """

    because: str | None

    def __new__(cls, because: str | None = None) -> Keep:
        made = super().__new__(cls, KEEP)
        made.because = because
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.because,)


def _is_reason(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _reason(value: object) -> str:
    if not _is_reason(value):
        raise refusal(_NO_REASON)
    return " ".join(str(value).split())


def _kept(value: object) -> Keep:
    if isinstance(value, Keep):
        return value
    if value == KEEP:
        return Keep()
    if not isinstance(value, Mapping) or set(value) != {KEEP, "because"} or value[KEEP] is not True:
        raise refusal('is not allowed; use keep, or {keep: true, because: "…"}')
    if not _is_reason(value["because"]):
        raise refusal(("because", _NO_REASON))
    return Keep(_reason(value["because"]))


def _time(value: object) -> str:
    if value in _TIMES and value != KEEP:
        return str(value)
    if value == KEEP or isinstance(value, Mapping):
        return _kept(value)
    raise refusal('is not allowed; use drop, generalize, keep, or {keep: true, because: "…"}')


def because(published: str | None) -> str | None:
    """The reason for which something is kept, if one is given."""
    return published.because if isinstance(published, Keep) else None


Reason = Annotated[str, BeforeValidator(_reason)]
Kept = Annotated[str, PlainValidator(_kept), WithJsonSchema({"anyOf": [{"const": KEEP}, _FORM]})]
PublishedTime = Annotated[str, PlainValidator(_time), WithJsonSchema({"anyOf": [{"enum": [*_TIMES]}, _FORM]})]
