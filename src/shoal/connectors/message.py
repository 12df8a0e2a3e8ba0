"""Tuples as messages: one per tuple, or one per batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from shoal.errors import ConnectorError
from shoal.formats import lines


class Message(NamedTuple):
    """One message, with the number of its first tuple."""

    sequence: int
    tuples: int
    payload: bytes

    @property
    def end(self) -> int:
        """The number after its last tuple."""
        return self.sequence + self.tuples


def messages(batch: pa.RecordBatch, sequence: int, form: str, largest: int) -> Iterator[Message]:
    r"""A batch as messages of at most `largest` bytes: with `json` one per tuple, with `lines` and `arrow` one per batch.

    >>> for message in messages(pa.record_batch({"age": [40, None]}), 7, "json", 1000):
    ...     print(message)
    Message(sequence=7, tuples=1, payload=b'{"age": 40}')
    Message(sequence=8, tuples=1, payload=b'{"age": null}')
    """
    if form == "json":
        for number, line in enumerate(lines(batch).split(b"\n")[:-1], sequence):
            yield Message(number, 1, _fitting(line, number, largest))
    elif len(batch):
        payload = lines(batch) if form == "lines" else stream(batch)
        if len(payload) > largest and len(batch) > 1:
            half = len(batch) // 2
            yield from messages(batch.slice(0, half), sequence, form, largest)
            yield from messages(batch.slice(half), sequence + half, form, largest)
        else:
            yield Message(sequence, len(batch), _fitting(payload, sequence, largest))


def records_as_messages(records: list[bytes], before: bytes, sequence: int, largest: int) -> list[Message]:
    """One message per record, with some bytes before each.

    >>> records_as_messages([b"a"], b"0", 7, 1000)
    [Message(sequence=7, tuples=1, payload=b'0a')]
    """
    return [Message(number, 1, _fitting(before + record, number, largest)) for number, record in enumerate(records, sequence)]


def numbered(message: Message, key: str, form: str) -> Message:
    r"""A message that holds its own number: as a field of its object, or in the metadata of its Arrow schema.

    >>> numbered(Message(7, 1, b'{"age": 40}'), "_sequence", "json").payload
    b'{"_sequence": 7, "age": 40}'
    >>> numbered(Message(7, 1, b"{}"), "_sequence", "json").payload
    b'{"_sequence": 7}'
    """
    if form == "json":
        rest = b"}" if message.payload == b"{}" else b", " + message.payload[1:]
        return message._replace(payload=b'{"%s": %d%s' % (key.encode(), message.sequence, rest))
    batch = pa.ipc.open_stream(message.payload).read_next_batch()
    metadata = {**(batch.schema.metadata or {}), key.encode(): str(message.sequence).encode()}
    return message._replace(payload=stream(batch.replace_schema_metadata(metadata)))


def stream(batch: pa.RecordBatch) -> bytes:
    """A batch as an Arrow stream."""
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, batch.schema) as writer:
        writer.write_batch(batch)
    return target.getvalue().to_pybytes()


def _fitting(payload: bytes, number: int, largest: int) -> bytes:
    if len(payload) > largest:
        raise ConnectorError(
            f"tuple {number}: its message has {len(payload)} bytes, above the {largest} that may be sent; "
            "raise that limit, or publish fewer attributes"
        )
    return payload
