"""Texts that look like "missing"."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.config.yaml_text import quoted_name, yaml_scalar
from shoal.infer.column import Column
from shoal.infer.entry import Entry
from shoal.infer.forms import is_missing
from shoal.infer.sample import Field

_MOST = 6


def nulls(fields: Iterable[Field]) -> dict[str, list[str]]:
    """The texts that look like "missing", and the fields they occur in; the empty text is always one."""
    found: dict[str, list[str]] = {"": []}
    for field in fields:
        for text in sorted(filter(is_missing, Column(field, ()).values)):
            found.setdefault(text, []).append(field.name)
    return found


def entry(found: dict[str, list[str]]) -> Entry:
    """The setting of what means missing, and where it was found."""
    listed = ", ".join(_quoted(text) for text in found)
    places = "; ".join(f"{_quoted(text)} in {_places(names)}" for text, names in found.items() if names)
    note = "Texts that mean missing, besides null, NaN and an absent field. "
    note += f"Found: {places}. Remove what is a value of its own." if places else "None was found in the sample."
    return Entry(note, [f"nulls: [{listed}]"], active=True)


def _quoted(text: str) -> str:
    written = yaml_scalar(text)
    return written if written.startswith('"') else f'"{written}"'


def _places(names: list[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(quoted_name(name) for name in names[:_MOST]) + more
