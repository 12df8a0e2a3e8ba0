"""NATS JetStream as a sink, by nats-py."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pydantic import Field

from shoal.config import Name
from shoal.connectors.connector import Position, Sink
from shoal.connectors.message import Message, messages
from shoal.connectors.nats_link import PATIENCE, Link, Server
from shoal.connectors.settings import OutputFormat
from shoal.errors import ConnectorError

FLIGHT = 1_000  # messages published before their acknowledgements are awaited
BYTES = 4 << 20  # the same limit in bytes
HEADERS = 4_096  # bytes of a message for its headers
TOO_LARGE = 10054  # the server's code for a message above the stream's own limit
SEQUENCE, TUPLES = "Shoal-Sequence", "Shoal-Tuples"


class NatsSink(Sink):
    """Publishes to a stream of its own.

    Each message names the number that must be the stream's last when it is stored. So messages are stored without gaps, even if
    some are lost on the way, and the last one of the stream says which tuples it has.
    """

    identity = ("stream", "subject")
    remembers = True
    begin_is_harmless = True

    class Settings(Server, OutputFormat):
        subject: Name = Field(description="the one subject of the stream, to which nobody else writes")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._link: Link | None = None
        self._round = 0
        self._done: asyncio.Future[bool] | None = None

    def begin(self, mark: Position | None, sequence: int) -> None:
        self._link = Link(self._settings)
        self._link.call(self._begin(mark, sequence))

    async def _begin(self, mark: Position | None, sequence: int) -> None:
        link, given = self._link, self._settings
        assert link
        info = await link.info()
        if info.config.subjects != [given.subject]:
            raise ConnectorError(
                f"nats: stream {given.stream!r} does not hold the subject {given.subject!r} alone; "
                "give the pipeline's output a stream of its own"
            )
        self._has = 0 if mark else sequence
        if mark is None and info.state.last_seq:
            raise ConnectorError(
                f"nats: stream {given.stream!r} holds messages already, of which this pipeline knows nothing; "
                "use a new stream, or the state that belongs to it"
            )
        await self._look(mark)
        if self._has < sequence:
            raise ConnectorError(
                f"nats: stream {given.stream!r} has the tuples up to {self._has}, but {sequence} were written; "
                "it is not the one that the state belongs to, or was cut"
            )
        self._inbox = link.client.new_inbox()
        link.on_return = self._fail_flight
        await link.client.subscribe(f"{self._inbox}.*", cb=self._on_answer)

    def _fail_flight(self) -> None:
        """Messages in flight may be lost."""
        if self._done and not self._done.done():
            self._done.set_result(False)

    async def _look(self, mark: Position | None = None) -> None:
        """Find which tuples the stream has: by its last message; if that was purged, by the mark if nothing came since."""
        link, given = self._link, self._settings
        assert link
        self._stored = (await link.stream.stream_info(given.stream)).state.last_seq
        try:
            headers = (await link.stream.get_last_msg(given.stream, given.subject)).headers or {}
            self._has = int(headers[SEQUENCE]) + int(headers.get(TUPLES, 1))
        except link.errors.NotFoundError:
            if mark and self._stored == mark.get("stored"):
                self._has = int(mark["has"])
            elif mark and self._stored:
                raise ConnectorError(
                    f"nats: stream {given.stream!r} no longer has its last message, which says what it has; "
                    "it must keep that one"
                ) from None
        except (KeyError, ValueError):
            raise ConnectorError(
                f"nats: the last message of stream {given.stream!r} has no {SEQUENCE}; "
                "somebody else writes to it: use a stream of its own"
            ) from None

    @property
    def connected(self) -> bool | None:
        link = self._link  # read once: another thread may close it
        return bool(link.client.is_connected) if link else None

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        assert self._link
        had = max(0, min(len(batch), self._has - sequence))
        largest = self._link.client.max_payload - HEADERS
        some = list(messages(batch.slice(had), sequence + had, self._settings.format, largest))
        self._link.call(self._publish(some))

    async def _publish(self, some: list[Message]) -> None:
        link = self._link
        assert link
        first = 0
        while first < len(some):
            flight, size = [], 0
            for message in some[first : first + FLIGHT]:
                flight.append(message)
                size += len(message.payload)
                if size > BYTES:
                    break
            if await self._store_all(flight):
                self._has, self._stored = flight[-1].end, self._stored + len(flight)
                first += len(flight)
                continue
            await asyncio.sleep(0.1)
            before = self._has
            with suppress(link.nats.errors.Error, asyncio.TimeoutError, OSError):
                await link.unbroken(self._look())
            if self._has < before:
                raise ConnectorError(
                    f"nats: stream {self._settings.stream!r} has lost messages that it had acknowledged; "
                    "start the pipeline again, which writes what no checkpoint covers"
                )
            while first < len(some) and some[first].end <= self._has:
                first += 1

    async def _store_all(self, flight: list[Message]) -> bool:
        """Publish messages together; whether all of them were stored."""
        link, subject = self._link, self._settings.subject
        assert link
        self._round += 1
        self._missing, self._done = len(flight), asyncio.get_running_loop().create_future()
        reply = f"{self._inbox}.{self._round}"
        try:
            for i, message in enumerate(flight):
                headers = {
                    "Nats-Msg-Id": str(message.sequence),
                    "Nats-Expected-Last-Sequence": str(self._stored + i),
                    SEQUENCE: str(message.sequence),
                }
                if message.tuples > 1:
                    headers[TUPLES] = str(message.tuples)
                await link.client.publish(subject, message.payload, reply=reply, headers=headers)
            return await asyncio.wait_for(self._done, PATIENCE)
        except (TimeoutError, link.nats.errors.Error, OSError):
            if link.client.is_closed:
                raise ConnectorError("nats: the server has closed the connection for good; check the credentials") from None
            return False

    async def _on_answer(self, answer: Any) -> None:
        if answer.subject != f"{self._inbox}.{self._round}" or not self._done or self._done.done():
            return
        if not answer.data or b'"error"' in answer.data:
            if answer.data and json.loads(answer.data)["error"].get("err_code") == TOO_LARGE:
                refusal = f"nats: a message is larger than stream {self._settings.stream!r} takes; raise its max_msg_size"
                self._done.set_exception(ConnectorError(refusal))
            else:
                self._done.set_result(False)
            return
        self._missing -= 1
        if not self._missing:
            self._done.set_result(True)

    def caught_up(self, sequence: int) -> None:
        if self._has > sequence:
            raise ConnectorError(
                f"nats: stream {self._settings.stream!r} has the tuples up to {self._has}, but the state ends at {sequence}; "
                "it is too old: use the latest one"
            )

    @property
    def mark(self) -> Position:
        return {"has": self._has, "stored": self._stored}

    def close(self) -> None:
        if self._link:
            self._link.close()
            self._link = None
