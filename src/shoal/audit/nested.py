"""Outputs whose fields lie inside each other, flat again: by the paths of the policy, and by nothing else."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from shoal.audit.block import opened
from shoal.policy import Policy

LINES = (".jsonl", ".ndjson")


@contextmanager
def flat(policy: Policy, source: Any) -> Iterator[Any]:
    """The output, or a copy of JSON lines in which each published field stands under its whole path."""
    if policy.nesting == "flat" or not isinstance(source, str | PathLike) or not _is_lines(fspath(source)):
        yield source
        return
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "output.jsonl")
        with opened(fspath(source)) as lines, target.open("wb") as out:
            for line in lines:
                out.write(_flat_line(line, policy.published))
        yield target


def _is_lines(path: str) -> bool:
    name = Path(path.lower())
    return name.suffix in LINES or name.with_suffix("").suffix in LINES


def _flat_line(line: bytes, names: Sequence[str]) -> bytes:
    r"""A line with published fields under their paths. What the policy does not publish stays where it is, to be found.

    >>> _flat_line(b'{"a": {"b": [1, 2], "c": 3}, "d": 4}', ["a.b", "d"])
    b'{"a.b": [1, 2], "d": 4, "a": {"c": 3}}\n'
    """
    try:
        record = json.loads(line)
    except ValueError:
        return line
    if not isinstance(record, dict):
        return line
    found = {name: taken for name in names if (taken := _taken(record, name.split("."))) is not _NOTHING}
    return json.dumps({**found, **record}, ensure_ascii=False).encode() + b"\n"


_NOTHING = object()


def _taken(record: dict[str, Any], steps: Sequence[str]) -> Any:
    """Remove a value from a record, and objects that are empty then."""
    first, *rest = steps
    if first not in record:
        return _NOTHING
    if not rest:
        return record.pop(first)
    if not isinstance(record[first], dict):
        return _NOTHING
    found = _taken(record[first], rest)
    if not record[first]:
        del record[first]
    return found
