"""Stable attributes for the judge: the block of every value that came, and what rows show, as labels to compare."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.audit.original import Category, Numeric, Original
from shoal.audit.published import Published
from shoal.audit.values import Flags, Floats, Ints, canonical, distinct
from shoal.policy import Policy

NO_BLOCK = "\0no block"  # the label of what is shown and is no block of the policy
_UNLISTED = "unlisted"
_ENOUGH = 10  # persons; of fewer, the share of a value says little


class Compared(NamedTuple):
    """Input and output, with labels in place of the values of blocks, and nothing in place of those of bags."""

    before: Original
    after: Published
    exact: dict[str, pa.ChunkedArray]  # the values of stable attributes as they came


def compared(policy: Policy, before: Original, after: Published) -> Compared:
    """Replace the columns of stable attributes that are not published as they came."""
    old, new = dict(before.passed), dict(after.passed)
    exact = {name: old[name] for name in (*policy.blocks, *policy.bags)}
    for name, blocks in policy.blocks.items():
        labels = [*blocks.names] if blocks.names else ["|".join(block) for block in blocks.values]
        of = {value: label for label, block in zip(labels, blocks.values, strict=True) for value in block}
        rest = None if policy.attributes[name].unknown == "null" else _UNLISTED
        old[name] = _mapped(old[name], _block_of(of, rest, policy.nulls_of(name)))
        lists: dict[tuple[str, ...], str] = {}
        if blocks.names is None:
            lists = {(_UNLISTED,): _UNLISTED, **dict(zip(blocks.values, labels, strict=True))}
        new[name] = _mapped(new[name], _shown({*labels, _UNLISTED}, lists))
    for name in policy.bags:
        old[name] = pa.chunked_array([pa.nulls(len(old[name]), pa.string())])
    return Compared(before._replace(passed=old), after._replace(passed=new), exact)


def unlisted_values(policy: Policy, name: str, exact: pa.ChunkedArray) -> int:
    """How many different values of the input are in no block."""
    listed = {value for block in policy.blocks[name].values for value in block}
    texts: set[str | None] = set()
    for value in exact.unique().to_pylist():
        with suppress(ValueError):
            texts.add(canonical(value))
    return len(texts - listed - {None, *policy.nulls_of(name)})


def largest_shares(policy: Policy, name: str, exact: pa.ChunkedArray, person: NDArray[np.int32]) -> list[float]:
    """Of each block that enough persons have, the share of them that have its most frequent value."""
    code, different = distinct(pa.concat_arrays(exact.chunks) if exact.num_chunks else pa.nulls(0))
    block = {value: number for number, block in enumerate(policy.blocks[name].values) for value in block}
    texts = different.to_pylist()
    own: dict[str, int] = {}
    number = np.full(len(texts) + 1, -1)
    for place, value in enumerate(texts):
        with suppress(ValueError):
            text = canonical(value)
            if text in block and text not in policy.nulls_of(name):
                number[place] = own.setdefault(text, len(own))
    value = number[code % len(number)]
    pairs = np.unique(np.stack([value, person])[:, value >= 0], axis=1)
    persons, blocks = np.bincount(pairs[0], minlength=len(own)), np.array([block[text] for text in own], np.int64)
    return [
        float(persons[blocks == each].max() / together)
        for each in np.unique(blocks)
        if (together := persons[blocks == each].sum()) >= _ENOUGH
    ]


def _block_of(of: dict[str, str], rest: str | None, nulls: Collection[str]) -> Callable[[object], str | None]:
    def label(value: object) -> str | None:
        try:
            text = canonical(value)
        except ValueError:
            return None
        return None if text is None or text in nulls else of.get(text, rest)

    return label


def _shown(labels: set[str], lists: dict[tuple[str, ...], str]) -> Callable[[object], str | None]:
    """The label of what a row shows: a list of values, its JSON text, or a label itself, as CSV has it."""

    def label(value: object) -> str | None:
        if value is None or value == "":
            return None
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if isinstance(value, str) and value in labels:
            return value
        if isinstance(value, str) and value.startswith("["):
            with suppress(ValueError, RecursionError):
                value = json.loads(value)
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return lists.get(tuple(value), NO_BLOCK)
        return NO_BLOCK

    return label


def _mapped(column: pa.ChunkedArray, label: Callable[[object], str | None]) -> pa.ChunkedArray:
    """A text for each value, made once for each different one."""
    whole = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0)
    if pa.types.is_null(whole.type):
        return pa.chunked_array([whole.cast(pa.string())])
    code, different = distinct(whole)
    texts = pa.array([*map(label, different.to_pylist()), None], pa.string())
    return pa.chunked_array([texts.take(pa.array(code % len(texts)))])


def within_budget(policy: Policy, found: Original) -> Original:
    """Without the records beyond the budget of releases, or without their sensitive values, as the policy says."""
    releases = policy.releases
    if releases is None or found.time is None:
        return found
    beyond = _beyond(found.person.tolist(), found.time, releases.per_person, releases.per)
    if not beyond.any():
        return found
    if releases.beyond == "withhold":
        rows = pa.array(np.arange(len(beyond)), mask=beyond)
        hidden = {name: column.take(rows) for name, column in found.passed.items() if policy.attributes[name].sensitive}
        return found._replace(passed={**found.passed, **hidden})
    within = np.flatnonzero(~beyond)
    return found._replace(
        quasi={name: _some(each, within) for name, each in found.quasi.items()},
        person=found.person[within],
        time=found.time[within],
        passed={name: column.take(pa.array(within)) for name, column in found.passed.items()},
        line=found.line[within],
    )


def _some(column: Numeric | Category, rows: Ints) -> Numeric | Category:
    return Numeric(column.value[rows]) if isinstance(column, Numeric) else column._replace(leaf=column.leaf[rows])


def _beyond(persons: list[int], time: Floats, most: int, span: float) -> Flags:
    """Which records have as many of their person before them, in the span up to the newest time so far.

    >>> _beyond([1, 1, 1, 2, 1], np.array([0.0, 5.0, 9.0, 9.0, 15.0]), most=2, span=10.0).tolist()
    [False, False, True, False, False]
    """
    own: dict[int, deque[float]] = {}
    found, now = np.zeros(len(persons), bool), -math.inf
    for place, (person, moment) in enumerate(zip(persons, time.tolist(), strict=True)):
        now = max(now, moment)
        before = own.setdefault(person, deque())
        while before and before[0] <= now - span:
            before.popleft()
        if len(before) >= most:
            found[place] = True
        else:
            before.append(now)
    return found
