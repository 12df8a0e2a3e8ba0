"""What was judged, by whom, when and with what: so that a report can be signed, and checked against the files later."""

from __future__ import annotations

import getpass
import hashlib
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from os import PathLike, fspath
from pathlib import Path

from shoal.audit.files import Source
from shoal.audit.manifest import Span
from shoal.errors import InputError

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Judged:
    """One file that was judged; of a table in memory, no size and no digest."""

    role: str
    name: str  # without its folder
    bytes: int | None
    sha256: str | None


@dataclass(frozen=True)
class Record:
    """Who judged which files, when, and by which version."""

    made: str  # UTC, as ISO 8601 writes it
    by: str
    versions: Mapping[str, str]
    files: tuple[Judged, ...]


def recorded(files: Mapping[str, object], by: str | None = None, span: Span | None = None) -> Record:
    """The record of an audit of these files, by role; one that is None is left out."""
    given = {role: source for role, source in files.items() if source is not None}
    found = tuple(each for role, source in given.items() for each in _judged(role, source, span))
    return Record(datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), by or _user(), _versions(), found)


def _judged(role: str, source: Source | object, span: Span | None) -> Iterator[Judged]:
    if not isinstance(source, str | PathLike):
        yield Judged(role, "a table in memory", None, None)
        return
    path = Path(fspath(source))
    for one in span.files(path) if role == "trace" and span else [path]:
        digest, size = hashlib.sha256(), 0
        try:
            with one.open("rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
                    size += len(piece)
        except OSError:
            raise InputError(f"{one}: cannot be read; check that it is a file and its permissions") from None
        yield Judged(role, one.name, size, digest.hexdigest())


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return UNKNOWN


def _versions() -> Mapping[str, str]:
    packages = {"shoal": "shoal-stream", "numpy": "numpy", "pyarrow": "pyarrow"}
    return {**{name: _version(package) for name, package in packages.items()}, "Python": platform.python_version()}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return UNKNOWN
