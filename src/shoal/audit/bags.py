"""The second output of a policy with `as: bag`: exact values apart from the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from shoal.audit.evidence import Evidence
from shoal.audit.files import Source, blocks
from shoal.audit.values import Ints, canonical
from shoal.errors import InputError

_FIELDS = ("attribute", "bag", "value")


class Bag(NamedTuple):
    """One bag: its number, and its values in the order in which they are written."""

    number: int
    values: list[str | None]


def read_bags(source: Source) -> dict[str, list[Bag]]:
    """The bags of each attribute, by their numbers."""
    found: dict[tuple[str, int], list[str | None]] = {}
    for block in blocks(source):
        for name in _FIELDS:
            if name not in block.columns:
                raise InputError(f"the bags: have no field '{name}'; give the file of bags as it was written")
        columns = (block.columns[name].to_pylist() for name in _FIELDS)
        for attribute, number, value in zip(*columns, strict=True):
            found.setdefault((canonical(attribute) or "", int(canonical(number) or 0)), []).append(canonical(value))
    bags: dict[str, list[Bag]] = {}
    for (attribute, number), values in sorted(found.items()):
        bags.setdefault(attribute, []).append(Bag(number, values))
    return bags


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
