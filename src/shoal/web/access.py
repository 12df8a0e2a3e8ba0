"""What every page has: access control, security headers, a login, and static files."""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from shoal.connectors import is_loopback
from shoal.errors import InputError

COOKIE = "shoal"
OPEN = ("/healthz", "/readyz", "/login", "/door.css")  # paths that need no token
STATIC = Path(__file__).parent / "static"
LOCKED: dict[int | str, dict[str, Any]] = {401: {"description": "The token is missing or wrong."}}

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LONGEST = 1024  # bytes of a login
_SHORTEST = 16  # characters of a token


class Access:
    """Requests need the token; without a token, they must name a host of loopback."""

    def __init__(self, token: str | None) -> None:
        self._token = token
        self.cookie = secrets.token_urlsafe(32)  # of a browser, instead of the token; valid while the server runs

    def is_known_host(self, request: Request) -> bool:
        """Whether the request names a host of loopback: a foreign page cannot use a name of its own (DNS rebinding)."""
        return self._token is not None or is_loopback(_name(request.headers.get("host", "")))

    def admits(self, request: Request) -> bool:
        if self._token is None:
            return True
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        bears = scheme.lower() == "bearer" and self.is_token(given.strip())
        return bears or _same(request.cookies.get(COOKIE, ""), self.cookie)

    def is_token(self, given: str) -> bool:
        """Compare with the token, in constant time."""
        return self._token is not None and _same(given, self._token)


def token_for(host: str, file: str | None = None) -> str | None:
    """The token for a host, from a file or the variable SHOAL_TOKEN; loopback needs none.

    Raises InputError if it is missing, or too short to be a secret.
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


def guard(app: FastAPI, access: Access, *, bare: bool = False) -> None:
    """Admit requests with access, and set security headers on every answer; a bare application has no login page."""

    @app.middleware("http")
    async def guarded(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        if not access.is_known_host(request):
            answer: Response = PlainTextResponse("this page is served on loopback; ask for it as localhost\n", 421)
        elif _is_foreign(request):
            answer = JSONResponse({"detail": "the request comes from another page"}, 403)
        elif request.url.path in OPEN or access.admits(request):
            answer = await proceed(request)
        elif request.url.path == "/" and request.method == "GET" and not bare:
            answer = FileResponse(STATIC / "login.html", 401)
        else:
            answer = JSONResponse({"detail": "the token is missing or wrong"}, 401, {"WWW-Authenticate": "Bearer"})
        for name, value in _HEADERS.items():
            answer.headers[name] = value
        if request.url.path.startswith("/assets/") and answer.status_code == 200:
            answer.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        return answer


def add_front(app: FastAPI, access: Access, entry: str) -> None:
    """The page itself, its static files, and the login."""

    @app.get("/", include_in_schema=False)
    async def index() -> FileResponse:
        return FileResponse(STATIC / entry)

    @app.get("/icon.svg", include_in_schema=False)
    async def icon() -> FileResponse:
        return FileResponse(STATIC / "icon.svg")

    @app.get("/door.css", include_in_schema=False)
    async def door() -> FileResponse:
        return FileResponse(STATIC / "door.css")

    @app.post("/login", include_in_schema=False)
    async def login(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _LONGEST:
                return FileResponse(STATIC / "login.html", 413)
        given = parse_qs(body.decode("latin-1")).get("token", [""])[0]
        if not access.is_token(given.strip()):
            await asyncio.sleep(0.5)
            return FileResponse(STATIC / "login.html", 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, access.cookie, httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return answer

    app.mount("/assets", StaticFiles(directory=STATIC / "assets"))


def _is_foreign(request: Request) -> bool:
    """Whether a page of another origin makes a request that changes something."""
    origin = request.headers.get("origin")
    if origin is None or request.method in ("GET", "HEAD") or not request.url.path.startswith("/api/"):
        return False
    try:
        return urlsplit(origin).netloc != request.headers.get("host", "")
    except ValueError:
        return True


def _name(host: str) -> str:
    """
    >>> [_name(host) for host in ("localhost:8080", "127.0.0.1", "[::1]:80", "[", "")]
    ['localhost', '127.0.0.1', '::1', '', '']
    """
    return host[1:].split("]")[0] if host.startswith("[") else host.split(":")[0]


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(sha256(given.encode(errors="replace")).digest(), sha256(known.encode()).digest())
