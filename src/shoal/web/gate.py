"""Who may look: on loopback whoever asks for it by name, elsewhere those who have the token."""

from __future__ import annotations

import hmac
import os
import secrets
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request

from shoal.connectors.loopback import is_loopback
from shoal.errors import InputError

COOKIE = "shoal"
OPEN = ("/healthz", "/readyz", "/login", "/door.css")
"""What needs no token."""

_SHORTEST = 16


class Gate:
    """Compares what a request brings with the token; without a token, its host with the names of loopback."""

    def __init__(self, token: str | None) -> None:
        self._token = token
        self._pass = secrets.token_urlsafe(32)  # what a browser keeps instead of the token, as long as the server runs

    @property
    def is_locked(self) -> bool:
        return self._token is not None

    def is_known_host(self, request: Request) -> bool:
        """Whether the address is one of loopback: a page elsewhere cannot lead a browser here under its own name."""
        return self.is_locked or is_loopback(_name(request.headers.get("host", "")))

    def admits(self, request: Request) -> bool:
        if self._token is None:
            return True
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        bears = scheme.lower() == "bearer" and self.opens(given.strip())
        return bears or _same(request.cookies.get(COOKIE, ""), self._pass)

    def opens(self, given: str) -> bool:
        """Whether it is the token."""
        return self._token is not None and _same(given, self._token)

    @property
    def cookie(self) -> str:
        return self._pass


def token_for(host: str, file: str | None = None) -> str | None:
    """The token that a host needs, from a file or the variable SHOAL_TOKEN; on loopback none is needed.

    Raises
    ------
    InputError
        There is none, or it is too short to be a secret.
    """
    if file is not None:
        try:
            found = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            raise InputError(f"{file}: cannot be read; name a file that holds the page's token") from None
        if not found:
            raise InputError(f"{file}: is empty; write the page's token into it")
    else:
        found = os.environ.get("SHOAL_TOKEN", "").strip()
    if not found:
        if is_loopback(host):
            return None
        raise InputError(f"--host {host}: is not loopback; set SHOAL_TOKEN, or name a file with --token-file")
    if len(found) < _SHORTEST or not found.isascii() or not found.isprintable():
        raise InputError(f"the page's token: is not {_SHORTEST} or more plain characters; draw one with `openssl rand -hex 16`")
    return found


def _name(host: str) -> str:
    """
    >>> [_name(host) for host in ("localhost:8080", "127.0.0.1", "[::1]:80", "[", "")]
    ['localhost', '127.0.0.1', '::1', '', '']
    """
    return host[1:].split("]")[0] if host.startswith("[") else host.split(":")[0]


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(sha256(given.encode(errors="replace")).digest(), sha256(known.encode()).digest())
