"""Defects as data: one file per area, one entry per defect."""

from __future__ import annotations

import shlex
import tomllib
import zlib
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent


class Misplaced(Exception):
    """The snippet of a defect is not in its file exactly once."""


class Defect(NamedTuple):
    """A snippet of a file, and what stands in its place when the defect is planted."""

    area: str
    name: str
    wrong: str  # what is wrong, in words, so that it can be planted again after the code has changed
    file: str
    before: str
    after: str
    tests: str  # what pytest is given first: files, -k …
    missed: bool = False  # known: no test notices it

    def planted(self, text: str) -> str:
        """The file's text with the defect.

        Raises
        ------
        Misplaced
            The snippet is not there, or there more than once.

        >>> Defect("door", "k", "too few", "a.py", "n >= k", "n > k", "tests").planted("return n >= k")
        'return n > k'
        """
        times = text.count(self.before)
        if times != 1:
            raise Misplaced(f"{self.name}: its snippet is {times} times in {self.file}, not once; plant it again: {self.wrong}")
        return text.replace(self.before, self.after)

    @property
    def number(self) -> int:
        """By which it is known among others; not 0."""
        return zlib.crc32(self.name.encode())

    @property
    def hint(self) -> list[str]:
        """The arguments of pytest for the tests that should notice."""
        return shlex.split(self.tests)


def defects() -> list[Defect]:
    """All of them, area by area."""
    return [
        Defect(path.stem, **entry)
        for path in sorted(FOLDER.glob("*.toml"))
        for entry in tomllib.loads(path.read_text())["defect"]
    ]


def chosen(names: list[str]) -> list[Defect]:
    """Those with these names or of these areas, in this order; all if none is named."""
    known = defects()
    strange = set(names) - {defect.name for defect in known} - {defect.area for defect in known}
    if strange:
        raise SystemExit(f"no defect and no area is called {', '.join(sorted(strange))}")
    asked = [[defect for defect in known if name in (defect.name, defect.area)] for name in names]
    return [defect for some in asked for defect in some] if names else known
