"""The live page and its metrics, as an application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from prometheus_client.exposition import choose_encoder
from starlette.concurrency import run_in_threadpool

from shoal.telemetry import RUNNING, STOPPED, Telemetry
from shoal.web.access import LOCKED, Access, add_front, guard
from shoal.web.metrics import registry

EVERY = 0.25  # seconds from one event to the next
_MOST = 50  # open event streams
_PLACE = Annotated[int, Query(ge=0, le=2**53, description="the number of the first row that is wanted")]
_TEXT: dict[int | str, dict[str, Any]] = {**LOCKED, 200: {"content": {"text/plain": {}}}}
_STREAM: dict[int | str, dict[str, Any]] = {
    **LOCKED, 200: {"content": {"text/event-stream": {}}}, 503: {"description": "Too many are watching."},
}  # fmt: skip


def page(telemetry: Telemetry, token: str | None = None, *, bare: bool = False) -> FastAPI:
    """The application. With a token, requests need it for everything but the health checks.

    A bare application has metrics and health checks, and no page.
    """
    access = Access(token)
    app = FastAPI(title="shoal", summary="A stream being protected, in figures.", docs_url=None, redoc_url=None)
    app.state.closing, app.state.watching = False, 0

    guard(app, access, bare=bare)
    _add_metrics(app, telemetry)
    if not bare:
        _add_page(app, telemetry, access)
    return app


def _add_page(app: FastAPI, telemetry: Telemetry, access: Access) -> None:
    add_front(app, access, "index.html")

    @app.get("/api/snapshot", responses=LOCKED)
    def snapshot(since: _PLACE = 0, shown: _PLACE = 0) -> dict[str, Any]:
        """All figures; of the history and of the sample the rows from these numbers on."""
        return telemetry.snapshot(since, shown)

    @app.get("/api/events", response_class=StreamingResponse, responses=_STREAM)
    async def events() -> Response:
        """The same as events, several per second: the first holds the whole history, the next ones only new rows."""
        if app.state.watching >= _MOST:
            return JSONResponse({"detail": f"{_MOST} are watching already; close one of them"}, 503)
        return StreamingResponse(_events(app, telemetry), media_type="text/event-stream")


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
    """Snapshots until the server closes; each begins where the previous one ended."""
    since = shown = 0
    app.state.watching += 1
    try:
        yield "retry: 1000\n\n"
        while True:
            closing = app.state.closing
            figures = await run_in_threadpool(telemetry.snapshot, since, shown)
            since = figures["history"]["first"] + len(figures["history"]["rows"])
            shown = figures["sample"]["first"] + len(figures["sample"]["rows"])
            yield f"data: {json.dumps(figures, separators=(',', ':'), allow_nan=False)}\n\n"
            if closing:
                return
            await asyncio.sleep(EVERY)
    finally:
        app.state.watching -= 1
