"""The tiers: how many examples a generated test draws, which tests need a broker or a browser, and which share a process."""

from __future__ import annotations

import gc
from importlib.util import find_spec
from typing import Any

import pytest

collect_ignore_glob = (
    []
    if find_spec("pyspark")
    else ["src/shoal/spark/*", *(f"tests/spark/{name}.py" for name in ("by_hand", "jars", "topic_query"))]
)

if find_spec("hypothesis"):  # the environment of Spark does without
    from hypothesis import HealthCheck, settings

    for tier, number in (("ci", 30), ("check", 50), ("test", 75), ("long", 300)):
        settings.register_profile(
            tier, max_examples=number, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True,
            derandomize=tier != "long",
        )  # fmt: skip
    settings.load_profile("check")  # unless --hypothesis-profile names another

NEEDED = {
    "broker": {"nats_program", "mosquitto_program", "kafka_program", "postgres_program", "registry_program"},
    "browser": {"browser"},
    "long": {"measured"},
}
KAFKA = ("test_debezium", "test_kafka", "test_kafka_topics", "test_registry")
TOGETHER = {
    **{f"tests/connectors/{name}.py": "kafka" for name in KAFKA},
    **{
        f"tests/{name}.py": name
        for name in (
            "bench/test_compare", "connectors/test_mqtt", "connectors/test_nats", "connectors/test_object_store",
            "connectors/test_postgres_source", "connectors/test_rolling", "connectors/test_tables", "docs/test_querying_sets",
            "experiments/test_reproduce", "model/test_tuner", "outside/test_example", "query/test_page", "web/test_browser",
            "web/test_lab",
        )
    },
}  # fmt: skip
"""Tests that share what takes seconds to make, such as a server: one process runs the whole file. They begin first."""
SHARED = {"kafka_cluster", "registry", "postgres_server", "s3_address", "browser"}
"""Fixtures that only these files use, so that no other process makes them again."""

gc.set_threshold(50_000, 20, 100)  # with Python's own thresholds, looking for garbage takes much of the time


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that uses a broker, a browser or a measurement of every part, by its fixtures."""
    for item in items:
        used = set(getattr(item, "fixturenames", ()))
        for mark, fixtures in NEEDED.items():
            if fixtures & used:
                item.add_marker(mark)
        if SHARED & used and scope(item.nodeid) == item.nodeid and "long" not in item.keywords:
            raise pytest.UsageError(f"{item.nodeid} uses {', '.join(SHARED & used)}: name its file in TOGETHER of conftest.py")


def pytest_runtest_setup() -> None:
    """What was loaded before is left out when Python looks for garbage. A pipeline undoes that when it ends."""
    if not gc.get_freeze_count():
        gc.collect(1)
        gc.freeze()


def scope(nodeid: str) -> str:
    """Tests of one scope run in one process."""
    return TOGETHER.get(nodeid.partition("::")[0], nodeid)


_crashed: list[Any] = []


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    if error:
        _crashed.append(node)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """After a crash, xdist leaves tests out: such a run has another status than one with failed tests."""
    if _crashed:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """xdist's own groups are marks, which it writes into the names of tests; pytest 9.2 does not let it."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope(nodeid)

    return Together(config, log)
