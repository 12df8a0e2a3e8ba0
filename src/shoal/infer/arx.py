"""Projects of ARX: an archive with XML files that say what was set, and hierarchies as CSV files.

Only the parts that ARX writes as text are read, neither the data in the archive nor its Java objects. Nothing is unpacked to
disk.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from typing import NamedTuple
from xml.etree import ElementTree

from shoal.errors import InputError, PolicyError
from shoal.policy import Hierarchy

LARGEST = 64 << 20  # the most bytes of a part of the archive

ROLES = {
    "QUASI_IDENTIFYING_ATTRIBUTE": "quasi",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "kept",
    "IDENTIFYING_ATTRIBUTE": "identifying",
}
_FOR = r" for attribute '(?P<attribute>.*)'"
_CRITERIA = {
    "k": re.compile(r"(?P<value>\d+)-anonymity"),
    "distinct": re.compile(rf"distinct-(?P<value>\d+)-diversity{_FOR}"),
    "entropy": re.compile(rf"(?:shannon-)?entropy-(?P<value>\d+(?:\.\d+)?)-diversity{_FOR}"),
    "recursive": re.compile(rf"recursive-\((?P<c>\d+(?:\.\d+)?),(?P<value>\d+)\)-diversity{_FOR}"),
    "t": re.compile(rf"(?P<value>\d+(?:\.\d+)?)-closeness with (?:equal|hierarchical|ordered)[ \w-]*{_FOR}"),
}


class Attribute(NamedTuple):
    """An attribute of the project."""

    name: str
    role: str
    datatype: str
    hierarchy: Hierarchy | None
    broken: bool  # whether it has a hierarchy that is no tree
    limited: bool  # whether some of its levels are forbidden
    aggregated: bool


class Criterion(NamedTuple):
    """A privacy model; `kind` is empty if it is not known."""

    kind: str
    value: float
    c: float
    text: str


class Project(NamedTuple):
    """What a project says."""

    attributes: list[Attribute]
    criteria: list[Criterion]
    outliers: str  # the part of the records that may be suppressed, as it is written
    weighted: bool


def project(path: str) -> Project:
    """The settings of a project file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _project(path, archive)
    except FileNotFoundError:
        raise InputError(f"{path}: does not exist; correct the path") from None
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise InputError(f"{path}: is no archive as ARX writes it, or a damaged one; save the project again") from None


def _project(path: str, archive: zipfile.ZipFile) -> Project:
    definition = _xml(path, archive, "input/definition.xml")
    config = _xml(path, archive, "input/config.xml")
    if definition is None or config is None:
        raise InputError(f"{path}: has no input/definition.xml and input/config.xml; give a project that was saved by ARX")
    settings = _xml(path, archive, "project.xml")
    separator = (settings.findtext("separator") if settings is not None else None) or ";"
    criteria = [_criterion((each.text or "").strip()) for each in config.iterfind("criteria/criterion")]
    return Project(
        [_attribute(path, archive, each, separator[:1]) for each in definition.iterfind("assigment")],
        criteria,
        (config.findtext("relativeMaxOutliers") or "").strip(),
        config.find("attributeWeights/attributeWeight") is not None,
    )


def _attribute(path: str, archive: zipfile.ZipFile, each: ElementTree.Element, separator: str) -> Attribute:
    def text_of(key: str) -> str:
        return (each.findtext(key) or "").strip()

    hierarchy, broken = None, False
    if text_of("ref"):
        data = _part(path, archive, f"input/{text_of('ref')}")
        try:
            hierarchy = None if data is None else _tree(_decoded(data), separator)
        except (PolicyError, csv.Error):
            broken = True
    return Attribute(
        text_of("name"), ROLES.get(text_of("type"), "identifying"), text_of("datatype"), hierarchy, broken,
        limited=any(text_of(end) not in ("", "All") for end in ("min", "max")),
        aggregated=each.find("microAggregationFunction") is not None,
    )  # fmt: skip


def _tree(text: str, separator: str) -> Hierarchy:
    """The hierarchy of a file; if its lines end with different labels, under `*`, which ARX shows for a suppressed value."""
    lines = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    if len({line[-1] for line in lines}) > 1:
        lines = [[*line, "*"] for line in lines]
    return Hierarchy.of(lines)


def _criterion(text: str) -> Criterion:
    """A privacy model by its text.

    >>> _criterion("5-anonymity")[:2], _criterion("recursive-(4.0,3)-diversity for attribute 'ill'")[:3]
    (('k', 5.0), ('recursive', 3.0, 4.0))
    >>> _criterion("0.2-closeness with hierarchical ground-distance for attribute 'ill'")[:2], _criterion("(1.0, 0.1)-DP")[0]
    (('t', 0.2), '')
    """
    for kind, pattern in _CRITERIA.items():
        found = pattern.fullmatch(text)
        if found:
            return Criterion(kind, float(found["value"]), float(found.groupdict().get("c") or 0), text)
    return Criterion("", 0, 0, text)


def _xml(path: str, archive: zipfile.ZipFile, name: str) -> ElementTree.Element | None:
    data = _part(path, archive, name)
    if data is None:
        return None
    text = _decoded(data)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(f"{path}: {name} declares entities, which ARX does not; it is not read")
    try:
        return ElementTree.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    except ElementTree.ParseError:
        raise InputError(f"{path}: {name} is no XML; save the project again") from None


def _part(path: str, archive: zipfile.ZipFile, name: str) -> bytes | None:
    try:
        part = archive.getinfo(name)
    except KeyError:
        return None
    if part.file_size <= LARGEST:
        with archive.open(part) as file:
            data = file.read(LARGEST + 1)
        if len(data) <= LARGEST:
            return data
    raise InputError(f"{path}: a part of it is larger than {LARGEST >> 20} MB; it is not read")


def _decoded(data: bytes) -> str:
    """ARX writes in whatever encoding its machine has."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
