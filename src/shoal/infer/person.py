"""Who is a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shoal.config.yaml_text import quoted_name, yaml_scalar
from shoal.infer.column import Column
from shoal.infer.entry import Entry
from shoal.infer.words import person_rank
from shoal.text import percent

MANY = 20
_RISK = (
    "As it stands, every record counts as a person of its own. If persons can come back, that is NOT safe: one of them "
    "could fill a whole group."
)


class Persons(NamedTuple):
    """The field that tells persons apart, if one is clear, and all that might."""

    column: Column | None
    counted: Column | None  # by which the sample's persons are counted: without a clear one, the coarsest
    candidates: list[str]
    entries: list[Entry]


def persons(columns: Sequence[Column]) -> Persons:
    """The one clear candidate; none if there are none or several."""
    ranks = {column.name: person_rank(column.name) for column in columns if _is_key(column)}
    candidates = [name for name, rank in ranks.items() if rank]
    best = [name for name in candidates if ranks[name] == max(ranks.values())]
    if len(best) != 1:
        coarsest = min((column for column in columns if column.name in candidates), key=_size, default=None)
        return Persons(None, coarsest, candidates, _undecided(best))
    chosen = next(column for column in columns if column.name == best[0])
    return Persons(chosen, chosen, candidates, _chosen(chosen, [name for name in candidates if name not in best]))


def _size(column: Column) -> int:
    return len(column.values)


def _is_key(column: Column) -> bool:
    if column.nested or column.is_moment or column.is_unreadable or column.name == "none" or not column.known:
        return False
    if column.numbers is not None and not column.is_whole:
        return False
    return len(column.values) >= MANY or 2 * len(column.values) >= column.known


def _undecided(several: list[str]) -> list[Entry]:
    if several:
        names = ", ".join(map(quoted_name, several))
        note = f"DECIDE who is a person: several fields may tell persons apart ({names}). {_RISK} Enable one of these:"
        settings = [f"person: {yaml_scalar(name)}" for name in several]
        return [Entry(note, settings), Entry("and remove this one.", ["person: none"], active=True)]
    note = f"DECIDE who is a person: no field clearly tells persons apart. {_RISK} If so, name the field that tells."
    return [Entry(note, ["person: none"], active=True)]


def _chosen(column: Column, others: list[str]) -> list[Entry]:
    note = "Tells persons apart, by its name; never published. "
    if len(column.values) == column.known:
        note += "No value comes twice in the sample: if it numbers records rather than persons, name another field."
    else:
        note += "Values come back, as persons do."
    if others:
        note += f" Also thinkable: {', '.join(map(quoted_name, others))}."
    entries = [Entry(note, [f"person: {yaml_scalar(column.name)}"], active=True)]
    if column.missing:
        share = percent(column.missing / column.rows, digits=0)
        note = f"Missing in {share} of the rows: those are rejected; own would make each a person of its own."
        entries.append(Entry(note, ["person_missing: reject"], active=True))
    return entries
