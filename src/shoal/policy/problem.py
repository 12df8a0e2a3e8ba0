"""Problems of a policy in one tone: `place: what is wrong; remedy`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from shoal.policy.algorithm import KNOWN, NAMES
from shoal.policy.attribute import Attribute
from shoal.policy.document import Document
from shoal.policy.event_time import Time
from shoal.policy.item import Item
from shoal.policy.part import REFUSED
from shoal.policy.privacy import Privacy
from shoal.policy.window import Window
from shoal.policy.zanon import FIXED, TUNED, Auto, Tuned

Place = tuple[Any, ...]

_PARTS: dict[str, type[BaseModel]] = {"time": Time, "item": Item, "privacy": Privacy, "window": Window}
_TEXTS = {
    "literal_error": "is not allowed; use {expected}",
    "greater_than": "is not above {gt:g}; use more than {gt:g}",
    "greater_than_equal": "is below {ge:g}; use at least {ge:g}",
    "less_than_equal": "is above {le:g}; use at most {le:g}",
}
_UNSEEN = ("[key]", FIXED, TUNED)
_MAPPINGS = ("dict_type", "model_type", "model_attributes_type")


def problems(section: str, error: ValidationError) -> Iterator[str]:
    """What pydantic found wrong in a section, said our way."""
    for details in error.errors(include_url=False):
        yield from _said((section, *details["loc"]), details)


def unknown(place: Place, known: Iterable[str]) -> str:
    """The problem of a key that does not exist, with the nearest that does.

    >>> unknown(("attributes", "age", "rnage"), ["quasi", "range"])
    "attributes.age.rnage: unknown key; did you mean 'range'?"
    """
    return f"{_dotted(place)}: unknown key; {_nearest(str(place[-1]), tuple(known))}"


def missing(place: Place, model: type[BaseModel]) -> str:
    """The problem of a required key that is absent."""
    return f"{_dotted(place)}: is missing; add {model.model_fields[place[-1]].description}"


def _said(place: Place, details: ErrorDetails) -> Iterator[str]:
    kind, context = details["type"], details.get("ctx", {})
    if kind == REFUSED:
        for key, text in context["problems"]:
            yield f"{_dotted((*place, key) if key else place)}: {text}"
    elif kind in ("extra_forbidden", "invalid_key"):
        yield unknown(place, _part(place).model_fields)
    elif kind == "missing":
        yield missing(place, _part(place))
    elif kind == "union_tag_invalid":
        yield f"algorithm.name: {context['tag']!r} is no algorithm; {_nearest(context['tag'], NAMES, listed=True)}"
    elif kind in _MAPPINGS:
        role = place[0] == "attributes" and place[1:]
        example = "a role, such as {sensitive: true}" if role else _part(place).model_fields[place[-1]].description
        yield f"{_dotted(place)}: is not a mapping; write {example}"
    elif kind in _TEXTS:
        yield f"{_dotted(place)}: {_TEXTS[kind].format(**context)}"
    else:
        yield f"{_dotted(place)}: {details['msg']}"


def _part(place: Place) -> type[BaseModel]:
    """The model that a key at this place belongs to."""
    match place:
        case (_,):
            return Document
        case ("attributes", *_):
            return Attribute
        case ("algorithm", _, "z", str(), "auto", _):
            return Auto
        case ("algorithm", _, "z", str(), _):
            return Tuned
        case ("algorithm", name, *_):
            return KNOWN[NAMES.index(name)]
    return _PARTS[place[0]]


def _dotted(place: Place) -> str:
    if len(place) > 2 and place[0] == "algorithm" and place[1] in NAMES:
        place = ("algorithm", *place[2:])
    return ".".join(str(step) or "''" for step in place if step not in _UNSEEN)


def _nearest(word: str, known: tuple[str, ...], listed: bool = False) -> str:
    near = [f"did you mean {match!r}?" for match in get_close_matches(word.lower(), known, n=1)]
    return "; ".join([f"known are {', '.join(known)}", *near] if listed or not near else near)
