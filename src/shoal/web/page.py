"""The live page and its metrics of Prometheus, as an application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import accumulate
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, SummaryMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from starlette.concurrency import run_in_threadpool

from shoal.telemetry import RUNNING, STOPPED, Telemetry
from shoal.web.access import LOCKED, STATIC, Access, add_front, guard

_LEFT = {"clustered": "cluster", "reused": "reuse", "suppressed": "suppressed"}
_MONITORING = STATIC.parent / "monitoring"
_LEVELS = {"info": 0, "amber": 1, "red": 2}
_SIZES = {
    "held": "Tuples that wait in the window.",
    "persons": "Different persons in the window.",
    "partitions": "Sets of quasi-identifiers that tuples in the window have.",
    "reusable": "Published groups that a later tuple may still use.",
    "exposures": "Entries of users who exposed items, of a window or a little more.",
    "items": "Items that are counted.",
}


def registry(telemetry: Telemetry) -> CollectorRegistry:
    """A registry of this stream alone, without metrics of the process or of other libraries."""
    found = CollectorRegistry(auto_describe=False)
    found.register(_Collector(telemetry))
    return found


class _Collector:
    """Reads the telemetry at each scrape."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        figures = self._telemetry.snapshot(since=2**62, shown=2**62)
        yield from _stream(figures)
        yield from _withheld(figures) if figures["policy"]["kind"] == "filter" else _groups(figures)
        yield from _sizes(figures)
        yield from _safety(figures)
        yield from _process(figures)


def _stream(figures: dict[str, Any]) -> Iterator[Metric]:
    totals = figures["totals"]
    yield _gauge("shoal_up", "1 while the pipeline runs.", float(figures["state"] == RUNNING))
    yield CounterMetricFamily("shoal_received", "Records that came.", totals.get("received", 0))
    rejected = CounterMetricFamily("shoal_rejected", "Records that were not accepted, by reason.", labels=["reason"])
    for reason, number in figures["reasons"].items():
        rejected.add_metric([reason], number)
    yield rejected


def _groups(figures: dict[str, Any]) -> Iterator[Metric]:
    totals, policy = figures["totals"], figures["policy"]
    left = CounterMetricFamily("shoal_released", "Tuples that left, by outcome.", labels=["how"])
    for name, how in _LEFT.items():
        left.add_metric([how], totals.get(name, 0))
    yield left
    yield CounterMetricFamily("shoal_groups", "Groups that were published.", totals.get("groups", 0))
    yield CounterMetricFamily("shoal_stretched", "Tuples that waited longer, since few were there.", totals.get("stretched", 0))
    yield CounterMetricFamily("shoal_over_budget", "Records beyond the budget of releases.", totals.get("over_budget", 0))
    yield SummaryMetricFamily(
        "shoal_loss", "Loss of the released tuples: 0 is exact, 1 is all hidden.",
        count_value=totals.get("released", 0), sum_value=totals.get("lost", 0.0),
    )  # fmt: skip
    meaning = "Loss of the values lately shown, by attribute."
    attribute = GaugeMetricFamily("shoal_attribute_loss", meaning, labels=["attribute"])
    for each in figures["attributes"]:
        if each["loss"] is not None:
            attribute.add_metric([each["name"]], each["loss"])
    yield attribute
    unit = "seconds" if policy["unit"] == "s" else "arrivals"
    yield _histogram(f"shoal_wait_{unit}", "How long tuples waited.", figures["waits"])
    yield _histogram("shoal_wall_wait_seconds", "How long tuples waited by the clock of the machine.", figures["wall"])
    if figures["wall"]["longest"] is not None:
        meaning = "The longest wait of the last minute by the clock of the machine."
        yield _gauge("shoal_wall_longest_wait_seconds", meaning, figures["wall"]["longest"])
    if figures["wall"]["deadline"] is not None:
        meaning = "How much longer than the deadline a tuple may wait by the clock of the machine."
        yield _gauge("shoal_wall_tolerance_seconds", meaning, figures["wall"]["tolerance"])
    if policy["deadline"] is not None:
        yield _gauge(f"shoal_deadline_{unit}", "The longest that a tuple may wait.", policy["deadline"])
    yield _histogram("shoal_group_size", "Tuples of the groups that were published.", figures["groups"])
    yield _gauge("shoal_k", "The persons that every group must have.", policy["k"])
    if figures["smallest_group"] is not None:
        yield _gauge("shoal_smallest_group", "The fewest persons of any group so far.", figures["smallest_group"])
    meaning = "Releases that the door stopped, or that came late; none unless an algorithm is faulty."
    faults = CounterMetricFamily("shoal_faults", meaning, labels=["fault"])
    for fault, number in figures["faults"].items():
        faults.add_metric([fault], number)
    yield faults


def _withheld(figures: dict[str, Any]) -> Iterator[Metric]:
    totals = figures["totals"]
    exact = totals.get("released", 0) - totals.get("generalized", 0)
    left = CounterMetricFamily("shoal_observations", "Observations that were decided, by how.", labels=["how"])
    for how, number in {"released": exact, **{name: totals.get(name, 0) for name in ("generalized", "withheld")}}.items():
        left.add_metric([how], number)
    yield left
    if figures["z"] is not None:
        yield _gauge("shoal_z", "The users who must have exposed an item.", figures["z"])
    if figures["p_kanon"] is not None:
        yield _gauge("shoal_p_kanon", "How likely a user is k-anonymous, by the model.", figures["p_kanon"])


def _sizes(figures: dict[str, Any]) -> Iterator[Metric]:
    for name, size in figures["sizes"].items():
        yield _gauge(f"shoal_{name}", _SIZES[name], size)


def _safety(figures: dict[str, Any]) -> Iterator[Metric]:
    checkpoint = figures["checkpoint"]
    if checkpoint:
        yield CounterMetricFamily("shoal_checkpoints", "Checkpoints that were written.", checkpoint["count"])
        yield _gauge("shoal_checkpoint_age_seconds", "Seconds since the last one.", checkpoint["age"])
        yield _gauge("shoal_checkpoint_duration_seconds", "Seconds that it took.", checkpoint["seconds"])
        yield _gauge("shoal_checkpoint_bytes", "Its size.", checkpoint["bytes"])
    if figures["lag"] is not None:
        yield _gauge("shoal_source_lag", "Messages, or bytes of a file, that wait in the source.", figures["lag"])


def _process(figures: dict[str, Any]) -> Iterator[Metric]:
    """What it costs, and what it waits for."""
    yield CounterMetricFamily("process_cpu_seconds", "Seconds of processor time.", figures["cpu_seconds"])
    yield _gauge("process_resident_memory_bytes", "Memory of the process.", figures["memory"])
    linked = GaugeMetricFamily("shoal_connected", "1 while there is a connection, where that is known.", labels=["link"])
    for name, is_connected in figures["links"].items():
        if is_connected is not None:
            linked.add_metric([name], float(is_connected))
    yield linked
    shares = GaugeMetricFamily(
        "shoal_waiting_share", "The part of the last ten seconds that was spent waiting.", labels=["for"]
    )
    for name, share in figures["shares"].items():
        if share is not None:
            shares.add_metric([name], share)
    yield shares
    checks = GaugeMetricFamily("shoal_check", "What is looked at: 0 is fine, 1 amber, 2 red.", labels=["check"])
    for name, check in figures["checks"].items():
        checks.add_metric([name], _LEVELS[check["level"]])
    yield checks


def _gauge(name: str, meaning: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, meaning, value)


def _histogram(name: str, meaning: str, counts: dict[str, Any]) -> HistogramMetricFamily:
    edges = [*(f"{edge:.10g}" for edge in counts["edges"]), "+Inf"]
    buckets = list(zip(edges, accumulate(counts["total"]), strict=True))
    return HistogramMetricFamily(name, meaning, buckets=buckets, sum_value=counts["sum"])


Shoal = Callable[[int], dict[str, Any]]

EVERY = 0.25  # seconds from one event to the next
_MOST = 50  # open event streams
_PLACE = Annotated[int, Query(ge=0, le=2**53, description="the number of the first row that is wanted")]
_TEXT: dict[int | str, dict[str, Any]] = {**LOCKED, 200: {"content": {"text/plain": {}}}}
_STREAM: dict[int | str, dict[str, Any]] = {
    **LOCKED, 200: {"content": {"text/event-stream": {}}}, 503: {"description": "Too many are watching."},
}  # fmt: skip


def page(telemetry: Telemetry, token: str | None = None, *, bare: bool = False, shoal: Shoal | None = None) -> FastAPI:
    """The application. With a token, requests need it for everything but the health checks.

    A bare application has metrics and health checks, and no page. Only with a generated stream, `shoal` gives some of its
    records as they came, beside their groups.
    """
    access = Access(token)
    app = FastAPI(title="shoal", summary="A stream being protected, in figures.", docs_url=None, redoc_url=None)
    app.state.closing, app.state.watching = False, 0

    guard(app, access, bare=bare)
    _add_metrics(app, telemetry)
    if not bare:
        _add_page(app, telemetry, access, shoal)
    return app


def _add_page(app: FastAPI, telemetry: Telemetry, access: Access, shoal: Shoal | None) -> None:
    add_front(app, access, "index.html")

    @app.get("/api/snapshot", responses=LOCKED)
    def snapshot(since: _PLACE = 0, shown: _PLACE = 0, logged: _PLACE = 0) -> dict[str, Any]:
        """All figures; of the history and of the sample the rows from these numbers on; the log unless it has this version."""
        return telemetry.snapshot(since, shown, logged)

    @app.get("/api/history", responses=LOCKED)
    def history(span: Literal["hour", "day"]) -> dict[str, Any]:
        """The last hour or day, in rows of several seconds."""
        return telemetry.span(span)

    @app.get("/grafana.json", response_class=FileResponse, responses=LOCKED)
    async def board() -> FileResponse:
        """A board for Grafana."""
        return FileResponse(_MONITORING / "grafana.json", media_type="application/json", filename="shoal-grafana.json")

    @app.get("/alerts.yaml", response_class=FileResponse, responses=LOCKED)
    async def alerts() -> FileResponse:
        """Alert rules for Prometheus."""
        return FileResponse(_MONITORING / "alerts.yaml", media_type="application/yaml", filename="shoal-alerts.yaml")

    if shoal:

        @app.get("/api/shoal", responses=LOCKED)
        def groups(since: _PLACE = 0) -> dict[str, Any]:
            """Generated records and the groups that they left in, from this number on."""
            return shoal(since)

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
    since = shown = logged = 0
    app.state.watching += 1
    try:
        yield "retry: 1000\n\n"
        while True:
            closing = app.state.closing
            figures = await run_in_threadpool(telemetry.snapshot, since, shown, logged)
            since = figures["history"]["first"] + len(figures["history"]["rows"])
            shown = figures["sample"]["first"] + len(figures["sample"]["rows"])
            logged = figures["log"]["version"]
            yield f"data: {json.dumps(figures, separators=(',', ':'), allow_nan=False)}\n\n"
            if closing:
                return
            await asyncio.sleep(EVERY)
    finally:
        app.state.watching -= 1
