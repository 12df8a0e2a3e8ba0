"""A connection to NATS."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import Field

from shoal.config import FrozenModel, Name
from shoal.connectors.registry import library
from shoal.connectors.settings import Options, Tls, Url, with_secrets
from shoal.errors import ConnectorError

PATIENCE = 10.0  # seconds to wait for a server
T = TypeVar("T")


class Server(FrozenModel):
    """The settings of a server and a stream."""

    url: Url = Field(description="the server, such as nats://127.0.0.1:4222; several, separated by commas")
    stream: Name = Field(description="the stream, which must exist")
    tls: Tls | None = Field(default=None, description="the files of TLS")
    options: Options = Field(default={}, description="options of the client's connect, such as user, password, token")


class Link:
    """A connection that reconnects by itself; its event loop runs in its own thread."""

    def __init__(self, settings: Server) -> None:
        self._settings = settings
        self.nats = library("nats", "nats")
        self.errors = library("nats.js.errors", "nats")
        self.api = library("nats.js.api", "nats")
        self.on_return: Callable[[], None] = lambda: None  # called in the loop's thread after a reconnection
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="shoal-nats", daemon=True)
        self._thread.start()
        try:
            self.call(self._connect())
        except BaseException:
            self.close()
            raise

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop's thread, and wait for its result."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def post(self, function: Callable[[], Any]) -> None:
        """Call a function in the loop's thread, without waiting."""
        self._loop.call_soon_threadsafe(function)

    async def _connect(self) -> None:
        refused, self._broken = self._loop.create_future(), self._loop.create_future()

        failures: list[str] = []

        async def on_error(error: Exception) -> None:
            failures[:] = [type(error).__name__]
            if not refused.done() and _is_refusal(self.nats, error):
                refused.set_result(None)

        async def on_break() -> None:
            self._broken.set_result(None)
            self._broken = self._loop.create_future()

        async def on_return() -> None:
            self.on_return()

        self.client = self.nats.NATS()
        options = with_secrets(self._settings.options)
        if self._settings.tls:
            options["tls"] = self._settings.tls.context()
        servers = self._settings.url.split(",")
        given = {"reconnect_time_wait": 0.2, "max_reconnect_attempts": -1, "ping_interval": 10, **options}
        place = f"nats {self._settings.url}"
        try:
            callbacks = {"error_cb": on_error, "disconnected_cb": on_break, "reconnected_cb": on_return}
            connect = self.client.connect(servers, **callbacks, **given)
        except TypeError:
            raise ConnectorError(f"{place}: the client does not know one of its options; check their names") from None
        connecting = self._loop.create_task(connect)
        await asyncio.wait({connecting, refused}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if refused.done():
            connecting.cancel()
            raise ConnectorError(f"{place}: refuses the credentials; correct user, password, token or certificate")
        if not connecting.done():
            connecting.cancel()
            why = "".join(f" ({failure})" for failure in failures)
            remedy = "check address, TLS, and that it runs"
            raise ConnectorError(f"{place}: cannot be reached within {PATIENCE:.0f} s{why}; {remedy}")
        if (error := connecting.exception()) is not None:
            raise ConnectorError(f"{place}: cannot be used ({type(error).__name__}); check url and options")
        self.stream = self.client.jetstream(timeout=PATIENCE)

    async def unbroken(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop's thread; a TimeoutError if the connection breaks."""
        task = self._loop.create_task(coroutine)
        await asyncio.wait({task, self._broken}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            raise TimeoutError
        return await task

    async def info(self) -> Any:
        """The server's information on the stream, which must exist and keep messages that were read."""
        name = self._settings.stream
        try:
            info = await self.stream.stream_info(name)
        except self.errors.NotFoundError:
            raise ConnectorError(f"nats: there is no stream {name!r}; create it, or correct the name") from None
        except self.errors.ServiceUnavailableError:
            raise ConnectorError("nats: the server has no JetStream; start it with JetStream enabled") from None
        except (TimeoutError, self.nats.errors.Error) as error:
            raise ConnectorError(f"nats: stream {name!r} cannot be looked up ({type(error).__name__})") from None
        if info.config.retention != self.api.RetentionPolicy.LIMITS:
            raise ConnectorError(
                f"nats: stream {name!r} has retention {info.config.retention}, under which messages go once they are read; "
                "use a stream with retention limits"
            )
        return info

    def close(self) -> None:
        client = getattr(self, "client", None)
        if client is not None:
            with suppress(Exception):
                self.call(asyncio.wait_for(client.close(), 2))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _is_refusal(nats: Any, error: Exception) -> bool:
    return isinstance(error, nats.errors.AuthorizationError) or "authorization" in str(error).lower()
