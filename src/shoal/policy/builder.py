"""Hierarchies that a policy does not write out but names: a builder with its settings, or one that is ready."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import PolicyError
from shoal.hierarchies import build
from shoal.policy import hierarchy_file
from shoal.policy.hierarchy import Hierarchy


def grown(written: Mapping[Any, Any], folder: Path | None) -> Hierarchy:
    """The hierarchy; its leaves are those of the range or the values, never learned from the data.

    >>> grown({"builder": "dates", "range": ["2024-01-31", "2024-02-01"], "levels": ["month"]}, None).lines()
    [['2024-01-31', '2024-01', 'any'], ['2024-02-01', '2024-02', 'any']]

    Raises
    ------
    PolicyError
        The settings, or the file that they name, cannot be used.
    """
    file = written.get("values")
    if isinstance(file, str):
        if folder is None:
            raise PolicyError(["values: is a file, but the policy has no folder; give a folder, or list the values"])
        written = {**written, "values": hierarchy_file.values(file, folder)}
    return Hierarchy.of(build(written))
