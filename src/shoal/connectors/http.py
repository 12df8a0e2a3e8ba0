"""HTTP as a source, a small server by starlette and uvicorn, and as a sink, a webhook by httpx."""

from __future__ import annotations

import asyncio
import hmac
import re
import socket
import threading
import time
from collections import deque
from contextlib import ExitStack
from hashlib import blake2b
from typing import Annotated, Any, NamedTuple, Self
from urllib.parse import urlsplit

import pyarrow as pa
from pydantic import Field, model_validator

from shoal.config import Count, Name, Span, refusal
from shoal.connectors.connector import Delivery, Position, Sink, Source, take_delivery
from shoal.connectors.http_limits import Body, ConnectionLimits, Listener
from shoal.connectors.message import Message, messages
from shoal.connectors.registry import library
from shoal.connectors.settings import InputFormat, Options, OutputFormat, Secret, Tls, Url, is_loopback, with_secrets
from shoal.errors import ConnectorError

ACCEPTED = {
    "json": ("application/x-ndjson", "application/jsonl", "application/json"),
    "csv": ("text/csv",),
    "arrow": ("application/vnd.apache.arrow.stream",),
}  # the content types that a request may have
_NO_LINES = re.compile(rb"\s*(?:\[|\{[ \t]*\r?\n)")  # how an array begins, or an object over several lines
GRACE = 1  # seconds for open requests when the server ends
RETRY = {"Retry-After": "1"}
CLOSE = {"Connection": "close"}
SLOWEST = 64 << 10  # bytes a second that a body must come at, after its first moments
MEMORY = 256 << 20  # bytes of bodies that are not whole yet


class _Batch(NamedTuple):
    key: str
    payload: bytes
    taken: asyncio.Future[bool]


class _Refused(Exception):
    """A request that is answered with the argument; without one, its body is too large."""


class HttpSource(Source):
    """Answers a POST with 200 once its records are safe. A client without that answer repeats the request under the same key.

    A position is how many requests were taken in, and the last of their keys, so that none is taken in twice.
    """

    replays = False

    class Settings(InputFormat):
        host: Name = Field(default="127.0.0.1", description="the address to listen on")
        port: Annotated[Count, Field(le=65_535)] = Field(description="the port to listen on")
        path: Name = Field(default="/", description="the path that records are posted to")
        token: Secret | None = Field(default=None, description="what Authorization: Bearer must say; needed beyond loopback")
        tls: Tls | None = Field(default=None, description="the server's cert and key; with ca, clients need a certificate")
        largest: Annotated[Count, Field(le=1 << 30)] = Field(
            default=16 << 20, description="bytes of a request; a larger one is answered 413"
        )
        waiting: Count = Field(default=64, description="requests that may wait at a time; one more is answered 503")
        connections: Count = Field(default=256, description="connections at a time; the longest idle one makes room")
        peer: Count = Field(default=128, description="connections of one address at a time")
        patience: Span = Field(default=10.0, gt=0, description="how long headers may take, and a body beyond 64 KB a second")
        remember: Count = Field(default=128, description="how many values of Idempotency-Key are remembered")

        @model_validator(mode="after")
        def _guarded(self) -> Self:
            if self.token is None and not is_loopback(self.host):
                raise refusal(("token", "is missing, but host is not loopback; name a secret, or listen on 127.0.0.1"))
            if self.tls is not None and self.tls.cert is None:
                raise refusal(("tls", "has no cert and key, which a server needs; give both"))
            return self

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.format, self.columns = settings.format, settings.columns or ()
        self._changed = threading.Condition()
        self._arrived: deque[_Batch] = deque()
        self._unacknowledged: deque[tuple[int, _Batch]] = deque()  # delivered
        self._pending: dict[str, asyncio.Future[bool]] = {}
        self._open = 0
        self._partial = 0  # bytes of bodies that are not whole yet
        self._thread: threading.Thread | None = None

    def begin(self, position: Position | None) -> Position:
        given = self._settings
        self._batches = int(position["batches"]) if position else 0
        self._recent: deque[str] = deque(position["keys"] if position else (), maxlen=given.remember)
        self._token = given.token.read().encode() if given.token else None
        uvicorn = library("uvicorn", "http")
        self._responses = library("starlette.responses", "http")
        routing, applications = library("starlette.routing", "http"), library("starlette.applications", "http")
        route = routing.Route(given.path, self._post, methods=["POST"])
        tls: dict[str, Any] = {}
        if given.tls:
            given.tls.context()
            tls = {"ssl_certfile": given.tls.cert, "ssl_keyfile": given.tls.key}
            tls |= {"ssl_ca_certs": given.tls.ca, "ssl_cert_reqs": 2} if given.tls.ca else {}
        config = uvicorn.Config(
            applications.Starlette(routes=[route]),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=GRACE,
            **tls,
        )
        limits = ConnectionLimits(given.connections, given.peer, given.patience)
        limits.apply(config)
        self._server = uvicorn.Server(config)
        listener = _listening(given.host, given.port)
        listener.limits = limits if given.tls else None
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, name="shoal-http", daemon=True)
        self._thread.start()
        return self._position()

    def probe(self, position: Position | None) -> bool:
        """Check the secrets. Whether the port is free is known only at the start, since a running pipeline uses it."""
        library("uvicorn", "http")
        if self._settings.token:
            self._settings.token.read()
        if self._settings.tls:
            self._settings.tls.context()
        return False

    def _position(self) -> Position:
        return {"batches": self._batches, "keys": list(self._recent)}

    async def _post(self, request: Any) -> Any:
        """Answer a request."""
        given = self._settings
        refused = self._strange(request)
        if refused is not None:
            return refused
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media and media not in ACCEPTED[given.format]:
            return self._answer(415, f"content must be {ACCEPTED[given.format][0]}")
        coding = request.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", "gzip"):
            return self._answer(415, "content must be sent as it is, or as gzip")
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > given.largest:
            return self._too_large()
        body = Body(given.largest, coding == "gzip")
        try:
            await self._read_body(request, body)
        except _Refused as refusal:
            return refusal.args[0] if refusal.args else self._too_large()
        finally:
            self._partial -= body.size
        if given.format == "json" and _NO_LINES.match(body.data):
            return self._answer(400, "no JSON lines, but an array or an object over several lines; write one object per line")
        if self._open >= given.waiting:
            return self._answer(503, "too many requests wait; send it again later", RETRY)
        self._open += 1
        try:
            if await self._is_safe(_digest(request.headers.get("idempotency-key")), bytes(body.data)):
                return self._answer(200, "taken")
            return self._answer(503, "the pipeline ends; send it again later", RETRY)
        finally:
            self._open -= 1

    def _strange(self, request: Any) -> Any:
        """The answer to a request without the token, or, where none is asked for, from a page of another site."""
        if self._token is not None:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token):
                return None
            return self._answer(401, "the bearer token is missing or wrong", {"WWW-Authenticate": "Bearer"})
        if not is_loopback(_hostname(f"//{request.headers.get('host', '')}")):
            return self._answer(421, "records are taken on loopback; name this host as localhost, or set a token")
        origin = request.headers.get("origin")
        if origin is not None and not is_loopback(_hostname(origin)):
            return self._answer(403, "the request comes from a page of another site")
        return None

    async def _read_body(self, request: Any, body: Body) -> None:
        """Read a body, at least at a low rate, and not more than fits into memory beside the others."""
        begun, chunks = time.monotonic(), request.stream().__aiter__()
        while True:
            left = begun + self._settings.patience + body.received / SLOWEST - time.monotonic()
            try:
                chunk = await asyncio.wait_for(anext(chunks), max(left, 0))
            except StopAsyncIteration:
                break
            except TimeoutError:
                raise _Refused(self._answer(408, "the body takes too long; send it again", CLOSE)) from None
            before = body.size
            if not body.add(chunk):
                raise _Refused
            self._partial += body.size - before
            if self._partial > max(MEMORY, self._settings.largest):
                raise _Refused(self._answer(503, "too many bodies are being sent; send it again later", RETRY))
        if not body.is_whole:
            raise _Refused(self._answer(400, "the body is not whole, or no gzip"))

    async def _is_safe(self, key: str, body: bytes) -> bool:
        """Wait until a body is safe, or the pipeline ends; a body with a known key is not taken in again."""
        if key and key in self._pending:
            return await asyncio.shield(self._pending[key])
        if not body or (key and key in self._recent):
            return True
        taken = asyncio.get_running_loop().create_future()
        if key:
            self._pending[key] = taken
        with self._changed:
            self._arrived.append(_Batch(key, body, taken))
            self._changed.notify()
        return await asyncio.shield(taken)

    def _answer(self, status: int, text: str, headers: dict[str, str] | None = None) -> Any:
        return self._responses.PlainTextResponse(f"{text}\n", status, headers)

    def _too_large(self) -> Any:
        return self._answer(413, f"more than {self._settings.largest} bytes; send fewer records at a time")

    def read(self, seconds: float) -> Delivery | None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._arrived, seconds):
                return None
            some = take_delivery(self._arrived)
        for batch in some:
            self._batches += 1
            self._unacknowledged.append((self._batches, batch))
            if batch.key:
                self._recent.append(batch.key)
        return Delivery([batch.payload for batch in some], self._position())

    def acknowledge(self, position: Position) -> None:
        while self._unacknowledged and self._unacknowledged[0][0] <= position["batches"]:
            self._settle(self._unacknowledged.popleft()[1], True)

    def _settle(self, batch: _Batch, is_safe: bool) -> None:
        """Let the server answer a request."""

        def settle() -> None:
            self._pending.pop(batch.key, None)
            if not batch.taken.done():
                batch.taken.set_result(is_safe)

        batch.taken.get_loop().call_soon_threadsafe(settle)

    @property
    def lag(self) -> int | None:
        return len(self._arrived)

    def close(self) -> None:
        if self._thread is None:
            return
        for batch in [*(batch for _, batch in self._unacknowledged), *self._arrived]:
            self._settle(batch, False)
        self._server.should_exit = True
        self._thread.join()
        self._thread = None


def _hostname(url: str) -> str:
    """
    >>> _hostname("//localhost:80"), _hostname("http://[::1]:5"), _hostname("null"), _hostname("//a b:x")
    ('localhost', '::1', '', 'a b')
    """
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _listening(host: str, port: int) -> Listener:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with ExitStack() as stack:
            listener = stack.enter_context(Listener(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
            stack.pop_all()
    except OSError as error:
        raise ConnectorError(f"http {host}:{port}: cannot be listened on ({error.strerror}); use another address") from None
    return listener


def _digest(key: str | None) -> str:
    """A digest of a key, which may be any text."""
    return blake2b(key.encode(), digest_size=12).hexdigest() if key else ""


MEDIA = {"json": "application/x-ndjson", "arrow": "application/vnd.apache.arrow.stream"}
PASSING = {408, 425, 429}  # temporary refusals, like all from 500 on
SHORTEST, LONGEST = 0.2, 30.0  # seconds before a request is repeated, at first and at most


class HttpSink(Sink):
    """Posts JSON lines, or an Arrow stream, until the server answers 2xx: at least once, with the number in a header."""

    identity = ("url",)
    remembers = False

    class Settings(OutputFormat):
        url: Url = Field(description="where to post to, such as https://example.org/tuples")
        token: Secret | None = Field(default=None, description="what Authorization: Bearer says")
        headers: Options = Field(default={}, description="headers of every request")
        tls: Tls | None = Field(default=None, description="the files of TLS")
        timeout: Span = Field(default=30.0, gt=0, description="how long an answer may take, such as 30s")
        largest: Count = Field(default=4 << 20, description="bytes of a request")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: Any = None

    def begin(self, mark: Position | None, sequence: int) -> None:
        given = self._settings
        self._httpx = library("httpx", "http")
        library("httpcore", "http")
        headers = {key: str(value) for key, value in with_secrets(given.headers).items()}
        if given.token:
            headers["Authorization"] = f"Bearer {given.token.read()}"
        headers["Content-Type"] = MEDIA[given.format]
        verify = given.tls.context() if given.tls else True
        self._client = self._httpx.Client(headers=headers, verify=verify, timeout=given.timeout)

    def probe(self, mark: Position | None, sequence: int) -> bool:
        """Send an OPTIONS request, which has no effect; any answer will do."""
        self.begin(mark, sequence)
        try:
            self._client.options(self._settings.url)
        except (self._httpx.HTTPError, self._httpx.InvalidURL) as error:
            reason = type(error).__name__
            raise ConnectorError(f"http {self._settings.url}: cannot be reached ({reason}); check url and TLS") from None
        finally:
            self.close()
        return True

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        form = "lines" if self._settings.format == "json" else "arrow"
        for message in messages(batch, sequence, form, self._settings.largest):
            pause = SHORTEST
            while (wanted := self._posted(message)) is not None:
                time.sleep(max(pause, wanted))
                pause = min(2 * pause, LONGEST)

    def _posted(self, message: Message) -> float | None:
        """Post a message: None if it was accepted, else the seconds that the server asks to wait."""
        place = f"http {self._settings.url}"
        headers = {"Shoal-Sequence": str(message.sequence), "Shoal-Tuples": str(message.tuples)}
        try:
            answer = self._client.post(self._settings.url, content=message.payload, headers=headers)
        except self._httpx.TransportError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise ConnectorError(f"{place}: has a certificate that is not trusted; name its authority under tls") from None
            return 0.0
        except (self._httpx.HTTPError, self._httpx.InvalidURL) as error:
            raise ConnectorError(f"{place}: cannot be used ({type(error).__name__}); correct the url") from None
        if answer.is_success:
            return None
        if answer.status_code >= 500 or answer.status_code in PASSING:
            wanted = answer.headers.get("retry-after", "")
            return min(float(wanted), LONGEST) if wanted.isdecimal() else 0.0
        raise ConnectorError(f"{place}: answers {answer.status_code}; correct the url, the token, or the other side's limits")

    def caught_up(self, sequence: int) -> None:
        """It does not know which tuples it has."""

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
