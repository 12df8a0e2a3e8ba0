"""The form of the lab: a policy as texts, valid or not yet, and messages about its parts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from shoal.policy import DEFAULT_NAME, FILTER

Role = Literal["numeric", "categorical", "sensitive", "keep", "omit"]

Short = Annotated[str, Field(max_length=200)]
Words = Annotated[str, Field(max_length=2000)]
Long = Annotated[str, Field(max_length=1_000_000)]

_SECTION = re.compile(
    r"(person|person_missing|time|input|nulls|item|privacy|window|algorithm|more|attributes|weights|sparse|suppressed|releases|about)\b[.]?(\w*)"
)
_KEY = re.compile(r"(\w+)\b")


class FormField(BaseModel):
    """One field of the records and its role. Settings that its role does not use are kept, but not written to the policy."""

    model_config = ConfigDict(extra="forbid")

    name: Short
    role: Role = "omit"
    low: Short = ""
    high: Short = ""
    grid: Short = ""
    clip: bool = Field(default=False, description="clip values outside the range, instead of rejecting their records")
    weight: Short = Field(default="", description="how much it counts in losses and distances; empty: 1")
    tree: Long = Field(default="", description="the hierarchy, one label per line, indented")
    builder: Long = Field(default="", description="a hierarchy by name, as YAML, used while there is no tree")
    part: Short = Field(default="", description="the part of a date that counts, such as year")
    lenient: bool = Field(default=False, description="publish a category that is no leaf as the root")
    generalize: Literal["", "node", "set"] = Field(default="", description="how a group shows its values; empty: the default")
    most: Short = Field(default="", description="the most values of a set; empty: no bound")
    stable: bool = Field(default=False, description="a sensitive value that hardly changes for a person")
    shown: Literal["", "block", "bag", "exact"] = Field(default="", description="how a stable value is published")
    blocks: Long = Field(default="", description="the blocks of a stable attribute, one per line, values between commas")
    note: Long = Field(default="", description="what was found in the sample")
    noted: Short = Field(default="", description="the settings that the note is about, as `settings_key` gives them")


def settings_key(entry: FormField) -> str:
    """A text that changes with the settings that a note may speak of.

    >>> entry = FormField(name="age", role="numeric", high="90")
    >>> settings_key(entry) == settings_key(entry.model_copy(update={"high": "80"}))
    True
    >>> settings_key(entry) == settings_key(entry.model_copy(update={"role": "omit"}))
    False
    """
    settings = (entry.role, entry.part, entry.tree, entry.builder, entry.lenient, entry.generalize, entry.stable, entry.shown)
    return sha256(repr(settings).encode()).hexdigest()[:16]


def with_note(entry: FormField, note: str) -> FormField:
    """The field with a note on it as it is now."""
    return entry.model_copy(update={"note": note, "noted": settings_key(entry)})


class Form(BaseModel):
    """A policy in the form."""

    model_config = ConfigDict(extra="forbid")

    person: Short = Field(default="", description="the field that identifies persons; empty: each record is one person")
    time: Short = Field(default="", description="the field of the records' own time; empty: none")
    publish: Literal["drop", "keep", "generalize"] = Field(default="drop", description="what becomes of the time")
    nulls: list[Short] = Field(default=[""], max_length=100, description="texts that mean missing")
    k: Short = "20"
    window: Short = Field(default="1000", description="arrivals, tuples, or a time such as 30s")
    kind: Literal["count", "time", "buffer"] = "count"
    algorithm: Short = DEFAULT_NAME
    l: Short = Field(default="", description="how much the sensitive values of a group differ; empty: no demand")  # noqa: E741
    t: Short = Field(default="", description="how far they may be from those of all; empty: no demand")
    across: Short = Field(default="", description="the fewest values of a block of a stable attribute; empty: no blocks")
    nulls_match: Literal["", "blurred", "extended", "root", "maybe"] = Field(default="", description="how nulls are read")
    suppressed: Literal["", "blank", "publish", "drop"] = Field(default="", description="what becomes of suppressed rows")
    accept: dict[Short, Short] = Field(default={}, max_length=50, description="by attack, the success that is accepted")
    item: Short = Field(default="", description="the field of the item, for z-anonymity")
    z: Short = "20"
    span: Short = Field(default="1h", description="how far back z-anonymity counts users")
    fields: list[FormField] = Field(default=[], max_length=2000)
    purpose: Words = Field(default="", description="what the output is for")
    recipients: Words = Field(default="", description="who gets the output, between commas")
    controller: Words = Field(default="", description="who answers for the data")
    contact: Words = Field(default="", description="where questions go")
    more: Long = Field(default="", description="any other settings of a policy, as YAML")

    @property
    def is_filter(self) -> bool:
        """Whether the algorithm is z-anonymity, which publishes items instead of groups."""
        return self.algorithm == FILTER


class Message(BaseModel):
    """A line of `shoal check`, and the field of the records or the part of the policy that it concerns.

    A problem that `stops` is in the policy itself. Other problems are in the data; a run would report them and continue.
    """

    kind: Literal["problem", "warning"]
    text: str
    field: str = ""
    part: str = ""
    stops: bool = False


def located(kind: Literal["problem", "warning"], lines: Iterable[str], form: Form, stops: bool = False) -> list[Message]:
    """
    >>> form = Form(fields=[FormField(name="a"), FormField(name="a.b")])
    >>> for line in ("attributes.a.b.range: is missing", "'a', 3 of 9 rows, first row 0: no number", "privacy.k: is below 1"):
    ...     found = located("problem", [line], form)[0]
    ...     print([found.field, found.part])
    ['a.b', 'range']
    ['a', '']
    ['', 'privacy.k']
    """
    return [Message(kind=kind, text=line, stops=stops, **_place(line, form)) for line in lines]


def _place(line: str, form: Form) -> dict[str, Any]:
    for name in sorted((field.name for field in form.fields), key=len, reverse=True):
        for start in (f"attributes.{name}", f"weights.{name}"):
            if line.startswith((f"{start}:", f"{start}.")):
                key = _KEY.match(line, len(start) + 1)
                return {"field": name, "part": key[1] if line[len(start)] == "." and key else ""}
        if line.startswith((f"'{name}':", f"'{name}',")):
            return {"field": name}
    found = _SECTION.match(line)
    return {"part": ".".join(filter(None, found.groups()))} if found else {}
