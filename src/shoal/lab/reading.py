"""How a CSV file is written, set by hand where it was not found out rightly."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from shoal.formats import Detected, detected


class Reading(BaseModel):
    """What is known about the form of a file; None: it is found out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    separator: Literal[",", ";", "\t", "|"] | None = None
    encoding: Literal["utf-8", "utf-16", "cp1252", "latin-1"] | None = None
    decimal: Literal[".", ","] | None = None
    thousands: Literal["", ",", ".", " ", "'"] | None = None

    def of(self, path: Path) -> Detected:
        """How a file is written. Raises InputError if it cannot be so."""
        found = detected(str(path), self.separator, self.encoding)
        marks = {"decimal": self.decimal, "thousands": self.thousands}
        given = {name: mark for name, mark in marks.items() if mark is not None}
        return found._replace(marks=found.marks._replace(**given), doubt="" if given else found.doubt)


FOUND = Reading()
