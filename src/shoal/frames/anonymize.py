"""A frame goes in, the anonymized frame of the same kind comes out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import Any

import pyarrow as pa

from shoal.anonymizer import Anonymizer
from shoal.columns import only_used
from shoal.errors import InputError, RecordError
from shoal.frames.kind import Kind, kind
from shoal.policy import Policy

_ROWS = 65_536
_REASONS = 5


def anonymize(
    frame: Any, policy: Policy | Mapping[str, Any] | str | PathLike[str], *, strict: bool = False,
    on_bags: Callable[[pa.RecordBatch], None] | None = None,
) -> Any:  # fmt: skip
    """Anonymize a frame by a policy; rows come out in the order in which they leave.

    Parameters
    ----------
    frame
        A DataFrame of pandas, a DataFrame or LazyFrame of polars, a Table, RecordBatch or RecordBatchReader of Arrow, a
        structured array of NumPy, or anything that gives an Arrow stream; the last becomes a Table. A reader is read while
        the result is.
    policy
        A policy, the mapping or the path of one.
    strict
        Stop at the first rejected record. Otherwise rejected records are left out, and a warning counts them by reason.
    on_bags
        Called with each full bag of a policy with `as: bag`: rows of an attribute, the number of its bag, and a value. Such a
        policy needs it.

    Raises
    ------
    PolicyError, InputError
        The policy or the frame cannot be used.
    RecordError
        A record was rejected under `strict`.

    Examples
    --------
    >>> table = pa.table({"age": [34, 61, 36, 58], "ill": ["flu", "none", "flu", "none"]})
    >>> published = anonymize(table, {
    ...     "person": "none",
    ...     "attributes": {"age": {"quasi": "numeric", "range": [0, 100], "grid": 5}, "ill": {"sensitive": True}},
    ...     "privacy": {"k": 2}, "window": {"count": 4}, "algorithm": {"name": "fads"},
    ... })
    >>> published.to_pylist()[0]
    {'age': {'lo': 30, 'hi': 40, 'or_missing': False}, 'ill': 'flu'}
    """
    if isinstance(policy, Mapping):
        policy = Policy.parse(policy)
    elif not isinstance(policy, Policy):
        policy = Policy.load(policy)
    if not policy.is_filter and policy.bags and on_bags is None:
        raise InputError(f"on_bags: is missing, and the policy publishes {', '.join(policy.bags)} in bags; give a function")
    found = kind(frame)
    stream = _Stream(policy, found, frame, strict, on_bags or (lambda bags: None))
    if found.streams:
        return pa.RecordBatchReader.from_batches(stream.schema, stream.batches())
    return found.from_arrow(_whole(stream.schema, stream.batches()), frame)


class _Stream:
    """The published batches, as they leave."""

    def __init__(
        self, policy: Policy, found: Kind, frame: Any, strict: bool, on_bags: Callable[[pa.RecordBatch], None]
    ) -> None:
        self._strict, self._on_bags = strict, on_bags
        self._anonymizer = Anonymizer(policy)
        self._arrived = found.arrow(frame, policy.fields)
        self._names = self._arrived.names
        self.schema = _plain(self._anonymizer.push_batch(pa.RecordBatch.from_pylist([], self._arrived.schema))).schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._arrived.batches:
            for start in range(0, batch.num_rows, _ROWS):
                published = self._anonymizer.push_batch(batch.slice(start, _ROWS), names=self._names)
                if self._strict and self._anonymizer.rejected:
                    raise RecordError(str(self._anonymizer.rejected[0]))
                self._hand_bags()
                yield _plain(published)
        published = self._anonymizer.flush()
        self._hand_bags()
        yield _plain(published)
        self._warn()

    def _hand_bags(self) -> None:
        if len(self._anonymizer.bags):
            self._on_bags(self._anonymizer.bags)

    def _warn(self) -> None:
        stats = self._anonymizer.stats
        if stats.rejected:
            reasons = [f"{number:,} for {reason}" for reason, number in list(stats.reasons.items())[:_REASONS]]
            more = f"; and {len(stats.reasons) - _REASONS} more reasons" if len(stats.reasons) > _REASONS else ""
            text = f"{stats.rejected:,} of {stats.received:,} records were rejected: {'; '.join(reasons)}{more}"
            warnings.warn(text, stacklevel=5)


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with dictionaries that hold only published values."""
    return pa.RecordBatch.from_arrays([only_used(column) for column in batch.columns], schema=batch.schema)


def _whole(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches, schema).unify_dictionaries().combine_chunks()
