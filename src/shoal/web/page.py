"""The page and what it is made of, as an application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client.exposition import choose_encoder
from starlette.concurrency import run_in_threadpool

from shoal.pipeline.telemetry import RUNNING, STOPPED, Telemetry
from shoal.web.gate import COOKIE, OPEN, Gate
from shoal.web.metrics import registry

STATIC = Path(__file__).parent / "static"
EVERY = 0.25
"""Seconds from one event to the next."""

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
_MOST = 50  # who watch at a time
_PLACE = Annotated[int, Query(ge=0, le=2**53, description="the number of the first row that is wanted")]
_LOCKED: dict[int | str, dict[str, Any]] = {401: {"description": "The token is missing or wrong."}}
_TEXT: dict[int | str, dict[str, Any]] = {**_LOCKED, 200: {"content": {"text/plain": {}}}}
_STREAM: dict[int | str, dict[str, Any]] = {
    **_LOCKED, 200: {"content": {"text/event-stream": {}}}, 503: {"description": "Too many are watching."},
}  # fmt: skip


def page(telemetry: Telemetry, token: str | None = None, *, bare: bool = False) -> FastAPI:
    """The application; with a token, only those who have it see anything but whether the pipeline is well.

    A bare one has metrics and health, and no page.
    """
    gate = Gate(token)
    app = FastAPI(title="shoal", summary="A stream being protected, in figures.", docs_url=None, redoc_url=None)
    app.state.closing, app.state.watching = False, 0

    @app.middleware("http")
    async def guarded(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        if not gate.is_known_host(request):
            answer: Response = PlainTextResponse("this page is served on loopback; ask for it as localhost\n", 421)
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

    _add_metrics(app, telemetry)
    if not bare:
        _add_page(app, telemetry, gate)
    return app


def _add_page(app: FastAPI, telemetry: Telemetry, gate: Gate) -> None:
    @app.get("/", include_in_schema=False)
    async def index() -> FileResponse:
        return FileResponse(STATIC / "index.html")

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

    @app.get("/api/snapshot", responses=_LOCKED)
    def snapshot(since: _PLACE = 0, shown: _PLACE = 0) -> dict[str, Any]:
        """All figures; of the history and of the sample what comes from these numbers on."""
        return telemetry.snapshot(since, shown)

    @app.get("/api/events", response_class=StreamingResponse, responses=_STREAM)
    async def events() -> Response:
        """The same as events, several a second: the first holds the whole history, the next what is new."""
        if app.state.watching >= _MOST:
            return JSONResponse({"detail": f"{_MOST} are watching already; close one of them"}, 503)
        return StreamingResponse(_events(app, telemetry), media_type="text/event-stream")

    app.mount("/assets", StaticFiles(directory=STATIC / "assets"))


def _add_metrics(app: FastAPI, telemetry: Telemetry) -> None:
    metrics = registry(telemetry)

    @app.get("/metrics", response_class=PlainTextResponse, responses=_TEXT)
    def scrape(request: Request) -> Response:
        """The figures for Prometheus."""
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(metrics), media_type=kind)

    @app.get("/healthz", response_class=PlainTextResponse, responses={503: {"description": "The pipeline has stopped."}})
    async def healthz() -> PlainTextResponse:
        """Whether the process is well."""
        return _is_well(telemetry.state != STOPPED, telemetry.state)

    @app.get("/readyz", response_class=PlainTextResponse, responses={503: {"description": "It does not run, or not yet."}})
    async def readyz() -> PlainTextResponse:
        """Whether records are taken in."""
        return _is_well(telemetry.state == RUNNING, telemetry.state)


def _is_well(well: bool, state: str) -> PlainTextResponse:
    return PlainTextResponse(f"{state}\n", 200 if well else 503)


async def _events(app: FastAPI, telemetry: Telemetry) -> AsyncIterator[str]:
    """Snapshots until the server closes; each begins where the last one ended."""
    since = shown = 0
    app.state.watching += 1
    try:
        yield "retry: 1000\n\n"
        while True:
            closing = app.state.closing
            told = await run_in_threadpool(telemetry.snapshot, since, shown)
            since = told["history"]["first"] + len(told["history"]["rows"])
            shown = told["sample"]["first"] + len(told["sample"]["rows"])
            yield f"data: {json.dumps(told, separators=(',', ':'), allow_nan=False)}\n\n"
            if closing:
                return
            await asyncio.sleep(EVERY)
    finally:
        app.state.watching -= 1
