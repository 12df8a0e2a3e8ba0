"""What `shoal check` says, with the place on the sheet that each line concerns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel

from shoal.lab.sheet import Sheet

_SECTION = re.compile(
    r"(person|person_missing|time|nulls|item|privacy|window|algorithm|more|attributes|weights|sparse)\b[.]?(\w*)"
)
_KEY = re.compile(r"(\w+)\b")


class Message(BaseModel):
    """A problem or a warning, and where it belongs: to a field of the records, or to a part of the policy.

    What `stops` is wrong with the policy itself; other problems are with the data, which a run would report, and go on.
    """

    kind: Literal["problem", "warning"]
    text: str
    field: str = ""
    part: str = ""
    stops: bool = False


def placed(kind: Literal["problem", "warning"], lines: Iterable[str], sheet: Sheet, stops: bool = False) -> list[Message]:
    """
    >>> from shoal.lab.sheet import Entry
    >>> sheet = Sheet(fields=[Entry(name="a"), Entry(name="a.b")])
    >>> for line in ("attributes.a.b.range: is missing", "'a', 3 of 9 rows, first row 0: no number", "privacy.k: is below 1"):
    ...     found = placed("problem", [line], sheet)[0]
    ...     print([found.field, found.part])
    ['a.b', 'range']
    ['a', '']
    ['', 'privacy.k']
    """
    return [Message(kind=kind, text=line, stops=stops, **_place(line, sheet)) for line in lines]


def _place(line: str, sheet: Sheet) -> dict[str, Any]:
    for name in sorted((entry.name for entry in sheet.fields), key=len, reverse=True):
        for start in (f"attributes.{name}", f"weights.{name}"):
            if line.startswith((f"{start}:", f"{start}.")):
                key = _KEY.match(line, len(start) + 1)
                return {"field": name, "part": key[1] if line[len(start)] == "." and key else ""}
        if line.startswith((f"'{name}':", f"'{name}',")):
            return {"field": name}
    found = _SECTION.match(line)
    return {"part": ".".join(filter(None, found.groups()))} if found else {}
