"""Hierarchies in files: one line a leaf, from the leaf to the root, `;` between, as ARX writes them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from shoal.errors import PolicyError
from shoal.policy.branches import Branches
from shoal.policy.hierarchy import Hierarchy


def load(name: str, folder: Path) -> Hierarchy:
    """The hierarchy of a file inside the policy's folder.

    Raises
    ------
    PolicyError
        The file lies elsewhere, cannot be read, or holds no tree.
    """
    return parse(_read(name, folder), name)


def values(name: str, folder: Path) -> list[str]:
    """The values in a file inside the policy's folder, one a line.

    Raises
    ------
    PolicyError
        The file lies elsewhere or cannot be read.
    """
    return [line.strip() for line in decode(_read(name, folder), name).splitlines() if line.strip()]


def parse(data: bytes, name: str) -> Hierarchy:
    """The hierarchy of a file's bytes; `name` is what messages call it."""
    branches = Branches()
    rows = csv.reader(io.StringIO(decode(data, name), newline=""), delimiter=";", strict=True)
    try:
        for row in rows:
            if row and not (len(row) == 1 and row[0].isspace()):
                branches.add(row, f"line {rows.line_num}")
            if branches.full:
                break
    except csv.Error:
        problem = f"line {rows.line_num}: its quotes do not match; double a quote inside quotes"
        raise PolicyError([f"{name}, {problem}"]) from None
    if not branches.parent and not branches.problems:
        raise PolicyError([f"{name} is empty; write one line a leaf, leaf first, root last, ';' between"])
    branches.check(f"{name}, ")
    return Hierarchy.grow(branches)


def _read(name: str, folder: Path) -> bytes:
    try:
        path, home = (folder / name).resolve(), folder.resolve()
        if Path(name).is_absolute() or not path.is_relative_to(home):
            raise PolicyError([f"{name} lies outside the policy's folder; move it inside and name it from there"])
        if path.is_file() or not path.exists():
            return path.read_bytes()
        problem = "is not a file; name a file"
    except FileNotFoundError:
        problem = "does not exist in the policy's folder; add it or correct the name"
    except (OSError, ValueError, RuntimeError):
        problem = "cannot be read; check that it is a file and its permissions"
    raise PolicyError([f"{name} {problem}"])


def decode(data: bytes, name: str) -> str:
    """The text of a file's bytes; `name` is what messages call it."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PolicyError([f"{name}, line {line}: is not UTF-8; save the file as UTF-8"]) from None
