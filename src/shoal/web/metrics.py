"""The figures of a stream in the form that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric

from shoal.telemetry import RUNNING, Telemetry

_LEFT = {"clustered": "cluster", "reused": "reuse", "suppressed": "suppressed"}
_SIZES = {
    "held": "Tuples that wait in the window.",
    "persons": "Different persons in the window.",
    "partitions": "Sets of quasi-identifiers that tuples in the window have.",
    "reusable": "Published groups that a later tuple may still wear.",
    "exposures": "Entries of users who exposed items, of a window or a little more.",
    "items": "Items that are counted.",
}


def registry(telemetry: Telemetry) -> CollectorRegistry:
    """A registry of this stream alone; nothing of the process or of other libraries is in it."""
    found = CollectorRegistry(auto_describe=False)
    found.register(_Collector(telemetry))
    return found


class _Collector:
    """Reads the telemetry whenever it is scraped."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        told = self._telemetry.snapshot(since=2**62, shown=2**62)
        yield from _stream(told)
        yield from _withheld(told) if told["policy"]["kind"] == "filter" else _groups(told)
        yield from _sizes(told)
        yield from _safety(told)


def _stream(told: dict[str, Any]) -> Iterator[Metric]:
    totals = told["totals"]
    yield _gauge("shoal_up", "1 while the pipeline runs.", float(told["state"] == RUNNING))
    yield CounterMetricFamily("shoal_received", "Records that came.", totals.get("received", 0))
    rejected = CounterMetricFamily("shoal_rejected", "Records that were not accepted, by reason.", labels=["reason"])
    for reason, number in told["reasons"].items():
        rejected.add_metric([reason], number)
    yield rejected


def _groups(told: dict[str, Any]) -> Iterator[Metric]:
    totals, policy = told["totals"], told["policy"]
    left = CounterMetricFamily("shoal_released", "Tuples that left, by how.", labels=["how"])
    for name, how in _LEFT.items():
        left.add_metric([how], totals.get(name, 0))
    yield left
    yield CounterMetricFamily("shoal_groups", "Groups that were published.", totals.get("groups", 0))
    yield CounterMetricFamily("shoal_stretched", "Tuples that waited longer, since few were there.", totals.get("stretched", 0))
    yield SummaryMetricFamily(
        "shoal_loss", "Loss of the tuples that left: 0 is as it came, 1 is all hidden.",
        count_value=totals.get("released", 0), sum_value=totals.get("lost", 0.0),
    )  # fmt: skip
    meaning = "Loss of the values lately shown, by attribute."
    attribute = GaugeMetricFamily("shoal_attribute_loss", meaning, labels=["attribute"])
    for each in told["attributes"]:
        if each["loss"] is not None:
            attribute.add_metric([each["name"]], each["loss"])
    yield attribute
    unit = "seconds" if policy["unit"] == "s" else "arrivals"
    yield _histogram(f"shoal_wait_{unit}", "How long tuples waited.", told["waits"])
    if policy["deadline"] is not None:
        yield _gauge(f"shoal_deadline_{unit}", "The longest that a tuple may wait.", policy["deadline"])
    yield _histogram("shoal_group_size", "Tuples of the groups that were published.", told["groups"])
    yield _gauge("shoal_k", "The persons that every group must have.", policy["k"])
    if told["smallest_group"] is not None:
        yield _gauge("shoal_smallest_group", "The fewest persons of any group so far.", told["smallest_group"])
    meaning = "What the door stopped, or let go late; none unless an algorithm is wrong."
    faults = CounterMetricFamily("shoal_faults", meaning, labels=["fault"])
    for fault, number in told["faults"].items():
        faults.add_metric([fault], number)
    yield faults


def _withheld(told: dict[str, Any]) -> Iterator[Metric]:
    totals = told["totals"]
    exact = totals.get("released", 0) - totals.get("generalized", 0)
    left = CounterMetricFamily("shoal_observations", "Observations that were decided, by how.", labels=["how"])
    for how, number in {"released": exact, **{name: totals.get(name, 0) for name in ("generalized", "withheld")}}.items():
        left.add_metric([how], number)
    yield left
    if told["z"] is not None:
        yield _gauge("shoal_z", "The users who must have exposed an item.", told["z"])
    if told["p_kanon"] is not None:
        yield _gauge("shoal_p_kanon", "How likely a user is k-anonymous, by the model.", told["p_kanon"])


def _sizes(told: dict[str, Any]) -> Iterator[Metric]:
    for name, size in told["sizes"].items():
        yield _gauge(f"shoal_{name}", _SIZES[name], size)


def _safety(told: dict[str, Any]) -> Iterator[Metric]:
    checkpoint = told["checkpoint"]
    if checkpoint:
        yield CounterMetricFamily("shoal_checkpoints", "Checkpoints that were written.", checkpoint["count"])
        yield _gauge("shoal_checkpoint_age_seconds", "Seconds since the last one.", checkpoint["age"])
        yield _gauge("shoal_checkpoint_duration_seconds", "Seconds that it took.", checkpoint["seconds"])
        yield _gauge("shoal_checkpoint_bytes", "Its size.", checkpoint["bytes"])
    if told["lag"] is not None:
        yield _gauge("shoal_source_lag", "Messages, or bytes of a file, that wait in the source.", told["lag"])


def _gauge(name: str, meaning: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, meaning, value)


def _histogram(name: str, meaning: str, spread: dict[str, Any]) -> HistogramMetricFamily:
    edges = [*(f"{edge:.10g}" for edge in spread["edges"]), "+Inf"]
    buckets = list(zip(edges, accumulate(spread["total"]), strict=True))
    return HistogramMetricFamily(name, meaning, buckets=buckets, sum_value=spread["sum"])
