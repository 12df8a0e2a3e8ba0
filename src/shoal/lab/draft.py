"""The initial form: the draft of `shoal infer` and its notes."""

from __future__ import annotations

from typing import Any

from shoal.config import read_yaml as yaml
from shoal.errors import PolicyError
from shoal.infer import WINDOW, K
from shoal.infer import Entry as Drafted
from shoal.lab.form import Form, FormField
from shoal.lab.sample import Sample
from shoal.lab.tree_text import tree_text
from shoal.policy import MOST_QUASI, Hierarchy
from shoal.policy import parse_tree as tree


def draft(sample: Sample) -> Form:
    """Clear quasi-identifiers have their role; all other fields are left out, with the reason."""
    seen = sample.study
    person = seen.person.column.name if seen.person.column else ""
    entries = {name: _entry(name, each) for name, each in seen.entries.items()}
    if person:
        entries[person] = FormField(name=person, note=seen.person.entries[0].note)
    if seen.time.name:
        entries[seen.time.name] = FormField(name=seen.time.name, note=seen.time.entries[0].note)
    fields = [entries[field.name] for field in seen.sample.fields if field.name in entries]
    quasi = [entry for entry in fields if entry.role in ("numeric", "categorical")]
    for entry in quasi[MOST_QUASI:]:
        entry.role = "omit"
    return Form(
        person=person, time=seen.time.name or "", nulls=list(seen.nulls), k=str(K), window=str(WINDOW), fields=fields
    )  # fmt: skip


def about(sample: Sample) -> str:
    """The fields that may identify persons, if several might."""
    who = sample.study.person
    return "" if who.column or not who.candidates else f"May tell persons apart: {', '.join(who.candidates)}."


def _entry(name: str, drafted: Drafted) -> FormField:
    settings: dict[str, Any] = {}
    if drafted.settings:
        settings = next(iter(yaml("\n".join(drafted.settings)).values()))
    low, high = settings.get("range", ("", ""))
    quasi = settings.get("quasi")
    return FormField(
        name=name,
        role=quasi if drafted.active and quasi else "omit",
        low=_text(low),
        high=_text(high),
        grid=_text(settings.get("grid", "")),
        tree=_tree(settings.get("hierarchy")),
        lenient=settings.get("unknown") == "root",
        note=drafted.note,
    )


def _tree(written: Any) -> str:
    try:
        found: Hierarchy | None = tree(written) if isinstance(written, dict) else None
    except PolicyError:
        found = None
    return tree_text(found) if found else ""


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
