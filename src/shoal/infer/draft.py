"""A commented policy, drafted from the first rows of the data."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any, NamedTuple

from shoal.config import quoted_name, yaml_scalar
from shoal.formats import Detected
from shoal.infer.attribute import Context, K, attribute
from shoal.infer.entry import NEXT, Entry, flow, prose
from shoal.infer.roles import BLANK, Persons, Times, find_nulls, find_person, find_time, nulls_entry
from shoal.infer.sample import RARE, Column, Sample, person_numbers, sample
from shoal.policy import MOST_QUASI
from shoal.text import counted

WINDOW = 50 * K


def draft(source: str | PathLike[str], rows: int = 10_000) -> str:
    """A policy for a file as `run` reads it, from its first rows, as commented YAML, for the user to review.

    Published is only what is clearly a quasi-identifier. No extreme of a number, no category of fewer than five persons
    and nothing that identifies a person is written down.
    """
    path = fspath(source)
    return written(path, study(path, rows))


def written(path: str, seen: Study) -> str:
    """The draft of a study."""
    lines = [*_opening(path, seen.sample, seen.noun), ""]
    nulls = nulls_entry(seen.nulls, seen.words)
    for entries in (_input(seen), seen.person.entries, seen.time.entries, [nulls]):
        lines += [line for entry in entries for line in entry.lines()]
        lines += [""] * bool(entries)
    lines += [*attributes_section(seen.entries), "", *closing()]
    return "\n".join(lines) + "\n"


class Study(NamedTuple):
    """The findings from which a draft is written."""

    sample: Sample
    person: Persons
    time: Times
    nulls: dict[str, list[str]]  # the texts of each field that mean missing
    words: dict[str, list[str]]  # those that may mean missing, and are kept as values
    forms: dict[str, tuple[str, ...]]  # the forms of the fields with times that are not ISO 8601
    settings: dict[str, Any]  # how the input is written, as `input` of a policy
    entries: dict[str, Entry]  # the entries of all other fields, in order
    noun: str  # what is counted: person or row

    @property
    def named(self) -> set[str]:
        """The fields that the draft names."""
        names = {name for name, entry in self.entries.items() if entry.active}
        return names | {self.person.column.name if self.person.column else "", self.time.name or ""} - {""}


def study(path: str, rows: int, written: Detected | None = None) -> Study:
    """Look at the first rows of a file; how it is written may be given."""
    found = sample(path, rows, written)
    marks = found.written.marks
    plain = [Column(field, (), marks, field.name in found.nested) for field in found.fields]
    looked = {column.name: find_nulls(column, marks) for column in plain if not column.nested}
    nulls = {name: missing for name, (missing, _) in looked.items()}
    words = {name: kept for name, (_, kept) in looked.items() if kept}
    columns = [column.reading(nulls.get(column.name, [BLANK])) for column in plain]
    person = find_person(columns)
    time = find_time([column for column in columns if column is not person.column])
    noun = "person" if person.counted else "row"
    context = Context(person_numbers(person.counted, found.rows), person.candidates, found.complete, noun)
    others = [column for column in columns if column is not person.column and column.name != time.name]
    entries = {column.name: attribute(column, context) for column in others}
    forms = {column.name: column.forms for column in columns if column.forms and (column.is_date or column.name == time.name)}
    return Study(found, person, time, nulls, words, forms, found.written.settings(path), entries, noun)


def _input(seen: Study) -> list[Entry]:
    """How the input is written, where it is not as usual."""
    settings = input_settings(seen)
    said, doubt = str(seen.sample.written), seen.sample.written.doubt
    if not settings:
        return [Entry(f"The input: {said}.")] if doubt else []
    items = [f"{key}: {_flow(value)}" for key, value in settings.items()]
    note = f"How the input is written, as detected from its beginning{f': {said}' if said else ''}."
    if "header" in settings:
        note += " The file has no names of columns: rename them here and below."
    return [Entry(note, flow("input: {", items, "}"), active=True)]


def input_settings(seen: Study) -> dict[str, Any]:
    """The section `input` of the draft. A form that is ambiguous is there only if the draft names its field, and refused."""
    times = {name: " or ".join(forms) for name, forms in seen.forms.items() if name in seen.named or len(forms) == 1}
    return {**seen.settings, **({"times": times} if times else {})}


def _flow(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{yaml_scalar(key)}: {_flow(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return yaml_scalar(str(value))


def _opening(path: str, found: Sample, noun: str) -> Iterator[str]:
    seen = counted(found.rows + found.bad, "row")
    extent = f"all {seen}" if found.complete else f"a sample, the first {seen}"
    place = "standard input" if path == "-" else quoted_name(PurePath(path).name)
    more = "" if found.complete else " (more follow, and may differ)"
    yield from prose(f"A draft by `shoal infer`, from {extent} of {place}{more}. Read all of it before you use it.")
    yield from prose(
        "It publishes only fields that are clearly quasi-identifiers. All others are left out, each with the reason. A # "
        "before a space begins a comment. Any other # disables a setting: remove the # to enable it. The draft contains no "
        f"extreme value of the data, and no value that fewer than {RARE} {noun}s have."
    )
    yield NEXT
    if found.bad:
        yield from prose(f"{counted(found.bad, 'row')} of the sample cannot be read, and will be rejected.")
    if found.unnamed:
        yield from prose(f"{counted(found.unnamed, 'field')} without a name, or with a very long name: ignored.")
    if found.seldom:
        yield from prose(f"{counted(found.seldom, 'field')} that fewer than {RARE} records have: ignored, and not named here.")


def attributes_section(entries: dict[str, Entry]) -> Iterator[str]:
    active = [entry for entry in entries.values() if entry.active]
    rest = [entry for entry in entries.values() if not entry.active]
    full = f"Left out: a policy has at most {MOST_QUASI} quasi-identifiers."
    rest += [entry._replace(active=False, note=f"{full} {entry.note}") for entry in active[MOST_QUASI:]]
    yield from prose(
        "Fields that are not listed are not published. A range is that of the sample, rounded outward: if you know the true "
        "bounds, write those. A record with a value outside its range is rejected; out_of_range: clip replaces the value by "
        "the nearer end. Published intervals end at multiples of the grid: a wider grid reveals less. Hierarchies are flat: "
        "add levels between the root and the leaves, and less is lost."
    )
    yield "attributes:"
    for entry in active[:MOST_QUASI] or [placeholder(set(entries))]:
        yield from entry.lines("  ")
    if rest:
        yield ""
    for entry in rest:
        yield from entry.lines("  ")


def placeholder(taken: set[str]) -> Entry:
    """What stands in for the quasi-identifier that a policy needs."""
    name = "to_be_decided"
    while name in taken:
        name += "_"
    note = (
        "DECIDE what to publish: no field is clearly a quasi-identifier, and a policy needs one. Enable some below, "
        "then remove this one: it names no field of the data, and `shoal check` reports it as a problem."
    )
    return Entry(note, [f"{yaml_scalar(name)}: {{quasi: numeric, range: [0, 1], grid: 1}}"], active=True)


def closing() -> Iterator[str]:
    for note, setting in (
        (
            "A record hides among at least this many persons. A larger k is safer and less precise. If an attribute is "
            "sensitive, l: 2 prevents groups in which all have the same value.",
            f"privacy: {{k: {K}}}",
        ),
        (
            f"A record waits for at most this many arrivals: {WINDOW // K} times k. A longer window loses less. {{time: 30s}} "
            "bounds the wait in seconds instead.",
            f"window: {{count: {WINDOW}}}",
        ),
        ("The algorithm with the lowest loss. fads is several times as fast, and loses more.", "algorithm: {name: tide}"),
    ):
        yield from Entry(note, [setting], active=True).lines()
