"""The lab as an application: one path per button, each over one function of the lab."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import anyio.from_thread
from fastapi import Body, FastAPI, Path, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.concurrency import run_in_threadpool

from shoal.errors import PolicyError, ShoalError
from shoal.lab import WHOLE, Form, FormField, Lab, Message, Reading, Role, Short, Superseded
from shoal.policy import WINDOWED
from shoal.web.access import LOCKED, Access, add_front, guard
from shoal.web.server import running

_LARGEST = 16 << 20  # bytes of a form
_REFUSED: dict[int | str, dict[str, Any]] = {
    **LOCKED,
    204: {"description": "A newer request replaced this one."},
    400: {"description": "The file or the form cannot be used."},
    403: {"description": "The request comes from another page."},
    411: {"description": "The length of the body is missing."},
    413: {"description": "The body is too large."},
}
_TEXT: dict[int | str, dict[str, Any]] = {**_REFUSED, 200: {"content": {"text/plain": {}}}}
_BYTES = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}
_ALGORITHM = Annotated[str, Path(pattern=f"^({'|'.join(WINDOWED)})$", max_length=20)]
_SHARE = Annotated[float, Query(gt=0, lt=1)]


@contextmanager
def serve_lab(lab: Lab, host: str = "127.0.0.1", port: int = 8080, token: str | None = None) -> Iterator[str]:
    """Serve the lab while the body runs; yields its address. Port 0 is any free one.

    Raises InputError if the port is taken, or the host is not loopback and there is no token.
    """
    with running(lab_app(lab, token), host, port, token) as address:
        try:
            yield address
        finally:
            lab.stop()


def lab_app(lab: Lab, token: str | None = None) -> FastAPI:
    """The application; with a token, all requests need it."""
    access = Access(token)
    app = FastAPI(title="shoal lab", summary="Policies, tried on a sample.", docs_url=None, redoc_url=None)

    @app.middleware("http")
    async def bounded(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        if request.method == "POST" and request.url.path.startswith("/api/") and request.url.path != "/api/sample":
            length = request.headers.get("content-length", "")
            if not length.isdecimal() or "transfer-encoding" in request.headers:
                return JSONResponse({"detail": "the length of the body is missing"}, 411)
            if int(length) > _LARGEST:
                return JSONResponse({"detail": f"the form is larger than {_LARGEST >> 20} MB; shorten its hierarchies"}, 413)
        return await proceed(request)

    @app.exception_handler(ShoalError)
    async def refused(request: Request, error: Exception) -> JSONResponse:
        problems = list(error.problems) if isinstance(error, PolicyError) else [str(error)]
        return JSONResponse({"detail": " ".join(problems), "problems": problems}, 400)

    @app.exception_handler(Superseded)
    async def superseded(request: Request, error: Exception) -> Response:
        return Response(status_code=204)

    guard(app, access)
    add_front(app, access, "lab.html")
    _add_sample(app, lab)
    _add_trials(app, lab)
    _add_results(app, lab)
    return app


def _add_sample(app: FastAPI, lab: Lab) -> None:
    @app.get("/api/lab", responses=LOCKED)
    def state() -> dict[str, Any]:
        """The sample, if any, and the possible choices."""
        return lab.state()

    @app.post("/api/sample", responses=_REFUSED, openapi_extra=_BYTES)
    async def receive(request: Request, name: Short, complete: bool = True) -> dict[str, Any]:
        """Take a file; `complete` is false if only its beginning is sent."""
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
                pass  # read on, so that the sender receives the answer

    @app.post("/api/reading", responses=_REFUSED)
    def reading(given: Reading) -> dict[str, Any]:
        """Read the file anew, written in this way."""
        return lab.read_as(given)

    @app.post("/api/hierarchy", response_class=PlainTextResponse, responses=_TEXT, openapi_extra=_BYTES)
    async def hierarchy(request: Request, name: Short) -> str:
        """The tree in a hierarchy's file."""
        return await run_in_threadpool(lab.hierarchy, await request.body(), name)

    @app.get("/api/draft", responses=_REFUSED)
    def draft() -> Form:
        """The initial form."""
        return lab.draft()

    @app.post("/api/propose", responses=_REFUSED)
    def propose(name: Annotated[Short, Body()], role: Annotated[Role, Body()]) -> FormField:
        """A field in another role."""
        return lab.propose(name, role)


def _add_trials(app: FastAPI, lab: Lab) -> None:
    @app.post("/api/check", responses=_REFUSED)
    def check(form: Form) -> list[Message]:
        """Problems and warnings, and where."""
        return lab.check(form)

    @app.post("/api/trial", responses=_REFUSED)
    def trial(form: Form) -> dict[str, Any]:
        """What the policy does to the sample."""
        return lab.trial(form)

    @app.post("/api/risk", responses=_REFUSED)
    def risk(form: Form) -> dict[str, Any]:
        """Promises, and attacks with their success."""
        return lab.risk(form)

    @app.post("/api/compare/{algorithm}", responses=_REFUSED)
    def compare(algorithm: _ALGORITHM, form: Form) -> dict[str, Any]:
        """An algorithm under other windows and other k."""
        return lab.compare(form, algorithm)

    @app.post("/api/chances", responses=_REFUSED)
    def probabilities(form: Form, k: Annotated[int, Query(ge=2, le=1000)] = 2, confidence: _SHARE = 0.95) -> dict[str, Any]:
        """The probability that users are k-anonymous, for each z."""
        return lab.probabilities(form, k, confidence)


def _add_results(app: FastAPI, lab: Lab) -> None:
    @app.post("/api/policy", response_class=PlainTextResponse, responses=_TEXT)
    def policy(form: Form) -> str:
        """The policy, as YAML."""
        return lab.policy(form)

    @app.post("/api/save", responses=_REFUSED)
    def save(form: Form) -> dict[str, str]:
        """Write the policy to the file given to the lab."""
        return {"saved": lab.save(form)}

    @app.post("/api/report", response_class=PlainTextResponse, responses=_TEXT)
    def report(form: Form) -> str:
        """The audit report, as a page of its own."""
        return lab.report(form)

    @app.post("/api/calls", responses=_REFUSED)
    def calls(form: Form) -> dict[str, str]:
        """The commands and the Python code that do the same."""
        return lab.calls(form)
