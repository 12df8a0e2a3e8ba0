"""NATS JetStream as a source, by nats-py."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from pydantic import Field

from shoal.config import Name
from shoal.connectors.connector import Delivery, Payload, Position, Source
from shoal.connectors.nats_link import Link, Server
from shoal.connectors.settings import InputFormat
from shoal.errors import ConnectorError

PULL = 2_048  # messages asked for at a time
ROOM = 8_192  # messages that may wait to be read
BYTES = 32 << 20  # the same limit in bytes
EXPIRES = 5.0  # seconds after which a request for messages ends
ENDS = ("404", "408")  # regular ends of a request: no messages, or none in time


class _Arrived(NamedTuple):
    sequence: int
    reply: str
    payload: bytes


class NatsSource(Source):
    """Reads a stream by a durable pull consumer, which is created again after the position when messages may be lost.

    A position is the number of the last message in the stream, and how many messages were read, which checks a replay.
    """

    identity = ("stream", "subject")
    replays = True

    class Settings(Server, InputFormat):
        subject: Name | None = Field(default=None, description="only messages of this subject; all of the stream without it")
        durable: Name = Field(default="shoal", description="the name of the consumer, one for each pipeline")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.format, self.columns = settings.format, settings.columns or ()
        self._link: Link | None = None
        self._changed = threading.Condition()
        self._arrived: deque[_Arrived] = deque()
        self._bytes = 0
        self._replies: deque[tuple[int, str]] = deque()
        self._failure: ConnectorError | None = None
        self._pending: int | None = None

    def begin(self, position: Position | None) -> Position:
        self._link = Link(self._settings)
        self._link.call(self._begin(position))
        return {"sequence": self._sequence, "messages": self._messages}

    async def _begin(self, position: Position | None) -> None:
        assert self._link
        await self._link.info()
        if position is None:
            position = {"sequence": await self._floor(), "messages": 0}
        self._sequence, self._messages = int(position["sequence"]), int(position["messages"])
        self._last = self._sequence
        self._subscription: Any = None
        try:
            await self._restart()
        except (TimeoutError, self._link.nats.errors.Error) as error:
            place = f"nats: consumer {self._settings.durable!r}"
            raise ConnectorError(f"{place} cannot be created ({type(error).__name__}); check the rights") from None
        self._link.on_return = self._mark_stale
        self._keeper = asyncio.ensure_future(self._keep())

    def probe(self, position: Position | None) -> bool:
        link = Link(self._settings)
        try:
            link.call(link.info())
        finally:
            link.close()
        return True

    @property
    def connected(self) -> bool | None:
        link = self._link  # read once: another thread may close it
        return bool(link.client.is_connected) if link else None

    def _mark_stale(self) -> None:
        """Messages may be lost."""
        self._is_stale = True

    async def _floor(self) -> int:
        """The last message that was acknowledged with this consumer before."""
        assert self._link
        try:
            info = await self._link.stream.consumer_info(self._settings.stream, self._settings.durable)
        except self._link.errors.NotFoundError:
            return 0
        return int(info.ack_floor.stream_seq)

    async def _restart(self) -> None:
        """Create the consumer again, after the last message that arrived."""
        link, given = self._link, self._settings
        assert link
        self._asked, self._heard, self._is_stale = 0, time.monotonic(), False
        if self._subscription is not None:
            with suppress(link.nats.errors.Error):
                await self._subscription.unsubscribe()
            self._subscription = None
        with suppress(link.errors.NotFoundError):
            await link.stream.delete_consumer(given.stream, given.durable)
        config = link.api.ConsumerConfig(
            name=given.durable,
            durable_name=given.durable,
            deliver_policy=link.api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._last + 1,
            ack_policy=link.api.AckPolicy.ALL,
            ack_wait=365 * 86_400.0,
            max_ack_pending=-1,
            filter_subject=given.subject,
        )
        await link.stream.add_consumer(given.stream, config)
        self._delivered = 0
        self._replies.clear()
        self._inbox = link.client.new_inbox()
        on_message = partial(self._on_message, self._inbox)
        room = 4 * max(BYTES, link.client.max_payload)
        self._subscription = await link.client.subscribe(self._inbox, cb=on_message, pending_bytes_limit=room)
        await self._pull()

    async def _pull(self) -> None:
        assert self._link
        room = min(PULL, ROOM - len(self._arrived))
        if self._asked or room < PULL // 2 or self._bytes >= BYTES:
            return
        self._asked, self._heard = room, time.monotonic()
        request = {"batch": room, "expires": int(EXPIRES * 1e9), "max_bytes": max(BYTES, self._link.client.max_payload)}
        place = f"$JS.API.CONSUMER.MSG.NEXT.{self._settings.stream}.{self._settings.durable}"
        await self._link.client.publish(place, json.dumps(request).encode(), reply=self._inbox)

    async def _on_message(self, inbox: str, message: Any) -> None:
        if inbox != self._inbox:
            return
        if not message.reply:  # the end of a request
            self._asked = 0
            status, text = message.headers.get("Status", ""), message.headers.get("Description", "")
            if status not in ENDS and "MaxBytes" not in text:
                self._mark_stale()
            return
        sequence, delivered, pending = _numbers(message.reply)
        if delivered != self._delivered + 1:
            self._is_stale = True
            return
        self._delivered, self._last, self._heard = delivered, sequence, time.monotonic()
        with self._changed:
            self._arrived.append(_Arrived(sequence, message.reply, message.data))
            self._bytes += len(message.data)
            self._pending = pending
            self._changed.notify()
        self._asked -= 1
        if not self._asked:
            await self._pull()

    async def _keep(self) -> None:
        """Request messages again when a request has ended, and create the consumer again after a reconnection."""
        link = self._link
        assert link
        while True:
            await asyncio.sleep(0.02)
            if not link.client.is_connected:
                if link.client.is_closed:
                    self._fail(ConnectorError("nats: the server has closed the connection for good; check the credentials"))
                    return
                continue
            try:
                if self._is_stale or (self._asked and time.monotonic() - self._heard > 2 * EXPIRES):
                    await link.unbroken(self._restart())
                else:
                    await self._pull()
            except link.errors.NotFoundError:
                self._fail(ConnectorError(f"nats: stream {self._settings.stream!r} is gone; create it again"))
                return
            except (TimeoutError, link.nats.errors.Error, OSError):
                self._is_stale = True

    def _fail(self, error: ConnectorError) -> None:
        with self._changed:
            self._failure = error
            self._changed.notify()

    def replay(self, until: Position) -> Sequence[Payload]:
        found: list[Payload] = []
        reply = ""
        while self._sequence < until["sequence"]:
            if not self._wait(1.0):
                assert self._link
                if self._link.call(self._is_drained()):
                    break
                continue
            with self._changed:
                while self._arrived and self._arrived[0].sequence <= until["sequence"]:
                    self._sequence, reply, payload = self._arrived.popleft()
                    self._bytes -= len(payload)
                    found.append(payload)
                if self._arrived:
                    break
        if self._sequence != until["sequence"] or self._messages + len(found) != until["messages"]:
            raise ConnectorError(
                f"nats: stream {self._settings.stream!r} does not have all messages up to {until['sequence']} any more; "
                "it must keep what no checkpoint covers yet"
            )
        self._messages += len(found)
        if reply:
            self._replies.append((self._sequence, reply))
        return found

    async def _is_drained(self) -> bool:
        """Whether the server has no more messages."""
        assert self._link
        if not self._link.client.is_connected or self._is_stale:
            return False
        try:
            info = await self._link.stream.consumer_info(self._settings.stream, self._settings.durable)
        except (TimeoutError, self._link.nats.errors.Error):
            return False
        return info.num_pending == 0 and info.delivered.consumer_seq == self._delivered and not self._arrived

    def _wait(self, seconds: float) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._arrived or self._failure, seconds)
            if not self._arrived and self._failure:
                raise self._failure
            return bool(self._arrived)

    def read(self, seconds: float) -> Delivery | None:
        if not self._wait(seconds):
            return None
        with self._changed:
            some = list(self._arrived)
            self._arrived.clear()
            self._bytes = 0
        self._sequence = some[-1].sequence
        self._messages += len(some)
        self._replies.append((self._sequence, some[-1].reply))
        return Delivery([message.payload for message in some], {"sequence": self._sequence, "messages": self._messages})

    def acknowledge(self, position: Position) -> None:
        reply = ""
        while self._replies and self._replies[0][0] <= position["sequence"]:
            reply = self._replies.popleft()[1]
        if reply and self._link:
            with suppress(self._link.nats.errors.Error):
                self._link.call(self._link.client.publish(reply, b"+ACK"))

    @property
    def lag(self) -> int | None:
        return None if self._pending is None else self._pending + len(self._arrived)

    def close(self) -> None:
        if self._link:
            link, self._link = self._link, None
            if hasattr(self, "_keeper"):
                link.post(self._keeper.cancel)
            link.close()


def _numbers(reply: str) -> tuple[int, int, int]:
    """Of a message: its number in the stream, its number at the consumer, and how many wait after it.

    >>> _numbers("$JS.ACK.RAW.shoal.1.52.7.1794768456000000000.30")
    (52, 7, 30)
    >>> _numbers("$JS.ACK.domain.account.RAW.shoal.1.52.7.1794768456000000000.30.token")
    (52, 7, 30)
    """
    tokens = reply.split(".")
    first = 5 if len(tokens) == 9 else 7
    return int(tokens[first]), int(tokens[first + 1]), int(tokens[first + 3])
