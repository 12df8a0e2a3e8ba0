"""The initial form: the draft of `shoal infer` and its notes."""

from __future__ import annotations

from typing import Any, Literal

from shoal.config import read_yaml as yaml
from shoal.errors import PolicyError
from shoal.hierarchies import is_named
from shoal.infer import WINDOW, K, Study, input_settings
from shoal.infer import Entry as Drafted
from shoal.lab.form import Form, FormField, Role, with_note
from shoal.lab.policy_text import flow_text
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
        entries[person] = with_note(FormField(name=person), seen.person.entries[0].note)
    if seen.time.name:
        entries[seen.time.name] = with_note(FormField(name=seen.time.name), seen.time.entries[0].note)
    fields = [entries[field.name] for field in seen.sample.fields if field.name in entries]
    quasi = [entry for entry in fields if entry.role in ("numeric", "categorical")]
    for entry in quasi[MOST_QUASI:]:
        entry.role = "omit"
    return Form(person=person, time=seen.time.name or "", k=str(K), window=str(WINDOW), fields=fields, more=_more(seen))


def _more(seen: Study) -> str:
    """How the input is written, and which texts of single fields mean missing: settings that the form has no boxes for."""
    found = {"input": input_settings(seen), "nulls": {name: texts for name, texts in seen.nulls.items() if len(texts) > 1}}
    return "".join(f"{key}: {flow_text(value)}\n" for key, value in found.items() if value)


def about(sample: Sample) -> str:
    """The fields that may identify persons, if several might."""
    who = sample.study.person
    return f"May tell persons apart: {', '.join(who.candidates)}." if not who.column and who.candidates else ""


def _entry(name: str, drafted: Drafted) -> FormField:
    settings: dict[str, Any] = {}
    if drafted.settings:
        settings = next(iter(yaml("\n".join(drafted.settings)).values()))
    low, high = settings.get("range", ("", ""))
    quasi = settings.get("quasi")
    role: Role = quasi if drafted.active and quasi else "omit"
    entry = FormField(
        name=name,
        role=role,
        low=_text(low),
        high=_text(high),
        grid=_text(settings.get("grid", "")),
        tree=_tree(settings.get("hierarchy")),
        builder=_builder(settings.get("hierarchy")),
        part=settings.get("part", ""),
        lenient=settings.get("unknown") == "root",
        generalize=_shown(settings.get("generalize")),
        stable=settings.get("stable", False),
        shown=settings.get("as", ""),
    )
    return with_note(entry, drafted.note)


def _shown(written: Any) -> Literal["", "node", "set"]:
    return "set" if written == "set" else ""


def _builder(written: Any) -> str:
    return flow_text(written) if isinstance(written, dict) and is_named(written) else ""


def _tree(written: Any) -> str:
    try:
        found: Hierarchy | None = tree(written) if isinstance(written, dict) and not is_named(written) else None
    except PolicyError:
        found = None
    return tree_text(found) if found else ""


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
