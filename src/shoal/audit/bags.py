"""The tuples whose values are in bags, and which bag holds each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from shoal.audit.evidence import Evidence
from shoal.audit.second_output import Bag
from shoal.audit.values import Ints, canonical


class Leaving(NamedTuple):
    """The tuples whose values are in bags, in the order in which they left: rows of the output, records, texts of values."""

    row: Ints
    record: Ints
    value: list[str]


def leaving(evidence: Evidence, name: str) -> Leaving | None:
    """The tuples of one attribute; None without a trace. What is suppressed is in no bag, unless the policy publishes it."""
    trace = evidence.trace
    if trace is None:
        return None
    row = np.flatnonzero((trace.row >= 0) & (~evidence.suppressed | (evidence.policy.suppressed == "publish")))
    record = trace.row[row]
    column, nulls = evidence.exact[name], evidence.policy.nulls_of(name)
    texts = [canonical(value) for value in column.take(pa.array(record)).to_pylist()]
    there = np.array([text is not None and text not in nulls for text in texts], bool)
    return Leaving(row[there], record[there], [text for text, is_there in zip(texts, there, strict=True) if is_there and text])


def bag_of(evidence: Evidence, bags: Sequence[Bag], tuples: Leaving) -> Ints:
    """Which of the bags holds the value of each tuple, from 0; -1 for values in none.

    Where the policy asks for one in k, a bag has at most 1/k of the values that it needs from one person.
    """
    found = np.full(len(tuples.value), -1)
    policy, place = evidence.policy, 0
    persons = evidence.person_of(tuples.record).tolist()
    for number, bag in enumerate(bags):
        most = len(bag.values) // policy.privacy.k if policy.one_in_k else len(bag.values)
        own: Counter[int] = Counter()
        wanted = len(bag.values)
        while wanted and place < len(persons):
            if own[persons[place]] < most:
                own[persons[place]] += 1
                found[place] = number
                wanted -= 1
            place += 1
    return found
