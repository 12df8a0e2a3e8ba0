"""The entry of a field: a quasi-identifier if it clearly is one, otherwise left out with the reason."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.causes import are_affixed
from shoal.config import quoted_name, yaml_scalar
from shoal.infer.entry import Entry, categorical, numeric, rounded_range
from shoal.infer.ready import addresses, dates, is_addresses, phones, places, postcodes
from shoal.infer.sample import GLANCE, RARE, Column, support
from shoal.recognize import PHONES, direct, is_birth, is_coded, is_identifier, is_quasi, is_sensitive, stable_persons, words
from shoal.text import counted, percent

K = 20
MOST_LEAVES = 100
MOST_CODES = 20
CODES = 5
COVERED = 0.8
LAST_YEAR = 2200
MOSTLY = 0.95  # of the values are numbers: few enough others to reject their records
_FIRST = 200  # rows that tell of most fields that several persons have a value
_BETTER = 0.05  # by how much a set must lose less than a node

_UNCLEAR = "its name does not show whether others may know it about a person"


class Context(NamedTuple):
    """What the sample says about all fields."""

    persons: NDArray[np.int64]
    candidates: list[str]  # fields that may identify persons
    complete: bool
    noun: str  # what is counted: person or row


def attribute(column: Column, context: Context) -> Entry:
    """The entry of a field that is neither the person nor the time."""
    reason = _withheld(column, context)
    if reason:
        return Entry(f"{quoted_name(column.name)} is left out: {reason}.")
    found = _ready(column)
    if found:
        return found
    reason = _hidden(column, context)
    if reason:
        return Entry(f"{quoted_name(column.name)} is left out: {reason}.")
    if is_sensitive(column.name):
        return _sensitive(column, context)
    if column.numbers is not None and not column.is_padded and not _is_code(column):
        return _number(column)
    return _category(column, context)


def _withheld(column: Column, context: Context) -> str | None:
    """The reason for which a field is not published, if there is one."""
    if column.is_unreadable:
        return "it holds bytes that are not UTF-8"
    if not column.known:
        return "it is missing in all rows of the sample"
    if column.nested:
        return "it holds lists or objects, which cannot be generalized; name a field in them by its path, such as visits.0.age"
    if column.name in context.candidates or is_identifier(column.name):
        return "it may identify persons"
    return None


def _ready(column: Column) -> Entry | None:
    """The entry of a field with a ready hierarchy."""
    kind = direct(column.name)
    if kind is None and _is_affixed(column):
        note = "its values are numbers with a unit or a sign beside them, such as kg or a currency; remove it first"
        return Entry(f"{quoted_name(column.name)} is left out: {note}.")
    shape = column.shape if column.numbers is None and not column.is_moment else None
    if kind == "postcodes":
        return postcodes(column)
    if kind == "coordinates" or shape == "coordinates":
        return places(column)
    if shape == "IP addresses" and is_addresses(column.values):
        return addresses(column)
    if shape == "phone numbers" or words(column.name) & PHONES:
        return phones(column)
    return dates(column) if column.is_date and (kind is None or is_birth(column.name)) else None


def _is_affixed(column: Column) -> bool:
    return column.numbers is None and not column.is_moment and not column.doubt and are_affixed(column.values[:GLANCE])


def _few(persons: NDArray[np.int64]) -> bool:
    """Whether there are fewer than RARE different persons; in wide files the first rows answer for most fields."""
    return len(np.unique(persons[:_FIRST])) < RARE and len(np.unique(persons)) < RARE


def _hidden(column: Column, context: Context) -> str | None:
    """The reason for which the values of a field are not published, if there is one."""
    kind = direct(column.name)
    if kind:
        return f"by its name it holds {kind}; never publish it"
    if column.is_moment and column.seconds is None:
        return "it holds times of day or spans of time, which cannot be generalized; write them as numbers, such as the hour"
    shape = "dates" if column.is_moment else column.shape if column.numbers is None else None
    if shape == "dates":
        return "some values look like dates, and not all can be read in one form; write all of them like 2025-03-31"
    if shape:
        return f"some values look like {shape}; never publish it"
    if len(column.values) == 1:
        return "it has only one value, so there is nothing to generalize"
    if _few(context.persons[column.codes >= 0]):
        return f"fewer than {RARE} {context.noun}s of the sample have a value"
    if column.is_almost_unique and column.numbers is None and column.doubt:
        return f"its values cannot be read as numbers; {column.doubt}"
    is_amount = column.numbers is not None and is_sensitive(column.name)
    if column.is_almost_unique and (column.numbers is None or column.is_whole) and not is_amount:
        return "almost every row has a different value, as in identifiers and free text"
    return None


def _sensitive(column: Column, context: Context) -> Entry:
    stable = stable_persons(column.codes, context.persons) if context.noun == "person" else None
    if stable:
        note = (
            f"{quoted_name(column.name)} is left out: by its name it is sensitive. It does not change for "
            f"{percent(stable[0], digits=0)} of the {counted(stable[1], 'person')} who come back, so their releases together "
            "would reveal it. If enabled, its values go to a second output, in shuffled bags; as: block keeps it in the rows, "
            "and needs blocks, which shoal blocks drafts"
        )
        return Entry(f"{note}.", [f"{yaml_scalar(column.name)}: {{sensitive: true, stable: true, as: bag}}"])
    note = (
        f"{quoted_name(column.name)} is left out: by its name it is sensitive. If enabled, it is published unchanged, and k "
        "does not protect it: rare values can single persons out, and a whole group can have the same value"
    )
    return Entry(f"{note}.", [f"{yaml_scalar(column.name)}: {{sensitive: true}}"])


def _number(column: Column) -> Entry:
    values = column.numbers
    assert values is not None
    name = quoted_name(column.name)
    if not np.isfinite(values).all():
        return Entry(f"{name} is left out: some values are infinite, and their records would be rejected.")
    bounds = rounded_range(float(values.min()), float(values.max()), column.is_whole)
    if bounds is None:
        return Entry(f"{name} is left out: its values are too far apart for a range.")
    facts = ["whole numbers" if column.is_whole else "numbers", *_facts(column)]
    settings = numeric(column.name, bounds)
    if is_birth(column.name) and values.max() > LAST_YEAR:
        return Entry(f"{name} is left out: these seem to be whole dates of birth; give the year.", settings)
    return _decided(column, facts, settings)


def _category(column: Column, context: Context) -> Entry:
    counts = support(column, context.persons)
    often = np.flatnonzero(counts >= RARE)
    rows = int(np.isin(column.codes, often).sum())
    rare = len(column.values) - len(often)
    reason = None
    if column.numbers is None and column.share_of_numbers > 0.5:
        reason = _mixed(column)
    elif len(often) > MOST_LEAVES:
        reason = f"it has more than {MOST_LEAVES} values"
    elif context.noun == "row" and not is_quasi(column.name):
        reason = f"{_UNCLEAR}. No field identifies persons, so its values are not written here: they might be persons"
    elif len(often) < 2 or rows < COVERED * column.known:
        reason = f"most of its {counted(len(column.values), 'value')} are rare (fewer than {RARE} {context.noun}s each)"
    if column.numbers is None and column.share_of_numbers >= MOSTLY:
        some = column.some_numbers
        bounds = rounded_range(float(some.min()), float(some.max()), bool((np.trunc(some) == some).all()))
        if bounds and some.min() < some.max():
            note = f"{quoted_name(column.name)} is left out: {reason}. If enabled, records with other values are rejected"
            return Entry(f"{note}.", numeric(column.name, bounds))
    if reason:
        file = re.sub(r"\W+", "-", column.name, flags=re.ASCII).strip("-") or "hierarchy"
        note = f"{quoted_name(column.name)} is left out: {reason}. As a quasi-identifier it needs a hierarchy that you write:"
        setting = f"{yaml_scalar(column.name)}: {{quasi: categorical, hierarchy: {yaml_scalar(f'{file}.csv')}, unknown: root}}"
        return Entry(note, [setting])
    facts = [counted(len(often), "category", "categories"), *_facts(column)]
    if rare:
        few = f"fewer than {RARE} {context.noun}s each"
        facts.append(f"{counted(rare, 'rare value')} ({few}) not listed, so unknown: root")
    elif not context.complete:
        facts.append("unknown: root, because later rows may have other values")
    leaves = sorted(column.values[code] for code in often)
    shown, as_set, as_node = losses(np.bincount(column.codes[np.isin(column.codes, often)])[often], K)
    sets = as_set < as_node - _BETTER
    if sets:
        why = f"{K} rows of the sample have {shown:.1f} of them on average: as a set they lose {as_set:.2f}"
        facts.append(f"generalize: set, because {why}, as a node {as_node:.2f}")
    return _decided(column, facts, categorical(column.name, leaves, bool(rare) or not context.complete, sets))


def losses(rows: NDArray[np.int64], k: int) -> tuple[float, float, float]:
    """How many different values k rows have on average, if they are drawn at random; and what a group of them loses in a flat
    hierarchy, if it shows the set of its values, or a node. `rows` are the rows of each value.

    >>> losses(np.array([50, 50]), 2)
    (1.5, 0.5, 0.5)
    """
    share = rows / rows.sum()
    shown = float((1 - (1 - share) ** k).sum())
    return shown, (shown - 1) / max(1, len(rows) - 1), float(1 - (share**k).sum())


def _mixed(column: Column) -> str:
    """What a column holds whose values are numbers in the main."""
    others = percent(1 - column.share_of_numbers, digits=0)
    causes = [cause for cause in column.likely_causes if cause]
    hint = f"; {causes[0]}" if causes else "; correct these, or list the texts that mean missing under nulls"
    return f"it is mixed: most values are numbers, but {others} are not{hint}"


def _decided(column: Column, facts: list[str], settings: list[str]) -> Entry:
    summary = "; ".join(facts)
    summary = f"{summary[0].upper()}{summary[1:]}."
    if is_quasi(column.name):
        return Entry(summary, settings, active=True)
    return Entry(f"{quoted_name(column.name)} is left out: {_UNCLEAR}. {summary}", settings)


def _facts(column: Column) -> list[str]:
    facts = [f"missing in {percent(column.missing / column.rows, digits=0)} of the rows"] if column.missing else []
    values = column.numbers
    if values is not None and column.is_whole and 0 < len(np.unique(values[values < 0])) <= CODES:
        facts.append("some are negative: if these mean missing, list them under nulls, and correct the range")
    return facts


def _is_code(column: Column) -> bool:
    return column.is_whole and is_coded(column.name) and len(column.values) <= MOST_CODES
