"""For transaction streams: how likely users are k-anonymous under each z, by the model and in the sample."""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticCustomError

from shoal.errors import InputError
from shoal.files import read_events
from shoal.lab.sample import Sample, named
from shoal.lab.sheet import Sheet
from shoal.lab.writing import number
from shoal.model import plan
from shoal.policy.scalar import span

ROWS = 200_000
"""Observations that are looked at; more than a trial takes, since a window must fill."""


def chances(sheet: Sheet, sample: Sample, k: int = 2, confidence: float = 0.95) -> dict[str, Any]:
    """A row for each z: the `probability` by the model, what was `measured`, and what is `kept`; and the least z that does.

    Raises
    ------
    InputError, ModelError
        A field is not named, or the window is longer than the sample.
    """
    for name, what in ((sheet.person, "person"), (sheet.time, "time"), (sheet.item, "item")):
        if not name:
            raise InputError(f"{what}: is not named; choose the field, since the curves need user, item and time")
    try:
        window = span(number(sheet.span))
    except PydanticCustomError:
        raise InputError("algorithm.window: not a duration; write it like 30s, 5m, 2h, 1d") from None
    with named(sample.path, sample.name):
        events = read_events(str(sample.path), sheet.person, [sheet.item], sheet.time, ROWS)
    found = plan(events.time, events.user, events.item, k=k, confidence=confidence, windows=[window])
    only = found.windows[0]
    rows = [
        {"z": row.z, "probability": row.probability, "measured": row.measured, "kept": row.kept, "silent": row.silent}
        for row in only.rows
    ]
    return {
        "k": k, "confidence": confidence, "window": window, "observations": found.observations, "users": only.users,
        "items": only.items, "rows": rows, "best": only.best.z, "met": only.best.meets(confidence),
    }  # fmt: skip
