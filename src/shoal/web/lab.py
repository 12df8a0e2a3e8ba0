"""The lab as an application: one path per button, each over one function of the lab."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import anyio.from_thread
from fastapi import Body, FastAPI, Path, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse
from starlette.concurrency import run_in_threadpool

from shoal.errors import PolicyError, ShoalError
from shoal.lab import WHOLE, Form, FormField, Lab, Long, Message, Reading, Role, Rule, Short, Superseded
from shoal.policy import all_windowed
from shoal.web.access import LOCKED, STATIC, Access, add_front, guard
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
_DOCUMENT = {**_TEXT, 404: {"description": "There is no such page."}}
_DOCUMENTS = STATIC.parent / "documents"
_BYTES = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}
_ALGORITHM = Annotated[str, Path(pattern=f"^({'|'.join(map(re.escape, all_windowed()))})$", max_length=80)]
_LEAST = Annotated[int, Body(ge=2, le=1000)]
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

    @app.get("/api/document/{page}", response_class=PlainTextResponse, responses=_DOCUMENT)
    def document(page: Annotated[str, Path(pattern="^[a-z][a-z-]*$", max_length=40)]) -> Response:
        """A page of the documents, as Markdown."""
        path = _DOCUMENTS / f"{page}.md"
        return FileResponse(path, media_type="text/plain") if path.is_file() else JSONResponse({"detail": "no such page"}, 404)

    @app.get("/api/session", responses=LOCKED)
    def session() -> dict[str, Any]:
        """What the page asked to keep; empty for a new sample."""
        return lab.session

    @app.post("/api/session", status_code=204, responses=_REFUSED)
    def keep(session: dict[str, Any]) -> None:
        """Keep what the page will need after a reload, in memory."""
        lab.keep(session)

    @app.post("/api/open", responses=_REFUSED, openapi_extra=_BYTES)
    async def open_policy(request: Request, name: Short) -> Form:
        """The form of an existing policy."""
        return await run_in_threadpool(lab.open_policy, await request.body(), name)

    @app.get("/api/draft", responses=_REFUSED)
    def draft() -> Form:
        """The initial form."""
        return lab.draft()

    @app.post("/api/propose", responses=_REFUSED)
    def propose(name: Annotated[Short, Body()], role: Annotated[Role, Body()]) -> FormField:
        """A field in another role."""
        return lab.propose(name, role)

    @app.post("/api/built", responses=_REFUSED)
    def built(name: Annotated[Short, Body()], rule: Annotated[Rule, Body()]) -> FormField:
        """A field with the hierarchy that a rule builds."""
        return lab.built(name, rule)

    @app.post("/api/written-out", response_class=PlainTextResponse, responses=_TEXT)
    def written_out(builder: Annotated[Long, Body(embed=True)]) -> str:
        """The tree of a builder, one label per line."""
        return lab.written_out(builder)

    @app.post("/api/lacking", responses=_REFUSED)
    def lacking(entry: FormField) -> dict[str, Any]:
        """The values of the sample that the hierarchy of a field lacks."""
        return lab.lacking(entry)

    @app.post("/api/blocks", responses=_REFUSED)
    def blocks(name: Annotated[Short, Body()], person: Annotated[Short, Body()], least: _LEAST) -> dict[str, Any]:
        """Blocks for a stable attribute, drafted from the sample."""
        return lab.blocks(name, person, least)


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

    @app.post("/api/columns", responses=_REFUSED)
    def columns(form: Form) -> list[dict[str, Any]]:
        """What each field holds, and how well it tells persons apart."""
        return lab.columns(form)

    @app.post("/api/variations", responses=_REFUSED)
    def variations(form: Form) -> list[dict[str, str]]:
        """The changes of the form that a sweep tries."""
        return lab.variations(form)

    @app.post("/api/point", responses=_REFUSED)
    def point(form: Form) -> dict[str, Any]:
        """A trial and its audit, as one dot of risk against loss."""
        return lab.point(form)

    @app.post("/api/across", responses=_REFUSED)
    def across(form: Form) -> list[dict[str, Any]]:
        """The attack on persons who come back, with exact values and as the policy says."""
        return lab.across(form)

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

    @app.post("/api/assessment", response_class=PlainTextResponse, responses=_TEXT)
    def assessment(form: Form) -> str:
        """The impact assessment, as a page of its own."""
        return lab.assessment(form)

    @app.post("/api/anonymized", response_class=PlainTextResponse, responses=_TEXT)
    def anonymized(form: Form) -> str:
        """What the policy makes of the sample, as CSV."""
        return lab.anonymized(form)

    @app.post("/api/calls", responses=_REFUSED)
    def calls(form: Form) -> dict[str, str]:
        """The commands and the Python code that do the same."""
        return lab.calls(form)
