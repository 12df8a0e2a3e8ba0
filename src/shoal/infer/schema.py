"""A commented policy, drafted from a schema: what the fields are by their tags, or else by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Literal

from shoal.config import quoted_name, yaml_scalar
from shoal.infer.draft import attributes_section, closing
from shoal.infer.entry import NEXT, Entry, categorical, numeric, prose, rounded_range
from shoal.infer.schema_fields import SchemaField, schema_fields
from shoal.recognize import direct, is_identifier, is_quasi, is_sensitive, is_time, person_rank
from shoal.text import counted

Role = Literal["person", "time", "quasi", "sensitive", "keep", "hide"]
TAGS: dict[str, Role] = {
    **dict.fromkeys(("person", "subject", "datasubject", "personid", "userid", "patientid", "customerid"), "person"),
    **dict.fromkeys(("time", "eventtime", "timestamp"), "time"),
    **dict.fromkeys(("quasi", "quasiidentifier", "qi", "demographic", "indirectidentifier"), "quasi"),
    **dict.fromkeys(("sensitive", "spi", "phi", "specialcategory", "health", "confidential"), "sensitive"),
    **dict.fromkeys(("public", "keep", "nonpersonal"), "keep"),
    **dict.fromkeys(("pii", "directidentifier", "identifier", "secret", "restricted", "private"), "hide"),
}  # fmt: skip
_SURE = ("hide", "person", "time", "sensitive", "quasi", "keep")  # of several tags, the first of these counts
_UNTAGGED = "it has no tag, and its name does not show whether others may know it about a person"


def role(tags: Sequence[str]) -> Role | None:
    """The role that tags give a field, however they are written; the most careful of several.

    >>> role(["QUASI_IDENTIFIER"]), role(["public", "PII"]), role(["gold"])
    ('quasi', 'hide', None)
    """
    found = {TAGS.get(re.sub(r"[^a-z]", "", tag.lower())) for tag in tags}
    return next((each for each in _SURE if each in found), None)


def from_schema(path: str) -> str:
    """A policy for records of a schema, as commented YAML, for the user to review."""
    fields = schema_fields(path)
    roles = {field.name: role(field.tags) for field in fields}
    person = _person(fields, roles)
    time = _time(fields, roles, person)
    lines = [
        *prose(
            f"A draft by `shoal infer`, from the schema {quoted_name(PurePath(path).name)} ({counted(len(fields), 'field')}). "
            "Read all of it before you use it: a schema says little about values."
        ),
        *prose(
            "It publishes only fields that are tagged or named as quasi-identifiers, and whose values the schema lists or "
            "bounds. All others are left out, each with the reason. A # before a space begins a comment. Any other # disables "
            "a setting: remove the # to enable it."
        ),
        NEXT,
        "",
    ]
    for entry in (_person_entry(person, roles), *([_time_entry(time)] if time else [])):
        lines += [*entry.lines(), ""]
    others = [field for field in fields if field.name not in (person, time)]
    lines += [*attributes_section({field.name: _entry(field, roles[field.name]) for field in others}), "", *closing()]
    return "\n".join(lines) + "\n"


def _person(fields: Sequence[SchemaField], roles: dict[str, Role | None]) -> str | None:
    tagged = [field.name for field in fields if roles[field.name] == "person"]
    if tagged:
        return tagged[0] if len(tagged) == 1 else None
    ranks = {field.name: person_rank(field.name.rpartition(".")[2]) for field in fields if field.kind in ("whole", "text")}
    best = [name for name, rank in ranks.items() if rank and rank == max(ranks.values())]
    return best[0] if len(best) == 1 else None


def _person_entry(person: str | None, roles: dict[str, Role | None]) -> Entry:
    if person is None:
        note = (
            "DECIDE who is a person: no field clearly identifies persons. As it is, every record counts as a different "
            "person. If persons can come back, this is NOT safe: one person could fill a whole group."
        )
        return Entry(note, ["person: none"], active=True)
    why = "its tag" if roles[person] == "person" else "its name"
    return Entry(f"Identifies persons, by {why}; never published.", [f"person: {yaml_scalar(person)}"], active=True)


def _time(fields: Sequence[SchemaField], roles: dict[str, Role | None], person: str | None) -> str | None:
    tagged = [field.name for field in fields if roles[field.name] == "time"]
    named = [field.name for field in fields if field.kind == "moment" and roles[field.name] is None and _named_time(field)]
    found = tagged or named
    return found[0] if len(found) == 1 and found[0] != person else None


def _named_time(field: SchemaField) -> bool:
    return is_time(field.name.rpartition(".")[2])


def _time_entry(time: str) -> Entry:
    note = "The records' own time. It is not published; a time window would use it. A record without a time is rejected."
    return Entry(note, [f"time: {{field: {yaml_scalar(time)}, publish: drop}}"], active=True)


def _entry(field: SchemaField, tagged: Role | None) -> Entry:
    name, short = quoted_name(field.name), field.name.rpartition(".")[2]
    if tagged == "hide":
        return Entry(f"{name} is left out: its tag says that it identifies persons; never publish it.")
    if field.kind == "list":
        return Entry(f"{name} is left out: it holds lists, which cannot be generalized; name an entry by its place.")
    if tagged is None and (kind := direct(short)):
        return Entry(f"{name} is left out: by its name it holds {kind}; never publish it.")
    if tagged is None and is_identifier(short):
        return Entry(f"{name} is left out: it may identify persons.")
    if tagged == "sensitive" or (tagged is None and is_sensitive(short)):
        why = "its tag says that it is sensitive" if tagged else "by its name it is sensitive"
        note = f"{name} is left out: {why}. If enabled, it is published unchanged, and k does not protect it"
        return Entry(f"{note}: rare values can single persons out.", [f"{yaml_scalar(field.name)}: {{sensitive: true}}"])
    if tagged == "keep":
        note = f"{name} is public, by its tag: published as it is. Its values must not single persons out."
        return Entry(note, [f"{yaml_scalar(field.name)}: {{publish: keep}}"], active=True)
    return _generalized(field, tagged == "quasi" or is_quasi(short), "its tag" if tagged else "its name")


def _generalized(field: SchemaField, is_clear: bool, why: str) -> Entry:
    """A quasi-identifier, as far as the schema knows its values."""
    name = quoted_name(field.name)
    if field.symbols or field.kind == "truth":
        settings = categorical(field.name, field.symbols or ("true", "false"), False)
        note = f"A quasi-identifier by {why}, with all values of the schema. Add levels between the root and the leaves."
        return Entry(note, settings, True) if is_clear else Entry(f"{name} is left out: {_UNTAGGED}.", settings)
    if field.kind in ("whole", "number"):
        if field.low is not None and field.high is not None and field.low < field.high:
            bounds = rounded_range(field.low, field.high, field.kind == "whole")
            if bounds is not None:
                settings = numeric(field.name, bounds)
                note = f"A quasi-identifier by {why}, within the bounds of the schema."
                return Entry(note, settings, True) if is_clear else Entry(f"{name} is left out: {_UNTAGGED}.", settings)
        setting = f"{yaml_scalar(field.name)}: {{quasi: numeric, range: [0, 100], grid: 5}}"
        reason = "the schema does not say its lowest and highest value; DECIDE the range" if is_clear else _UNTAGGED
        return Entry(f"{name} is left out: {reason}.", [setting])
    reason = "the schema does not list its values; get a hierarchy from data: shoal infer INPUT" if is_clear else _UNTAGGED
    return Entry(f"{name} is left out: {reason}.")
