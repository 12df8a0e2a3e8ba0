"""The connectors by name. A module is loaded when its name is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

SOURCES = {
    "file": "file.FileSource",
    "stdin": "stdio.StdinSource",
}
SINKS = {
    "file": "file.FileSink",
    "stdout": "stdio.StdoutSink",
}


def connector(names: dict[str, str], name: str) -> Any:
    """The class of a source or a sink; its `Settings` are what a pipeline's file says under its name.

    >>> connector(SINKS, "file").remembers
    True
    """
    module, _, found = names[name].partition(".")
    return getattr(import_module(f"shoal.connectors.{module}"), found)
