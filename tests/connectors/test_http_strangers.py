"""Strangers at the door of the HTTP source: idle connections, bodies that never come, other sites, compressed bodies."""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from connectors.processes import free_port
from shoal.connectors.http import HttpSource
from shoal.connectors.http_limits import Body

pytestmark = pytest.mark.slow

TOKEN = "a token of the tests"


class Taking:
    """A source whose deliveries are taken in at once."""

    def __init__(self, **settings: Any) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self._source = HttpSource(HttpSource.Settings(port=self.port, **settings))
        self._source.begin(None)
        self._done = threading.Event()
        self.payloads: list[bytes] = []
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def _take(self) -> None:
        while not self._done.is_set():
            if delivery := self._source.read(0.05):
                self.payloads += [payload for payload in delivery.payloads if isinstance(payload, bytes)]
                self._source.acknowledge(delivery.position)

    def post(self, body: bytes = b'{"n": 1}\n', **headers: str) -> int:
        for _ in range(50):  # until it listens
            try:
                return httpx.post(self.url, content=body, headers=headers, timeout=20).status_code
            except httpx.ConnectError:
                time.sleep(0.1)
        raise AssertionError("it does not listen")

    def connection(self, text: bytes = b"") -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port))
        client.sendall(text)
        return client

    def end(self) -> None:
        self._done.set()
        self._thread.join()
        self._source.close()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("SHOAL_TOKEN_OF_TESTS", TOKEN)
    all_of_them: list[Taking] = []

    def opened(**settings: Any) -> Taking:
        all_of_them.append(Taking(**settings))
        return all_of_them[-1]

    yield opened
    for taking in all_of_them:
        taking.end()


class TestGzip:
    def test_it_is_understood(self, opened: Any) -> None:
        taking = opened()
        assert taking.post(gzip.compress(b'{"n": 1}\n'), **{"Content-Encoding": "gzip"}) == 200
        assert taking.payloads == [b'{"n": 1}\n']

    def test_it_is_bounded(self, opened: Any) -> None:
        taking = opened(largest=100_000)
        assert taking.post(gzip.compress(b" " * 100_000), **{"Content-Encoding": "GZIP"}) == 200
        assert taking.post(gzip.compress(b" " * 100_000_000), **{"Content-Encoding": "gzip"}) == 413

    def test_a_body_takes_no_more_memory_than_its_bound(self) -> None:
        body = Body(100, compressed=True)
        assert not body.add(gzip.compress(b" " * 1_000_000)) and len(body.data) == 101

    @pytest.mark.parametrize(
        "body",
        [b"no gzip", gzip.compress(b"{}", mtime=0)[:-3], gzip.compress(b"{}", mtime=0) + b"more", b""],
        ids=["other bytes", "cut", "more behind it", "empty"],
    )
    def test_damaged(self, opened: Any, body: bytes) -> None:
        taking = opened()
        assert taking.post(body, **{"Content-Encoding": "gzip"}) == 400
        assert taking.payloads == []

    @pytest.mark.parametrize("coding", ["br", "deflate", "gzip, gzip", "zstd"])
    def test_others_are_refused(self, opened: Any, coding: str) -> None:
        taking = opened()
        assert taking.post(**{"Content-Encoding": coding}) == 415 and taking.payloads == []


@pytest.mark.parametrize("body", [b'[{"n": 1}, {"n": 2}]', b' \r\n[\n{"n": 1}]\n', b'{\n  "n": 1\n}\n', b'{ \r\n"n": 1}'])
def test_json_that_is_no_lines_is_not_taken(opened: Any, body: bytes) -> None:
    taking = opened()
    assert taking.post(body, **{"Content-Type": "application/json"}) == 400
    assert taking.post(b'\n{"n": 1}\n{\n', **{"Content-Type": "application/json"}) == 200  # its second line is a dead letter
    assert taking.payloads == [b'\n{"n": 1}\n{\n']


class TestOtherSites:
    @pytest.mark.parametrize(("headers", "status"), [
        ({}, 200), ({"Host": "localhost:1"}, 200), ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "https://example.org"}, 403), ({"Origin": "null"}, 403), ({"Host": "example.org"}, 421),
        ({"Host": "127.0.0.1.example.org"}, 421),
    ])  # fmt: skip
    def test_without_a_token(self, opened: Any, headers: dict[str, str], status: int) -> None:
        assert opened().post(**headers) == status

    @pytest.mark.parametrize(("given", "status"), [
        (f"Bearer {TOKEN}", 200), (f"bearer {TOKEN}", 200), (f"BEARER  {TOKEN}", 200), (f"Basic {TOKEN}", 401),
        (TOKEN, 401), (f"Bearer {TOKEN}x", 401), ("", 401),
    ])  # fmt: skip
    def test_with_a_token(self, opened: Any, given: str, status: int) -> None:
        taking = opened(token={"env": "SHOAL_TOKEN_OF_TESTS"})
        assert taking.post(Authorization=given, Origin="https://example.org", Host="example.org") == status


class TestFloods:
    def test_idle_connections_make_room_for_one_that_speaks(self, opened: Any) -> None:
        taking = opened(connections=40, peer=40)
        assert taking.post() == 200
        idle = [taking.connection(b"POST / HT" if i % 2 else b"") for i in range(300)]
        assert taking.post() == 200
        assert len(os.listdir("/proc/self/fd")) < 300 + 40 + 60
        for client in idle:
            client.close()

    def test_one_peer_cannot_take_all(self, opened: Any) -> None:
        taking = opened(connections=40, peer=10)
        assert taking.post() == 200
        before = len(os.listdir("/proc/self/fd"))
        idle = [taking.connection() for _ in range(30)]
        time.sleep(0.5)
        assert len(os.listdir("/proc/self/fd")) - before <= 30 + 11
        assert taking.post() == 200
        for client in idle:
            client.close()

    def test_bodies_that_never_come_block_nobody(self, opened: Any) -> None:
        taking = opened(waiting=4, patience=1)
        assert taking.post() == 200
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
        slow = [taking.connection(head) for _ in range(64)]
        assert taking.post() == 200
        slow[0].settimeout(20)
        assert b" 408 " in slow[0].recv(1000)
        for client in slow:
            client.close()

    def test_headers_that_never_end(self, opened: Any) -> None:
        taking = opened(patience=0.5)
        assert taking.post() == 200
        client = taking.connection(b"POST / HTTP/1.1\r\nHost: localhost\r\n")
        client.settimeout(20)
        with pytest.raises(ConnectionResetError):
            assert not client.recv(1000)
            raise ConnectionResetError

    def test_a_body_in_pieces_is_taken(self, opened: Any) -> None:
        taking = opened(patience=5)
        assert taking.post() == 200
        body = json.dumps({"n": 2}).encode()
        client = taking.connection(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body))
        for i in range(len(body)):
            client.sendall(body[i : i + 1])
            time.sleep(0.02)
        client.settimeout(20)
        assert b" 200 " in client.recv(1000) and taking.payloads[-1] == body
