"""What the columns of a sample hold, and how well they tell persons apart."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.audit import bar_edges
from shoal.infer import Column, person_numbers
from shoal.lab.form import Form
from shoal.lab.sample import Sample

BARS = 16
_LARGEST = 2.0**40  # larger whole numbers are drawn as others are

Ints = NDArray[np.int64]


def columns(form: Form, sample: Sample, on_step: Callable[[], None] = lambda: None) -> list[dict[str, Any]]:
    """For each field its `type`, `distinct` values, the share `missing`, and the share of persons whom it singles out.

    A person is singled out by values that no other person has: `alone` by those of the field, `together` by those of the field
    and of all quasi-identifiers of the form. `bars` shows how often values are there, as in `audit.Distribution`.
    """
    by_name = sample.columns
    person = person_numbers(by_name.get(form.person), sample.rows)
    quasi = [entry.name for entry in form.fields if entry.role in ("numeric", "categorical") and entry.name in by_name]
    others = np.zeros(sample.rows, np.int64)
    for name in quasi:
        others = _joined(others, by_name[name])
    at_all = singled_out(others, person) if quasi else 0.0
    found = []
    for name, column in by_name.items():
        on_step()
        found.append(
            {
                "name": name,
                "type": _type(column),
                "distinct": len(column.texts),
                "missing": column.missing / max(column.rows, 1),
                "alone": singled_out(column.codes + 1, person),
                "together": at_all if name in quasi else singled_out(_joined(others, column), person),
                "bars": _bars(column),
            }
        )
    return found


def singled_out(codes: Ints, person: Ints) -> float:
    """The share of persons who have a code that no other person has.

    >>> singled_out(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 2, 2, 0]))  # 1 is of person 2 alone, 2 of person 0
    0.6666666666666666
    """
    last = np.zeros(int(codes.max(initial=0)) + 1, np.int64)
    last[codes] = person
    shared = np.zeros(len(last), bool)
    shared[codes[last[codes] != person]] = True
    there = np.zeros(int(person.max(initial=0)) + 1, bool)
    there[person] = True
    alone = np.zeros(len(there), bool)
    alone[person[~shared[codes]]] = True
    return float(alone.sum() / max(there.sum(), 1))


def _joined(codes: Ints, column: Column) -> Ints:
    """Codes of the pairs of a code and a value."""
    pairs = codes * (len(column.texts) + 1) + column.codes + 1
    return np.unique(pairs, return_inverse=True)[1].astype(np.int64)


def _type(column: Column) -> str:
    if column.nested:
        return "nested"
    if not column.known:
        return "empty"
    if column.numbers is not None:
        return "whole numbers" if column.is_whole else "numbers"
    return "dates" if column.is_date else "text"


def _bars(column: Column) -> dict[str, Any]:
    numbers = None if column.nested else column.numbers
    if numbers is not None and len(numbers) and np.isfinite(numbers).all():
        with np.errstate(all="ignore"), suppress(ValueError):  # the range is too large, or too small, for so many bars
            is_small = column.is_whole and abs(numbers).max() < _LARGEST
            bins = bar_edges(numbers.min(), numbers.max(), True, BARS) if is_small else BARS
            counts, edges = np.histogram(numbers, bins)
            return {"edges": edges.tolist(), "labels": [], "before": counts.tolist()}
    if not column.nested and column.is_date and column.seconds is not None:
        return _times(column.seconds[~np.isnan(column.seconds)])
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
    order = np.argsort(-counts, kind="stable")
    best, rest = (order[: BARS - 1], order[BARS - 1 :]) if len(order) > BARS else (order, order[:0])
    labels = [column.texts[int(place)].as_py()[:80] for place in best]
    more = [int(counts[rest].sum())] if len(rest) else []
    return {"edges": [], "labels": [*labels, *(["all others"] if more else [])], "before": [*counts[best].tolist(), *more]}


def _times(seconds: NDArray[np.float64]) -> dict[str, Any]:
    """Bars over time, each called by its first second.

    >>> _times(np.array([0.0, 86_399.0]))["labels"][:2]
    ['from 1970-01-01T00:00:00', 'from 1970-01-01T01:30:00']
    """
    counts, edges = np.histogram(seconds, bar_edges(np.floor(seconds.min()), np.floor(seconds.max()), True, BARS))
    first = np.ceil(edges[:-1]).astype("datetime64[s]")
    return {"edges": [], "labels": [f"from {each}" for each in first], "before": counts.tolist()}
