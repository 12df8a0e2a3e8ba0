"""The page's server, in a thread beside the pipeline."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn
from fastapi import FastAPI

from shoal.connectors import ConnectionLimits, Listener, is_loopback
from shoal.errors import InputError
from shoal.telemetry import Telemetry
from shoal.web.page import EVERY, Shoal, page

_CONNECTIONS = 200
_PATIENCE = 10.0  # seconds that the headers of a request may take
_GRACE = 1  # seconds for running requests to end


@contextmanager
def serve(
    telemetry: Telemetry, host: str = "127.0.0.1", port: int = 8080, token: str | None = None, *, bare: bool = False,
    shoal: Shoal | None = None,
) -> Iterator[str]:  # fmt: skip
    """Serve the page, or only its metrics, while the body runs; yields its address. Port 0 is any free one.

    Raises InputError if the port is taken, or the host is not loopback and there is no token.
    """
    with running(page(telemetry, token, bare=bare, shoal=shoal), host, port, token) as address:
        yield address


@contextmanager
def running(app: FastAPI, host: str, port: int, token: str | None) -> Iterator[str]:
    """Serve an application while the body runs; yields its address."""
    if token is None and not is_loopback(host):
        raise InputError(f"--host {host}: is not loopback; set SHOAL_TOKEN, or name a file with --token-file")
    with _listening(host, port) as listener:
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="critical",  # the text of an error could hold data
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
        )
        ConnectionLimits(_CONNECTIONS, _CONNECTIONS, _PATIENCE).apply(config)
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, name="page", daemon=True)
        thread.start()
        try:
            yield _address(host, listener.getsockname()[1])
        finally:
            app.state.closing = True
            until = time.monotonic() + 2 * EVERY
            while getattr(app.state, "watching", 0) and time.monotonic() < until:
                time.sleep(0.02)  # open event streams get a last event
            server.should_exit = True
            thread.join(_GRACE + 1)


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = Listener(family, kind, protocol)
    except (OSError, OverflowError):
        raise InputError(f"--host {host}: is not an address of this machine; use 127.0.0.1, or one of its addresses") from None
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen()
        except OSError as error:
            why = (error.strerror or "refused").lower()
            raise InputError(f"port {port}: cannot be used ({why}); give another, or 0 for any that is free") from None
        yield listener


def _address(host: str, port: int) -> str:
    """
    >>> _address("127.0.0.1", 8080), _address("::1", 80), _address("0.0.0.0", 80)
    ('http://127.0.0.1:8080/', 'http://[::1]:80/', 'http://0.0.0.0:80/')
    """
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
