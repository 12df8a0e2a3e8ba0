"""A check before a run: the policy by itself, and a sample of data against it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike, fspath

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.columns.encode import Encoder, policy_fields
from shoal.columns.rejection import Rejection
from shoal.columns.uniform import column, texts
from shoal.errors import InputError, PolicyError
from shoal.formats import Block, open_reader
from shoal.policy import Attribute, Policy

Name = str | PathLike[str]

MOST_REASONS = 20
ALMOST_UNIQUE = 0.9
FEWEST_FOR_UNIQUE = 20
FEW_GROUPS = 10
_KEY = np.zeros(2, np.uint64)
_LENIENT = {
    "numeric": "outside its range, and clipped",
    "categorical": "not in its hierarchy, and published as the root",
}


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a check found, a plain line each, without any value of the data."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    rows: int | None = None  # of the sample; None where no data was looked at
    complete: bool = False  # whether the sample was all of the data

    @property
    def ok(self) -> bool:
        return not self.problems


def check(policy: Policy | Name, source: Name | None = None, *, rows: int = 10_000) -> Findings:
    """Check a policy, and the first records of a file against it.

    Parameters
    ----------
    policy
        A policy, or the path of one.
    source
        A file as `run` reads it; None checks the policy alone.
    rows
        The size of the sample.

    >>> check("absent.yaml").problems
    ('absent.yaml: does not exist; correct the path',)
    """
    try:
        policy = policy if isinstance(policy, Policy) else Policy.load(policy)
    except PolicyError as error:
        unseen = () if source is None else ("the data was not looked at, since the policy cannot be used",)
        return Findings(problems=error.problems, warnings=unseen)
    if source is None:
        return Findings(warnings=policy.notes)
    sample = _Sample(policy)
    broken = []
    try:
        sample.read(fspath(source), rows)
    except InputError as error:
        broken = [str(error)]
    if broken and not sample.rows:
        return Findings(problems=tuple(broken), warnings=policy.notes)
    return Findings(
        problems=(*broken, *sample.problems()),
        warnings=(*policy.notes, *sample.warnings()),
        rows=sample.rows,
        complete=sample.complete,
    )


class _Column:
    """One field of the records, looked at by itself, by the same encoder that a run uses."""

    def __init__(self, policy: Policy, field: str) -> None:
        attribute = policy.attributes.get(field)
        only = {field: attribute} if attribute else {}
        self.field = field
        self.attribute = attribute
        self._nulls = policy.nulls
        alone = replace(
            policy,
            attributes=only,
            person=field if field == policy.person else None,
            time=policy.time if policy.time and field == policy.time.field else None,
        )
        self._encoder = Encoder(alone, _KEY)
        self._strict = Encoder(replace(alone, person_missing="reject", attributes=_strict(only)), _KEY)
        self.lenient: list[int] = []
        self.rejected: list[Rejection] = []
        self.missing = 0
        self.is_there = False
        self.values: set[str] = set()

    def take(self, block: Block) -> None:
        batch = block.batch.select([self.field])
        found = self._encoder.encode(batch, block.rows)
        refused = {rejection.row for rejection in found.rejected}
        strict = self._strict.encode(batch, block.rows)
        self.rejected += found.rejected
        self.lenient += [rejection.row for rejection in strict.rejected if rejection.row not in refused]
        self.is_there |= not pa.types.is_null(batch.schema.types[0])
        if self.attribute and self.attribute.quasi:
            self.missing += int(np.isnan(found.batch.values[0]).sum())
            return
        text = texts(column(batch, self.field), self._nulls)
        self.missing += text.null_count
        if self.attribute:
            self.values.update(text.drop_null().to_pylist())


class _Sample:
    """The first records of a file, and what there is to say about them."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._encoder = Encoder(policy, _KEY)
        self._columns = [_Column(policy, field) for field in policy_fields(policy)]
        self._persons: list[NDArray[np.uint64]] = []
        self._times: list[NDArray[np.float64]] = []
        self._malformed: list[Rejection] = []
        self.rows = 0
        self.complete = False

    def read(self, source: str, limit: int) -> None:
        with open_reader(source, policy_fields(self._policy), rows=min(limit + 1, 65_536)) as reader:
            for block in reader:
                cut = int(np.searchsorted(block.rows, limit))
                bad = [(row, reason) for row, reason in block.bad if row < limit]
                self._take(Block(block.batch.slice(0, cut), block.rows[:cut], bad))
                if cut < len(block.rows) or len(bad) < len(block.bad):
                    return
        self.complete = True

    def _take(self, block: Block) -> None:
        self.rows += len(block.rows) + len(block.bad)
        self._malformed += [Rejection(row, None, reason) for row, reason in block.bad]
        accepted = self._encoder.encode(block.batch, block.rows).batch
        self._persons.append(accepted.person)
        self._times.append(accepted.time)
        for each in self._columns:
            each.take(block)

    def problems(self) -> Iterator[str]:
        if not self.rows:
            yield "the input has no records"
            return
        yield from self._reasons(self._malformed)
        for each in self._columns:
            if self._is_empty(each):
                yield self._empty(each)
            else:
                yield from self._reasons(each.rejected)
        yield from (line for line, is_certain in self._window() if is_certain)

    def warnings(self) -> Iterator[str]:
        for each in self._columns:
            if self._is_empty(each):
                continue
            if each.lenient:
                kind = _LENIENT.get(each.attribute.role if each.attribute else "", "without a person, and each its own")
                yield f"{self._of(each.lenient, each.field)}: {kind}"
            known = self._records - each.missing
            if known >= FEWEST_FOR_UNIQUE and len(each.values) >= ALMOST_UNIQUE * known:
                yield (
                    f"'{each.field}': almost as many values ({len(each.values):,}) as rows ({known:,}), published as "
                    "they are; they may single persons out: remove it, or make it a quasi-identifier"
                )
        shares = [
            f"'{each.field}' {100 * each.missing / self._records:.2g} %"
            for each in self._columns
            if each.missing and each.attribute and each.attribute.quasi and not self._is_empty(each)
        ]
        if shares:
            yield f"missing in part of the rows: {', '.join(shares)}; under maybe match, a null stands for any value"
        yield from (line for line, is_certain in self._window() if not is_certain)
        k = self._policy.privacy.k
        if self.complete and 0 < self.rows < FEW_GROUPS * k:
            yield f"only {self.rows:,} rows in all: few groups of k={k} can form, and those will be wide"

    @property
    def _records(self) -> int:
        return self.rows - len(self._malformed)

    def _is_empty(self, each: _Column) -> bool:
        return 0 < self._records == each.missing

    def _reasons(self, rejections: list[Rejection]) -> Iterator[str]:
        counts = Counter(rejection.kind for rejection in rejections)
        for kind, _ in counts.most_common(MOST_REASONS):
            alike = [rejection for rejection in rejections if rejection.kind == kind]
            yield f"{self._of([rejection.row for rejection in alike], alike[0].field)}: {alike[0].reason}"
        if len(counts) > MOST_REASONS:
            yield f"and {len(counts) - MOST_REASONS:,} more reasons to reject rows"

    def _of(self, rows: list[int], field: str | None) -> str:
        place = f"'{field}', " if field else ""
        return f"{place}{self._share(len(rows))}, first row {rows[0]}"

    def _share(self, number: int) -> str:
        return f"{number:,} of {self.rows:,} rows"

    def _empty(self, each: _Column) -> str:
        if each.is_there:
            return f"'{each.field}': missing in all {self.rows:,} rows; remove it from the policy or fill it"
        remedy = "correct its name or remove it from the policy"
        return f"'{each.field}': absent, or null, in all {self.rows:,} rows; {remedy}"

    def _window(self) -> Iterator[tuple[str, bool]]:
        """That no group of k persons can form, and whether that is certain."""
        window, k = self._policy.window, self._policy.privacy.k
        if not any(map(len, self._persons)):
            return
        person = np.concatenate(self._persons)
        clock = np.arange(len(person), dtype=np.float64)
        if window.timed:
            clock = np.maximum.accumulate(np.concatenate(self._times))
        length = algorithm(self._policy).deadline
        most = _most_persons(person, clock, length)
        if most >= k:
            return
        persons = f"{most:,} person{'' if most == 1 else 's'}"
        if self.complete or clock[-1] - clock[0] >= length - (not window.timed):
            held = f"no window of the sample holds more than {persons}"
            if math.isinf(length):
                held = f"the input holds {persons}"
            yield f"window.{window.kind}: {held}, below k={k}: no group can fill; lengthen the window or lower k", True
        else:
            yield f"window.{window.kind}: the sample, too short to tell, holds only {persons}, below k={k}", False


def _strict(attributes: dict[str, Attribute]) -> dict[str, Attribute]:
    severe = {"out_of_range": "reject", "unknown": "reject"}
    return {name: attribute.model_copy(update=severe) for name, attribute in attributes.items()}


def _most_persons(person: NDArray[np.uint64], clock: NDArray[np.float64], length: float) -> int:
    """The most different persons that a window of this length ever holds."""
    ids = np.unique(person, axis=0, return_inverse=True)[1].ravel()
    first = np.searchsorted(clock, clock - length, side="right")
    inside = [0] * (int(ids.max()) + 1)
    most = persons = left = 0
    for right, each in enumerate(ids.tolist()):
        persons += inside[each] == 0
        inside[each] += 1
        while left < first[right]:
            gone = ids[left]
            inside[gone] -= 1
            persons -= inside[gone] == 0
            left += 1
        most = max(most, persons)
    return most
