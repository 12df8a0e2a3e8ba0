"""Hierarchies that come with the package: countries, education, occupation."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from shoal.errors import PolicyError

READY: dict[str, tuple[str, ...]] = {
    "countries": ("name", "alpha-2", "alpha-3"),
    "education": ("name", "code"),
    "occupation": ("name", "code"),
}
"""Each with the ways in which its leaves can be written; the first is the usual one."""


def ready(written: Mapping[str, Any]) -> list[list[str]]:
    """The lines of one of them.

    >>> ready({"ready": "countries", "by": "alpha-2"})[0]
    ['DZ', 'Northern Africa', 'Africa', 'World']

    Raises
    ------
    PolicyError
        There is no such one.
    """
    name, unknown = written["ready"], [key for key in written if key not in ("ready", "by")]
    if name not in READY:
        raise PolicyError([f"ready: there is no such one; known are {', '.join(READY)}"])
    if unknown:
        raise PolicyError([f"{key}: unknown key of a ready hierarchy; known are ready, by" for key in unknown])
    ways = READY[name]
    by = written.get("by", ways[0])
    if by not in ways:
        raise PolicyError([f"by: is not a way in which {name} are written; use {' or '.join(ways)}"])
    text = files("shoal.hierarchies").joinpath("ready", f"{name}.csv").read_text(encoding="utf-8")
    rows = csv.reader(text.splitlines()[1:], delimiter=";")
    return [[row[ways.index(by)], *filter(None, row[len(ways) :])] for row in rows]
