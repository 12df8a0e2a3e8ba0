from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pydantic import ValidationError

from connectors.conformance import (
    Feed,
    SinkConformance,
    SourceConformance,
    Store,
    batch,
    deliveries,
    drained,
    numbers_of,
    pairs,
)
from connectors.processes import free_port
from shoal.connectors.http import HttpSink, HttpSource
from shoal.errors import ConnectorError

pytestmark = pytest.mark.slow
post = partial(httpx.post, timeout=60)  # on a busy machine


class HttpFeed(Feed):
    """Clients that post, and do so again until they are answered 200."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self.pool = ThreadPoolExecutor(8)
        self._keys = iter(range(10**6))
        self.stopped = threading.Event()

    def source(self, **more: Any) -> HttpSource:
        return HttpSource(HttpSource.Settings(port=self.port, **more))

    def give(self, numbers: range) -> None:
        """Five records a request, in turn; nobody waits here for the answers."""
        requests = [numbers[i : i + 5] for i in range(0, len(numbers), 5)]
        self.pool.submit(lambda: [self.post(some, str(next(self._keys))) for some in requests])

    def post(self, numbers: range, key: str) -> None:
        body = "".join(json.dumps({"n": number}) + "\n" for number in numbers)
        while not self.stopped.is_set():
            try:
                if httpx.post(self.url, content=body, headers={"Idempotency-Key": key}, timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.02)


@pytest.fixture
def feed() -> Iterator[HttpFeed]:
    feed = HttpFeed()
    yield feed
    feed.stopped.set()
    feed.pool.shutdown()


class TestSource(SourceConformance):
    def test_answers_when_it_is_safe(self, feed: HttpFeed) -> None:
        source = feed.source()
        source.begin(None)
        answer: Future[httpx.Response] = feed.pool.submit(post, feed.url, content='{"n": 1}\n')
        delivery = source.read(60)
        assert delivery is not None
        time.sleep(0.2)
        assert not answer.done()
        source.acknowledge(delivery.position)
        assert answer.result(60).status_code == 200
        source.close()

    def test_what_is_not_safe_when_it_ends_is_not_taken(self, feed: HttpFeed) -> None:
        source = feed.source()
        source.begin(None)
        answer = feed.pool.submit(post, feed.url, content='{"n": 1}\n')
        assert source.read(60) is not None
        source.close()
        assert (answer.result(60).status_code, answer.result().headers["retry-after"]) == (503, "1")

    def test_a_key_is_taken_in_once(self, feed: HttpFeed) -> None:
        source = feed.source()
        source.begin(None)
        key = {"Idempotency-Key": "a"}
        first = feed.pool.submit(post, feed.url, content='{"n": 1}\n', headers=key)
        delivery = source.read(60)
        assert delivery is not None
        second = feed.pool.submit(post, feed.url, content='{"n": 1}\n', headers=key)
        assert source.read(0.3) is None
        assert not second.done()
        source.acknowledge(delivery.position)
        assert first.result(60).status_code == second.result(60).status_code == 200
        assert post(feed.url, content='{"n": 1}\n', headers=key).status_code == 200
        source.close()
        again = feed.source()
        again.begin(json.loads(json.dumps(delivery.position)))
        assert post(feed.url, content='{"n": 1}\n', headers=key).status_code == 200
        assert again.read(0.1) is None
        again.close()

    def test_as_many_keys_are_remembered_as_the_settings_say(self, feed: HttpFeed) -> None:
        source = feed.source(remember=3)
        source.begin(None)
        feed.give(range(40))
        _, position = drained(source, 40)
        source.close()
        assert len(position["keys"]) == 3

    def test_a_full_queue(self, feed: HttpFeed) -> None:
        source = feed.source(waiting=2)
        source.begin(None)
        waiting = [feed.pool.submit(post, feed.url, content=json.dumps({"n": n})) for n in range(2)]
        time.sleep(0.5)
        refused = post(feed.url, content='{"n": 2}')
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert sorted(number for some in deliveries(source, 2) for number in numbers_of(some.payloads)) == [0, 1]
        assert [answer.result(60).status_code for answer in waiting] == [200, 200]
        source.close()

    def test_a_delivery_is_bounded(self, feed: HttpFeed, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shoal.connectors.connector.MOST", 20)
        source = feed.source()
        source.begin(None)
        answers = [feed.pool.submit(post, feed.url, content=f'{{"n": {n}}}\n') for n in range(5)]
        while (source.lag or 0) < 5:
            time.sleep(0.01)
        sizes = [len(delivery.payloads) for delivery in deliveries(source, 5)]
        assert sizes == [3, 2]  # of 9 bytes each
        assert [answer.result(60).status_code for answer in answers] == [200] * 5
        source.close()

    @pytest.mark.parametrize("body", [b"x" * 101, iter([b"x" * 60, b"x" * 60])])
    def test_a_body_that_is_too_large(self, feed: HttpFeed, body: Any) -> None:
        source = feed.source(largest=100)
        source.begin(None)
        answer = post(feed.url, content=body)
        assert (answer.status_code, answer.text) == (413, "more than 100 bytes; send fewer records at a time\n")
        assert source.read(0.1) is None
        source.close()

    def test_another_kind_of_content(self, feed: HttpFeed) -> None:
        source = feed.source()
        source.begin(None)
        answer = post(feed.url, content=b"a,b", headers={"Content-Type": "text/csv"})
        assert (answer.status_code, answer.text) == (415, "content must be application/x-ndjson\n")
        assert httpx.get(feed.url).status_code == 405
        source.close()

    def test_arrow(self, feed: HttpFeed) -> None:
        source = feed.source(format="arrow")
        source.begin(None)
        target = pa.BufferOutputStream()
        with pa.ipc.new_stream(target, batch(range(3)).schema) as writer:
            writer.write_batch(batch(range(3)))
        kind = {"Content-Type": "application/vnd.apache.arrow.stream"}
        answer = feed.pool.submit(post, feed.url, content=target.getvalue().to_pybytes(), headers=kind)
        delivery = source.read(60)
        assert delivery is not None
        source.acknowledge(delivery.position)
        assert answer.result(60).status_code == 200
        source.close()
        assert pa.ipc.open_stream(delivery.payloads[0]).read_all()["n"].to_pylist() == [0, 1, 2]

    def test_a_token(self, feed: HttpFeed, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTP_TOKEN", "correct")
        source = feed.source(token={"env": "HTTP_TOKEN"})
        source.begin(None)
        for said in (b"", b"Bearer wrong", b"Bearer \xff", b"Bearer correctly", b"Bearer correc"):
            headers = {"Authorization": said} if said else {}
            assert post(feed.url, content='{"n": 1}', headers=headers).status_code == 401
        answer = feed.pool.submit(post, feed.url, content='{"n": 1}', headers={"Authorization": "Bearer correct"})
        drained(source, 1)
        assert answer.result(60).status_code == 200
        source.close()

    def test_beyond_loopback_a_token_is_needed(self) -> None:
        with pytest.raises(ValidationError) as error:
            HttpSource.Settings(host="0.0.0.0", port=8080)
        assert error.value.errors()[0]["ctx"]["problems"] == (
            ("token", "is missing, but host is not loopback; name a secret, or listen on 127.0.0.1"),
        )

    def test_a_port_that_is_taken(self, feed: HttpFeed) -> None:
        source, other = feed.source(), feed.source()
        source.begin(None)
        with pytest.raises(ConnectorError) as error:
            other.begin(None)
        other.close()
        source.close()
        place = f"http 127.0.0.1:{feed.port}"
        assert str(error.value) == f"{place}: cannot be listened on (Address already in use); use another address"


class Hook(Store):
    """A server that keeps what is posted, and answers as it is told."""

    def __init__(self, form: str = "json") -> None:
        self.form = form
        self.found: list[tuple[int, int]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.headers: list[Any] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, headers = hook.answers.pop(0) if hook.answers else (200, {})
                hook.headers.append(self.headers)
                if status == 200:
                    hook.found += enumerate(hook.values(body), int(self.headers["Shoal-Sequence"]))
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/tuples"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def values(self, body: bytes) -> list[int]:
        if self.form == "json":
            return [json.loads(line)["n"] for line in body.splitlines()]
        return pa.ipc.open_stream(body).read_all()["n"].to_pylist()

    def sink(self, **more: Any) -> HttpSink:
        return HttpSink(HttpSink.Settings(url=self.url, format=self.form, **more))

    def held(self) -> list[tuple[int, int]]:
        return self.found

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


class TestSink(SinkConformance):
    @pytest.fixture(params=["json", "arrow"])
    def store(self, request: pytest.FixtureRequest) -> Iterator[Hook]:
        hook = Hook(request.param)
        yield hook
        hook.close()

    def test_what_passes_is_waited_for(self, store: Hook) -> None:
        store.answers = [(503, {}), (429, {"Retry-After": "1"}), (500, {})]
        sink = store.sink()
        sink.begin(None, 0)
        begun = time.monotonic()
        sink.write(batch(range(5)), 0)
        assert time.monotonic() - begun > 1
        sink.close()
        assert store.held() == pairs(range(5))
        assert len(store.headers) == 4

    def test_a_server_that_is_not_there_is_waited_for(self, store: Hook) -> None:
        sink = HttpSink(HttpSink.Settings(url=f"http://127.0.0.1:{free_port()}", format=store.form))
        sink.begin(None, 0)
        writer = threading.Thread(target=sink.write, args=(batch(range(5)), 0), daemon=True)
        writer.start()
        time.sleep(0.5)
        assert writer.is_alive()
        sink._settings = store.sink()._settings  # it comes back
        writer.join(10)
        assert not writer.is_alive()
        assert store.held() == pairs(range(5))

    def test_a_refusal_that_does_not_pass(self, store: Hook) -> None:
        store.answers = [(401, {})]
        sink = store.sink()
        sink.begin(None, 0)
        with pytest.raises(ConnectorError) as error:
            sink.write(batch(range(5)), 0)
        sink.close()
        assert str(error.value) == f"http {store.url}: answers 401; correct the url, the token, or the other side's limits"

    def test_large_batches_are_cut(self, store: Hook) -> None:
        sink = store.sink(largest=1_000)
        sink.begin(None, 0)
        sink.write(batch(range(500)), 0)
        sink.close()
        assert store.held() == pairs(range(500))
        assert all(int(headers["Content-Length"]) <= 1_000 for headers in store.headers)

    def test_credentials(self, store: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTP_TOKEN", "correct")
        sink = store.sink(token={"env": "HTTP_TOKEN"}, headers={"X-From": "shoal"})
        sink.begin(None, 0)
        sink.write(batch(range(1)), 0)
        sink.close()
        assert (store.headers[0]["Authorization"], store.headers[0]["X-From"]) == ("Bearer correct", "shoal")
