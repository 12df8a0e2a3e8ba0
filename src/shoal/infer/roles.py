"""The settings of a draft beside its attributes: the person, the time, and the texts that mean missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.causes import is_missing, missing_among
from shoal.config import quoted_name, yaml_scalar
from shoal.date_text import forms_of
from shoal.infer.entry import Entry, flow
from shoal.infer.sample import EARLIEST, LATEST_USUAL, Column
from shoal.number_text import Marks
from shoal.recognize import form, is_birth, is_time, is_word, person_rank, words
from shoal.text import percent

MANY = 20
_RISK = (
    "As it is, every record counts as a different person. If persons can come back, this is NOT safe: one person could "
    "fill a whole group."
)
_USUAL = frozenset({"ts", "time", "timestamp", "datetime", "epoch", "eventtime"})
_MOST = 6
_DAY = 86400.0
_DECADES = 20 * 365 * _DAY


class Persons(NamedTuple):
    """The field that identifies persons, if one is clear, and all candidates."""

    column: Column | None
    counted: Column | None  # counts the persons of the sample: the clear candidate, else the one with the fewest values
    candidates: list[str]
    entries: list[Entry]


def find_person(columns: Sequence[Column]) -> Persons:
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
        note = f"DECIDE who is a person: several fields may identify persons ({names}). {_RISK} Enable one of these:"
        settings = [f"person: {yaml_scalar(name)}" for name in several]
        return [Entry(note, settings), Entry("and remove this line.", ["person: none"], active=True)]
    note = f"DECIDE who is a person: no field clearly identifies persons. {_RISK} If so, name the field that identifies them."
    return [Entry(note, ["person: none"], active=True)]


def _chosen(column: Column, others: list[str]) -> list[Entry]:
    note = "Identifies persons, by its name; never published. "
    if len(column.values) == column.known:
        note += "All values of the sample differ: if it numbers records and not persons, name another field."
    else:
        note += "Values are repeated, because persons come back."
    if others:
        note += f" Other candidates: {', '.join(map(quoted_name, others))}."
    entries = [Entry(note, [f"person: {yaml_scalar(column.name)}"], active=True)]
    if column.missing:
        share = percent(column.missing / column.rows, digits=0)
        note = f"Missing in {share} of the rows, which are rejected; under own, each would count as a different person."
        entries.append(Entry(note, ["person_missing: reject"], active=True))
    return entries


class Times(NamedTuple):
    """The field of the event time, if one is clear, and its entries of the draft."""

    name: str | None
    entries: list[Entry]


def find_time(columns: Sequence[Column]) -> Times:
    """The one clear candidate; none if there are none or several."""
    clear = [column.name for column in columns if _is_time(column)]
    usual = [name for name in clear if words(name) & _USUAL]
    best = usual if len(usual) == 1 else clear
    if len(best) == 1:
        note = (
            "The records' own time, by its form and name. It is not published; a time window would use it. A record "
            "without a time is rejected."
        )
        chosen = next(column for column in columns if column.name == best[0])
        if len(chosen.forms) > 1:
            note += f" DECIDE its form, {' or '.join(chosen.forms)}, under input.times: its values fit both."
        return Times(best[0], [Entry(note, [_setting(best[0])], active=True)])
    if best:
        names = ", ".join(map(quoted_name, best))
        note = f"Several fields hold a time ({names}). A window of arrivals needs none. To use one, enable it:"
        return Times(None, [Entry(note, [_setting(name) for name in best])])
    return Times(None, [])


def _is_time(column: Column) -> bool:
    if column.nested or not column.known or column.seconds is None or np.isnan(column.seconds).any() or is_birth(column.name):
        return False
    if not is_time(column.name) and _are_days_of_lives(column.seconds):
        return False
    if column.numbers is None:
        return column.is_moment or bool(column.forms) or column.shape == "dates" or is_time(column.name)
    if column.forms:
        return True
    return is_time(column.name) and bool(np.all((column.numbers > EARLIEST) & (column.numbers < LATEST_USUAL)))


def _are_days_of_lives(seconds: NDArray[np.float64]) -> bool:
    """Whether these are whole days that lie decades apart, as dates of birth do, and not times of records."""
    return bool((seconds % _DAY == 0).all()) and float(np.ptp(seconds)) > _DECADES


def _setting(name: str) -> str:
    return f"time: {{field: {yaml_scalar(name)}, publish: drop}}"


BLANK = ""


def find_nulls(column: Column, marks: Marks) -> tuple[list[str], list[str]]:
    """The texts of a field that look like "missing", the empty text first; and those that are words, and so may be values.

    Among numbers and dates a word means missing; among other texts, such as diagnoses, "none" is a value.
    """
    found = sorted(filter(None, missing_among(column.texts)))
    as_words = [text for text in found if is_word(text)]
    rest = (text for text in column.values if not is_missing(text))
    if not as_words or (len(column.values) > len(found) and all(_is_measured(text, marks) for text in rest)):
        return [BLANK, *found], []
    return [BLANK, *(text for text in found if text not in as_words)], as_words


def _is_measured(text: str, marks: Marks) -> bool:
    return marks.plain(text) is not None or bool(forms_of(text)) or form([text]) == "dates"


def nulls_entry(nulls: Mapping[str, list[str]], words: Mapping[str, list[str]]) -> Entry:
    """The entry of the texts that mean missing, by field."""
    own = {name: texts for name, texts in nulls.items() if texts != [BLANK]}
    note = "Texts that mean missing, in addition to null, NaN and an absent field. "
    if own:
        listed = "; ".join(f"{', '.join(map(_quoted, texts[1:]))} in {quoted_name(name)}" for name, texts in _some(own))
        note += f"Found: {listed}. Remove texts that are values. In all other fields, only the empty text means missing."
        setting = flow("nulls: {", [f"{yaml_scalar(n)}: [{', '.join(map(_quoted, texts))}]" for n, texts in own.items()], "}")
    else:
        note += "Only the empty text was found in the sample."
        setting = [f"nulls: [{_quoted(BLANK)}]"]
    if words:
        listed = "; ".join(f"{', '.join(map(_quoted, texts))} in {quoted_name(name)}" for name, texts in _some(words))
        note += f" Treated as values: {listed}; list them under nulls if they mean missing."
    return Entry(note, setting, active=True)


def _some(found: Mapping[str, list[str]]) -> list[tuple[str, list[str]]]:
    return list(found.items())[:_MOST]


def _quoted(text: str) -> str:
    written = yaml_scalar(text)
    return written if written.startswith('"') else f'"{written}"'
