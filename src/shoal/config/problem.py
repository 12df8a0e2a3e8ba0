"""What is wrong with a configuration file, in one tone: `place: what is wrong; remedy`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from shoal.config.model import REFUSED

Place = tuple[Any, ...]

_TEXTS = {
    "literal_error": "is not allowed; use {expected}",
    "greater_than": "is not above {gt:g}; use more than {gt:g}",
    "greater_than_equal": "is below {ge:g}; use at least {ge:g}",
    "less_than_equal": "is above {le:g}; use at most {le:g}",
}
_MAPPINGS = ("dict_type", "model_type", "model_attributes_type")


def problems(error: ValidationError, owner: Callable[[Place], type[BaseModel]], at: Place = ()) -> Iterator[tuple[Place, str]]:
    """What pydantic found wrong below a place, in our words; `owner` gives the model that the key at a place belongs to."""
    for details in error.errors(include_url=False):
        place, kind, context = (*at, *details["loc"]), details["type"], details.get("ctx", {})
        if kind == REFUSED:
            yield from (((*place, key) if key else place, text) for key, text in context["problems"])
        elif kind in ("extra_forbidden", "invalid_key"):
            yield place, unknown(place[-1], owner(place).model_fields)
        elif kind == "missing":
            yield place, missing(place[-1], owner(place))
        elif kind == "union_tag_invalid":
            known = tuple(tag.strip(" '") for tag in context["expected_tags"].split(","))
            yield (*place, "name"), f"{context['tag']!r} is no {place[-1]}; {nearest(context['tag'], known, listed=True)}"
        elif kind in _TEXTS:
            yield place, _TEXTS[kind].format(**context)
        else:
            field = owner(place).model_fields.get(place[-1]) if place else None
            example = f"; write {field.description}" if field and field.description else ""
            yield place, ("is not a mapping" if kind in _MAPPINGS else _lowered(details["msg"])) + example


def unknown(key: object, known: Iterable[str]) -> str:
    """The problem of a key that does not exist, with the nearest that does.

    >>> unknown("rnage", ["quasi", "range"])
    "unknown key; did you mean 'range'?"
    """
    return f"unknown key; {nearest(str(key), tuple(known))}"


def missing(key: Any, model: type[BaseModel]) -> str:
    """The problem of a required key that is absent."""
    return f"is missing; add {model.model_fields[key].description}"


def nearest(word: str, known: tuple[str, ...], listed: bool = False) -> str:
    """The known word that is most like this one, or all of them; both if `listed`."""
    near = [f"did you mean {match!r}?" for match in get_close_matches(word.lower(), known, n=1)]
    return "; ".join([f"known are {', '.join(known)}", *near] if listed or not near else near)


def dotted(place: Place) -> str:
    """
    >>> dotted(("attributes", "age", "range"))
    'attributes.age.range'
    """
    return ".".join(str(step) or "''" for step in place)


def nested_owner(model: type[BaseModel], place: Place) -> type[BaseModel]:
    """The model inside a model that holds the key at a place."""
    for step in place[:-1]:
        field = model.model_fields.get(str(step))
        kinds = [field.annotation, *getattr(field.annotation, "__args__", ())] if field else []
        model = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), model)
    return model


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]
