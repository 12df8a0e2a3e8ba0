"""The check of records for an algorithm with a window."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.checks.kept import KeptCheck
from shoal.checks.sample import KEY, SampleCheck
from shoal.columns import Encoder, Rejection, column, texts
from shoal.formats import Block
from shoal.policy import UNLISTED, Attribute, Policy
from shoal.text import percent

FAR_OFF = 16_725_225_600  # seconds from 1970 to 2500
FEW_GROUPS = 10
_ENOUGH = 10  # rows; of fewer, the share of a value says little
_NAMED = 0.9  # from this share of its block on, a value is nearly named by it
_BLANKED = "if a member of a group lacks a value, it is blanked for the whole group"
_NULLS = {
    "blurred": 'if a member of a group lacks a value, the whole group shows "or missing"',
    "extended": _BLANKED,
    "root": _BLANKED,
    "maybe": "under maybe match, a null stands for any value",
}
_LENIENT = {"numeric": "outside its range, and clipped", "categorical": "not in its hierarchy, and published as the root"}


class _Column:
    """One field of the records, checked alone by the same encoder that a run uses."""

    def __init__(self, policy: Policy, field: str) -> None:
        attribute = policy.attributes.get(field)
        only = {field: attribute} if attribute else {}
        self.field = field
        self.attribute = attribute
        self._nulls = policy.nulls_of(field)
        alone = replace(
            policy,
            attributes=only,
            person=field if field == policy.person else None,
            time=policy.time if policy.time and field == policy.time.field else None,
        )
        self._encoder = Encoder(alone, KEY)
        self._strict = Encoder(replace(alone, person_missing="reject", attributes=_strict(only)), KEY)
        self.lenient: list[Rejection] = []
        self.rejected: list[Rejection] = []
        self.missing = 0
        self.is_there = False
        self._blocks = policy.blocks.get(field)
        self.blocks = len(self._blocks.values) if self._blocks else 0
        self._values: Counter[str] = Counter()  # rows by value, where blocks are published

    def take(self, block: Block) -> None:
        batch = block.batch.select([self.field])
        found = self._encoder.encode(batch, block.rows)
        refused = {rejection.row for rejection in found.rejected}
        strict = self._strict.encode(batch, block.rows)
        self.rejected += block.placed(found.rejected)
        self.lenient += block.placed(rejection for rejection in strict.rejected if rejection.row not in refused)
        self.is_there |= not pa.types.is_null(batch.schema.types[0])
        if self.attribute and self.attribute.quasi:
            self.missing += int(np.isnan(found.values[0]).sum())
            return
        text = texts(column(batch, self.field), self._nulls)
        self.missing += text.null_count
        if self._blocks:
            for value, rows in zip(*text.drop_null().value_counts().flatten(), strict=True):
                self._values[value.as_py()] += rows.as_py()

    @property
    def unlisted(self) -> Counter[str]:
        """The rows of each value in no block."""
        known = self._blocks
        return Counter({value: rows for value, rows in self._values.items() if known and known.label_of(value) == UNLISTED})

    @property
    def largest(self) -> list[float]:
        """Of each block with enough rows, the share of its most frequent value."""
        rows = [[self._values[value] for value in block] for block in (self._blocks.values if self._blocks else ())]
        return [max(each) / sum(each) for each in rows if sum(each) >= _ENOUGH]


class TupleCheck(SampleCheck):
    """Checks each field alone, and how many persons a window holds."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._encoder = Encoder(policy, KEY)
        self._columns = [_Column(policy, field) for field in policy.fields]
        self._kept = KeptCheck(policy)
        self._persons: list[NDArray[np.uint64]] = []
        self._times: list[NDArray[np.float64]] = []

    def _take(self, block: Block) -> None:
        accepted = self._encoder.encode(block.batch, block.rows)
        self._persons.append(accepted.person)
        self._times.append(accepted.time)
        self._kept.take(accepted.kept, accepted.person)
        for each in self._columns:
            each.take(block)

    def _problems(self) -> Iterator[str]:
        for each in self._columns:
            if self._is_empty(each):
                yield self._empty(each)
            else:
                yield from self._reasons(each.rejected)
        yield from (line for line, is_problem in self._kept.found(self._policy.privacy.k, self.complete) if is_problem)
        yield from (line for line, is_certain in self._window() if is_certain)

    def _warnings(self) -> Iterator[str]:
        for each in self._columns:
            if self._is_empty(each):
                continue
            if each.lenient:
                kind = _LENIENT.get(each.attribute.role if each.attribute else "", "without a person, and each its own")
                yield f"{self._of(each.lenient)}: {kind}"
        shares = [
            f"'{each.field}' {100 * each.missing / self._records:.2g} %"
            for each in self._columns
            if each.missing and each.attribute and each.attribute.quasi and not self._is_empty(each)
        ]
        latest = max((float(each.max()) for each in self._times if len(each)), default=0.0)
        if latest > FAR_OFF and self._policy.time:
            yield f"'{self._policy.time.field}': some times lie after the year 2500; are they in ms, us or ns? (input.times)"
        if shares:
            reading = self._policy.privacy.nulls_match
            yield f"missing in part of the rows: {', '.join(shares)}; {_NULLS[reading]}"
        yield from (line for line, is_problem in self._kept.found(self._policy.privacy.k, self.complete) if not is_problem)
        yield from self._kept.unstated()
        yield from (self._unlisted(each) for each in self._columns if each.unlisted)
        for each in self._columns:
            if naming := sum(share > _NAMED for share in each.largest):
                blocks = f"in {naming} of {each.blocks} blocks one value has more than {percent(_NAMED, digits=0)} of the rows"
                yield f"'{each.field}': {blocks}, and is nearly named; shoal blocks drafts others"
        yield from (line for line, is_certain in self._window() if not is_certain)
        k = self._policy.privacy.k
        if self.complete and 0 < self.rows < FEW_GROUPS * k:
            yield f"only {self.rows:,} rows in all: few groups of k={k} can form, and those will be wide"

    def _unlisted(self, each: _Column) -> str:
        values, least = len(each.unlisted), self._policy.privacy.across or 2
        shown = "null" if each.attribute and each.attribute.unknown == "null" else "unlisted"
        line = f"'{each.field}': {each.unlisted.total():,} of {self._records:,} rows have a value in no block, and show {shown}"
        if values >= least:
            return line
        few = f"which stands for {values} value{'' if values == 1 else 's'}, fewer than {least}"
        return f"{line}, {few}; put it into a block" if values == 1 else f"{line}, {few}; put them into a block"

    def _is_empty(self, each: _Column) -> bool:
        return 0 < self._records == each.missing and each.field not in self._policy.input.optional

    def _empty(self, each: _Column) -> str:
        if each.is_there:
            return f"'{each.field}': missing in all {self.rows:,} rows; remove it from the policy or fill it"
        remedy = "correct its name, remove it from the policy, or list it under input.optional"
        return f"'{each.field}': absent, or null, in all {self.rows:,} rows; {remedy}"

    def _window(self) -> Iterator[tuple[str, bool]]:
        """A message if no group of k persons can form, and whether that is certain."""
        window, k = self._policy.window, self._policy.privacy.k
        if not any(map(len, self._persons)):
            return
        person = np.concatenate(self._persons)
        clock = np.arange(len(person), dtype=np.float64)
        if window.timed:
            clock = np.maximum.accumulate(np.concatenate(self._times))
        length = algorithm(self._policy).deadline
        there = _persons(person, clock, length)
        most = int(there.max())
        if most >= k:
            full = there[clock - clock[0] >= length - (not window.timed)]
            middle = int(np.median(full)) if len(full) else k
            if middle < k:
                held = f"the median window of the sample holds {middle:,} persons, below k={k}: many rows would be suppressed"
                yield f"window.{window.kind}: {held}; lengthen the window, lower k, or use sparse: {{stretch: 4}}", False
            return
        persons = f"{most:,} person{'' if most == 1 else 's'}"
        if self.complete or clock[-1] - clock[0] >= length - (not window.timed):
            held = f"no window of the sample holds more than {persons}"
            if math.isinf(length):
                held = f"the input holds {persons}"
            yield f"window.{window.kind}: {held}, below k={k}: no group can fill; lengthen the window or lower k", True
        else:
            yield f"window.{window.kind}: the sample (too short to be sure) holds only {persons}, below k={k}", False


def _strict(attributes: dict[str, Attribute]) -> dict[str, Attribute]:
    severe = {"out_of_range": "reject", "unknown": "reject"}
    return {name: attribute.model_copy(update=severe) for name, attribute in attributes.items()}


def _persons(person: NDArray[np.uint64], clock: NDArray[np.float64], length: float) -> NDArray[np.int64]:
    """How many distinct persons the window holds that ends with each record."""
    ids = np.unique(person, axis=0, return_inverse=True)[1].ravel()
    first = np.searchsorted(clock, clock - length, side="right")
    inside = [0] * (int(ids.max()) + 1)
    found = np.zeros(len(ids), np.int64)
    persons = left = 0
    for right, each in enumerate(ids.tolist()):
        persons += inside[each] == 0
        inside[each] += 1
        while left < first[right]:
            gone = ids[left]
            inside[gone] -= 1
            persons -= inside[gone] == 0
            left += 1
        found[right] = persons
    return found
