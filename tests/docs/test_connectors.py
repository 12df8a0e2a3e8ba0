"""docs/connectors.md tells every connector and every key of its settings."""

from __future__ import annotations

import re

import pytest

from shoal.connectors.registry import SINKS, SOURCES, connector_class
from tests.docs.base import prose, read

PAGE = prose(read("docs/connectors.md"))
QUOTED = set(re.findall(r"[\w.-]+", " ".join(re.findall(r"`([^`]+)`", PAGE))))


@pytest.mark.parametrize("names", [SOURCES, SINKS])
def test_every_key_is_told(names: dict[str, str]) -> None:
    found = {key for name in names for key in (name, *connector_class(names, name).Settings.model_fields)}
    assert found - QUOTED == set()


@pytest.mark.parametrize("names", [SOURCES, SINKS])
def test_every_key_is_described(names: dict[str, str]) -> None:
    fields = {
        f"{name}.{key}": field for name in names for key, field in connector_class(names, name).Settings.model_fields.items()
    }
    assert [key for key, field in fields.items() if not field.description] == []
