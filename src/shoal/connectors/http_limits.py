"""Limits on the connections and the bodies of a server, so that strangers cannot use up its descriptors and its memory."""

from __future__ import annotations

import asyncio
import resource
import socket
import zlib
from collections import Counter
from contextlib import suppress
from functools import cache
from typing import Any

RESERVE = 128  # descriptors that connections must leave for the state, files, brokers, and those that are about to be closed
SERVERS = 3  # of a process at most, for records, the page and the metrics: none can take the descriptors of another
BURST = 8  # connections that are accepted at once, before one of them is looked at
QUEUE = (
    128  # connections that the kernel keeps until they are accepted; it drops more, and their clients try again a second later
)


class Listener(socket.socket):
    """A listening socket with a queue of its own length: asyncio would make it as short as `BURST`.

    With TLS, asyncio reports a connection only after its handshake; `limits` learns of it before.
    """

    limits: ConnectionLimits | None = None

    def listen(self, backlog: int = QUEUE, /) -> None:
        super().listen(max(backlog, QUEUE))

    def accept(self) -> tuple[socket.socket, Any]:
        connection, address = super().accept()
        if self.limits:
            self.limits.shakes_hands(connection, str(address[0]))
        return connection, address


class ConnectionLimits:
    """Bounds the connections of each peer and of all together, and how long one may be silent.

    If there are too many, the idle connection that was opened first is closed for the new one; if none is idle, the new one is
    closed. A connection is idle while no request has come whole, up to its body. One that stays idle is closed after a while.
    So is one whose TLS handshake does not end; such are the first to be closed.
    """

    def __init__(self, most: int, each: int, patience: float) -> None:
        self._most, self._each, self._patience = most, each, patience
        self._open: dict[Any, str] = {}  # by protocol, in the order in which they were opened: the peer
        self._peers: Counter[str] = Counter()
        self._shaking: dict[socket.socket, str] = {}  # the peers of connections whose handshake goes on, in their order

    def shakes_hands(self, connection: socket.socket, peer: str) -> None:
        """A connection was accepted, and its TLS handshake begins; called in the server's loop."""
        self._shaking = {each: whose for each, whose in self._shaking.items() if each.fileno() >= 0}
        same = [each for each, whose in self._shaking.items() if whose == peer]
        if self._peers[peer] + len(same) >= self._each and same:
            self._refuse(same[0])
        elif self._is_full and self._shaking:
            self._refuse(next(iter(self._shaking)))
        self._shaking[connection] = peer
        asyncio.get_running_loop().call_later(self._patience, self._refuse, connection)

    def _refuse(self, connection: socket.socket) -> None:
        """End a handshake; the loop then closes the connection."""
        if self._shaking.pop(connection, None) is not None and connection.fileno() >= 0:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def apply(self, config: Any) -> None:
        """Limit the connections of a server with this configuration of uvicorn."""
        config.load()
        config.backlog = BURST
        limits = self

        class Limited(config.http_protocol_class):  # type: ignore[misc]
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                limits._opened(self, transport)

            def connection_lost(self, exc: Exception | None) -> None:
                limits._closed(self)
                super().connection_lost(exc)

        config.http_protocol_class = Limited

    def _opened(self, protocol: Any, transport: Any) -> None:
        peer = str((transport.get_extra_info("peername") or [""])[0])
        if self._shaking:
            number = transport.get_extra_info("socket").fileno()
            self._shaking = {each: whose for each, whose in self._shaking.items() if each.fileno() not in (-1, number)}
        if self._peers[peer] >= self._each:
            self._make_room(peer)
        if self._is_full:
            self._make_room(None)
        if self._peers[peer] >= self._each or self._is_full:
            transport.abort()
            return
        self._open[protocol] = peer
        self._peers[peer] += 1
        protocol.loop.call_later(self._patience, self._look, protocol, None)

    @property
    def _is_full(self) -> bool:
        return len(self._open) + len(self._shaking) >= min(self._most, _room())

    def _make_room(self, peer: str | None) -> None:
        idle = (each for each, whose in self._open.items() if peer in (None, whose) and _is_idle(each))
        oldest = next(idle, None)
        if oldest is not None:
            oldest.transport.abort()
            self._closed(oldest)

    def _look(self, protocol: Any, before: Any) -> None:
        """Close a connection that was idle for the whole time since the last look."""
        if protocol not in self._open:
            return
        if _is_idle(protocol) and protocol.cycle is before:
            protocol.transport.abort()
        else:
            protocol.loop.call_later(self._patience, self._look, protocol, protocol.cycle)

    def _closed(self, protocol: Any) -> None:
        peer = self._open.pop(protocol, None)
        if peer is not None:
            self._peers[peer] -= 1
            if not self._peers[peer]:
                del self._peers[peer]


def _is_idle(protocol: Any) -> bool:
    return protocol.cycle is None or protocol.cycle.response_complete


@cache
def _room() -> int:
    """How many connections a server may have open; the limit of descriptors is raised as far as it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError):
            pass
    return max((soft - RESERVE) // SERVERS, 1) if soft != resource.RLIM_INFINITY else 1 << 20


class Body:
    """A body as it comes, decompressed if need be, up to `largest` bytes."""

    def __init__(self, largest: int, compressed: bool) -> None:
        self._largest = largest
        self._gzip = zlib.decompressobj(zlib.MAX_WBITS | 16) if compressed else None
        self._is_broken = False
        self.data = bytearray()
        self.received = 0  # bytes as they came

    @property
    def size(self) -> int:
        return len(self.data)

    def add(self, chunk: bytes) -> bool:
        """Whether it is not too large."""
        self.received += len(chunk)
        if self._gzip is not None and not self._is_broken:
            try:
                chunk = self._gzip.decompress(chunk, self._largest - len(self.data) + 1) if chunk else b""
            except zlib.error:
                chunk, self._is_broken = b"", True
        self.data += chunk
        return len(self.data) <= self._largest

    @property
    def is_whole(self) -> bool:
        return self._gzip is None or (self._gzip.eof and not self._is_broken and not self._gzip.unused_data)
