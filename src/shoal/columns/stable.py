"""Stable attributes on their way through the window: blocks instead of values, and values that wait for their bag."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.column_types import SET, is_json
from shoal.columns.convert import column, texts, texts_of_json
from shoal.policy import UNLISTED, Blocks, Policy

PERSON = "\0person"
"""The column of the payload that tells the persons of a bag apart. It is never published."""

_ODD = np.uint64(0x9E3779B97F4A7C15)


class StableValues:
    """Replaces the values of stable attributes before a record enters the window.

    A value that is published as a block becomes the label of its block: the window, the demands (l, t) and a snapshot never
    hold the value itself. A value that is published in a bag becomes its text.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._blocks = {name: _Labels(blocks, policy.attributes[name].unknown) for name, blocks in policy.blocks.items()}

    def replaced(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same records, with labels and texts in place of the values."""
        for name, labels in self._blocks.items():
            batch = _with(batch, name, labels.of(self._texts(batch, name)))
        for name in self._policy.bags:
            found = self._texts(batch, name)
            values = found.dictionary.cast(pa.string())
            batch = _with(batch, name, pa.DictionaryArray.from_arrays(found.indices.cast(pa.int32()), values))
        return batch

    def with_persons(self, kept: pa.RecordBatch, person: NDArray[np.uint64]) -> pa.RecordBatch:
        """The columns that are passed through, with the persons if there are bags."""
        return kept.append_column(PERSON, pa.array(one_number(person))) if self._policy.bags else kept

    def _texts(self, batch: pa.RecordBatch, name: str) -> pa.DictionaryArray:
        array, index = column(batch, name), batch.schema.get_field_index(name)
        array = texts_of_json(array) if index >= 0 and is_json(batch.schema.field(index)) else array
        nulls = self._policy.nulls_of(name)
        if pa.types.is_nested(array.type):
            return texts(array, nulls).dictionary_encode()
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        return pa.DictionaryArray.from_arrays(coded.indices, texts(coded.dictionary, nulls))


def one_number(person: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One number for each person, of the two words of its fingerprint."""
    with np.errstate(over="ignore"):
        found: NDArray[np.uint64] = person[:, 0] * _ODD + person[:, 1]
    return found


class _Labels:
    def __init__(self, blocks: Blocks, unknown: str) -> None:
        self._blocks, self._is_null = blocks, unknown == "null"
        self._number = {label: number for number, label in enumerate(blocks.labels)}
        self._labels = pa.array(blocks.labels, pa.string())

    def of(self, found: pa.DictionaryArray) -> pa.DictionaryArray:
        """The label of each value's block."""
        labels = (None if text is None else self._blocks.label_of(text) for text in found.dictionary.to_pylist())
        numbers = [None if label is None or (self._is_null and label == UNLISTED) else self._number[label] for label in labels]
        return pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()).take(found.indices), self._labels)


def _with(batch: pa.RecordBatch, name: str, array: pa.Array) -> pa.RecordBatch:
    """The batch with another column of this name."""
    index = batch.schema.get_field_index(name)
    return batch.append_column(name, array) if index < 0 else batch.set_column(index, name, array)


class StablePublisher:
    """Gives the columns of stable attributes the form in which they are published.

    A block without a name is the list of its values, as a set is; one with a name is the name. Of a bag, rows show null.
    """

    def __init__(self, policy: Policy) -> None:
        self._bags = policy.bags
        self._lists = {
            name: dict(zip(blocks.labels, blocks.lists, strict=True))
            for name, blocks in policy.blocks.items()
            if blocks.names is None
        }

    def published(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name, lists in self._lists.items():
            index = batch.schema.get_field_index(name)
            labels = batch.column(index)
            if pa.types.is_null(labels.type):  # nothing was taken in
                shown = pa.nulls(len(labels), SET)
            else:
                shown = pa.array([lists[label] for label in labels.dictionary.to_pylist()], SET).take(labels.indices)
            batch = batch.set_column(index, name, shown)
        for name in self._bags:
            index = batch.schema.get_field_index(name)
            batch = batch.set_column(index, pa.field(name, pa.string()), pa.nulls(batch.num_rows, pa.string()))
        return batch
