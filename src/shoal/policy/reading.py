"""From what is written to checked sections, with all problems in one go."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from shoal.errors import PolicyError
from shoal.policy.algorithm import FILTER
from shoal.policy.conflict import conflicts
from shoal.policy.document import DEFAULT, NEEDED, NEEDED_TO_FILTER, Document
from shoal.policy.problem import missing, problems, unknown


def _adapter(field: FieldInfo) -> TypeAdapter[Any]:
    written: Any = Annotated[field.annotation, field]
    return TypeAdapter(written)


_SECTIONS = {name: _adapter(field) for name, field in Document.model_fields.items()}


def read(written: object, folder: str | PathLike[str] | None) -> dict[str, Any]:
    """The sections of a policy, each of its own type, defaults included.

    Raises
    ------
    PolicyError
        Everything that is wrong.
    """
    if not isinstance(written, Mapping):
        raise PolicyError(["the policy is not a mapping; write it as key: value pairs"])
    written = _named(written)
    context = {"folder": None if folder is None else Path(folder)}
    found = [unknown((key,), _SECTIONS) for key in written if key not in _SECTIONS]
    sections: dict[str, Any] = {}
    filters = _filters(written)
    needed = NEEDED_TO_FILTER if filters else NEEDED
    for name, field in Document.model_fields.items():
        if name in written and not (written[name] is None and name in needed):
            try:
                sections[name] = _SECTIONS[name].validate_python(written[name], context=context)
            except ValidationError as error:
                found.extend(problems(name, error))
        elif field.is_required() or name in needed:
            found.append(missing((name,), Document))
        else:
            sections[name] = field.default
    attributes = written.get("attributes")
    found.extend(conflicts(sections, attributes if isinstance(attributes, Mapping) else (), filters))
    if found:
        raise PolicyError(found)
    return sections


def _named(written: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The same, with a name where the algorithm has parameters only."""
    algorithm = written.get("algorithm")
    if isinstance(algorithm, Mapping) and "name" not in algorithm:
        return {**written, "algorithm": {"name": DEFAULT.name, **algorithm}}
    return written


def _filters(written: Mapping[Any, Any]) -> bool:
    algorithm = written.get("algorithm")
    return isinstance(algorithm, Mapping) and algorithm.get("name") == FILTER
