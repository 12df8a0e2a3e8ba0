"""The command as a user runs it, and a small stream to run it on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import shoal

POLICY = """
person: pid
attributes:
  age:     {quasi: numeric, range: [0, 100], grid: 5}
  city:    {quasi: categorical, hierarchy: {World: {France: [Paris, Lyon], Norway: [Oslo]}}}
  disease: {sensitive: true}
privacy: {k: 3}
window: {count: 20}
algorithm: {name: fads}
"""
COMMAND = [sys.executable, "-m", "shoal.cli"]
ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if key != "SHOAL_TRACEBACK"},
    "PYTHONPATH": str(Path(shoal.__file__).parents[1]),
    "COLUMNS": "80",
}


def record(number: int, **changes: Any) -> dict[str, Any]:
    """One of many records that the policy accepts."""
    city = ("Paris", "Lyon", "Oslo", None)[number % 4]
    return {"pid": number % 17, "age": number * 7 % 100, "city": city, "disease": f"d{number % 3}", **changes}


def write(path: Path, records: list[dict[str, Any] | str]) -> Path:
    """A file of JSON lines; texts are written as they are."""
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in records))
    return path


def shoal_run(*arguments: str, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with pipes for its streams."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, input=stdin, capture_output=True, text=True, env=ENVIRONMENT, timeout=300
    )


def files(folder: Path) -> set[str]:
    """The names of all files, hidden ones included."""
    return {path.name for path in folder.iterdir()}


Shoal = Callable[..., subprocess.CompletedProcess[str]]
