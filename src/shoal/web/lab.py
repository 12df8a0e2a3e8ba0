"""The lab as an application: every button has a path here, and every path calls one function of the lab."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import anyio.from_thread
from fastapi import Body, FastAPI, Path, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.concurrency import run_in_threadpool

from shoal.errors import PolicyError, ShoalError
from shoal.lab import Entry, Lab, Message, Sheet, Superseded
from shoal.lab.sheet import Role, Short
from shoal.lab.upload import WHOLE
from shoal.policy.algorithm import WINDOWED
from shoal.web.frame import LOCKED, add_front, guard
from shoal.web.gate import Gate
from shoal.web.server import running

_LARGEST = 16 << 20  # bytes of a sheet
_REFUSED: dict[int | str, dict[str, Any]] = {
    **LOCKED,
    204: {"description": "Something newer was asked for."},
    400: {"description": "The file, or what the sheet says, cannot be used."},
    403: {"description": "Another page asks."},
    411: {"description": "The length of the body is not told."},
    413: {"description": "The body is too large."},
}
_TEXT: dict[int | str, dict[str, Any]] = {**_REFUSED, 200: {"content": {"text/plain": {}}}}
_BYTES = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}
_ALGORITHM = Annotated[str, Path(pattern=f"^({'|'.join(WINDOWED)})$", max_length=20)]
_SHARE = Annotated[float, Query(gt=0, lt=1)]


@contextmanager
def serve_lab(lab: Lab, host: str = "127.0.0.1", port: int = 8080, token: str | None = None) -> Iterator[str]:
    """Serve the lab while the body runs, and give its address; port 0 is any that is free.

    Raises
    ------
    InputError
        The port is taken, or the host is not loopback and there is no token.
    """
    with running(workbench(lab, token), host, port, token) as address:
        try:
            yield address
        finally:
            lab.rest()


def workbench(lab: Lab, token: str | None = None) -> FastAPI:
    """The application; with a token, only those who have it see anything."""
    gate = Gate(token)
    app = FastAPI(title="shoal lab", summary="Policies, tried on a sample.", docs_url=None, redoc_url=None)

    @app.middleware("http")
    async def bounded(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        if request.method == "POST" and request.url.path.startswith("/api/") and request.url.path != "/api/sample":
            length = request.headers.get("content-length", "")
            if not length.isdecimal() or "transfer-encoding" in request.headers:
                return JSONResponse({"detail": "the length of the body is missing"}, 411)
            if int(length) > _LARGEST:
                return JSONResponse({"detail": f"the sheet is larger than {_LARGEST >> 20} MB; shorten its hierarchies"}, 413)
        return await proceed(request)

    @app.exception_handler(ShoalError)
    async def refused(request: Request, error: Exception) -> JSONResponse:
        problems = list(error.problems) if isinstance(error, PolicyError) else [str(error)]
        return JSONResponse({"detail": " ".join(problems), "problems": problems}, 400)

    @app.exception_handler(Superseded)
    async def superseded(request: Request, error: Exception) -> Response:
        return Response(status_code=204)

    guard(app, gate)
    add_front(app, gate, "lab.html")
    _add_sample(app, lab)
    _add_trials(app, lab)
    _add_results(app, lab)
    return app


def _add_sample(app: FastAPI, lab: Lab) -> None:
    @app.get("/api/lab", responses=LOCKED)
    def state() -> dict[str, Any]:
        """The sample, if there is one, and what can be chosen from."""
        return lab.state()

    @app.post("/api/sample", responses=_REFUSED, openapi_extra=_BYTES)
    async def receive(request: Request, name: Short, complete: bool = True) -> dict[str, Any]:
        """Take over a file; `complete` is false where only its beginning is sent."""
        stream, size = request.stream(), 0

        async def following() -> bytes | None:
            nonlocal size
            async for chunk in stream:
                size += len(chunk)
                return chunk
            return None

        def chunks() -> Iterator[bytes]:
            while (chunk := anyio.from_thread.run(following)) is not None:
                yield chunk

        try:
            return await run_in_threadpool(lab.receive, name, chunks(), complete)
        finally:
            while size <= WHOLE and await following() is not None:
                pass  # so that who sends hears the answer

    @app.post("/api/hierarchy", response_class=PlainTextResponse, responses=_TEXT, openapi_extra=_BYTES)
    async def hierarchy(request: Request, name: Short) -> str:
        """The tree in a hierarchy's file."""
        return await run_in_threadpool(lab.hierarchy, await request.body(), name)

    @app.get("/api/draft", responses=_REFUSED)
    def draft() -> Sheet:
        """The sheet to begin with."""
        return lab.draft()

    @app.post("/api/propose", responses=_REFUSED)
    def propose(name: Annotated[Short, Body()], role: Annotated[Role, Body()]) -> Entry:
        """A field in another role."""
        return lab.propose(name, role)


def _add_trials(app: FastAPI, lab: Lab) -> None:
    @app.post("/api/check", responses=_REFUSED)
    def check(sheet: Sheet) -> list[Message]:
        """What is wrong, or unwise, and where."""
        return lab.check(sheet)

    @app.post("/api/trial", responses=_REFUSED)
    def trial(sheet: Sheet) -> dict[str, Any]:
        """What the policy does to the sample."""
        return lab.trial(sheet)

    @app.post("/api/risk", responses=_REFUSED)
    def risk(sheet: Sheet) -> dict[str, Any]:
        """Promises, and attacks with their success."""
        return lab.risk(sheet)

    @app.post("/api/compare/{algorithm}", responses=_REFUSED)
    def compare(algorithm: _ALGORITHM, sheet: Sheet) -> dict[str, Any]:
        """An algorithm under other windows and other k."""
        return lab.compare(sheet, algorithm)

    @app.post("/api/chances", responses=_REFUSED)
    def chances(sheet: Sheet, k: Annotated[int, Query(ge=2, le=1000)] = 2, confidence: _SHARE = 0.95) -> dict[str, Any]:
        """How likely users are k-anonymous under each z."""
        return lab.chances(sheet, k, confidence)


def _add_results(app: FastAPI, lab: Lab) -> None:
    @app.post("/api/policy", response_class=PlainTextResponse, responses=_TEXT)
    def policy(sheet: Sheet) -> str:
        """The policy, as YAML."""
        return lab.policy(sheet)

    @app.post("/api/save", responses=_REFUSED)
    def save(sheet: Sheet) -> dict[str, str]:
        """Write the policy where the lab was told to."""
        return {"saved": lab.save(sheet)}

    @app.post("/api/report", response_class=PlainTextResponse, responses=_TEXT)
    def report(sheet: Sheet) -> str:
        """The audit report, as a page of its own."""
        return lab.report(sheet)

    @app.post("/api/calls", responses=_REFUSED)
    def calls(sheet: Sheet) -> dict[str, str]:
        """The commands, and the Python, that do the same."""
        return lab.calls(sheet)
