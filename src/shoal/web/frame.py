"""What every page has: a guarded door, headers that forbid what is foreign, and its files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from shoal.web.gate import COOKIE, OPEN, Gate

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
_LONGEST = 1024  # bytes of a form


def guard(app: FastAPI, gate: Gate, *, bare: bool = False) -> None:
    """Let through whom the gate admits, and put the headers on every answer; a bare one has no page to log in at."""

    @app.middleware("http")
    async def guarded(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        if not gate.is_known_host(request):
            answer: Response = PlainTextResponse("this page is served on loopback; ask for it as localhost\n", 421)
        elif _is_foreign(request):
            answer = JSONResponse({"detail": "the request comes from another page"}, 403)
        elif request.url.path in OPEN or gate.admits(request):
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


def add_front(app: FastAPI, gate: Gate, entry: str) -> None:
    """The page itself, what it is made of, and the way in."""

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
        if not gate.opens(given.strip()):
            await asyncio.sleep(0.5)
            return FileResponse(STATIC / "login.html", 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, gate.cookie, httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return answer

    app.mount("/assets", StaticFiles(directory=STATIC / "assets"))


def _is_foreign(request: Request) -> bool:
    """Whether a page of another origin asks for something to be done."""
    origin = request.headers.get("origin")
    if origin is None or request.method in ("GET", "HEAD") or not request.url.path.startswith("/api/"):
        return False
    try:
        return urlsplit(origin).netloc != request.headers.get("host", "")
    except ValueError:
        return True
