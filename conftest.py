"""The tiers: how many examples a generated test draws, and which tests need a broker or a browser."""

from __future__ import annotations

from importlib.util import find_spec

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
SHARED = {"kafka_cluster", "registry"}  # servers that take seconds to start: one process runs all tests that share them


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that uses a broker, a browser or a measurement of every part, by its fixtures."""
    for item in items:
        for mark, fixtures in NEEDED.items():
            if fixtures & set(getattr(item, "fixturenames", ())):
                item.add_marker(mark)
        if SHARED & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group("kafka"))
