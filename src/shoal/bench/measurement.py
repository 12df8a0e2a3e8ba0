"""A whole measurement: the parts that are asked for, one after the other, on one core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from os import PathLike

from shoal.bench.machine import load, machine, one_core
from shoal.bench.report import PARTS, Report
from shoal.bench.session import Progress, Session
from shoal.bench.settings import FULL, Settings, contenders
from shoal.errors import InputError

DEFAULT = ("speed", "files", "threads")


def measure(
    parts: Sequence[str] = DEFAULT,
    *,
    algorithms: Sequence[str] | None = None,
    data: str | PathLike[str] | None = None,
    settings: Settings = FULL,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Report:
    """Measure some parts, one after the other.

    Parameters
    ----------
    parts
        Names of `PARTS`, whose modules say what they measure.
    algorithms
        Those to measure; all by default. `files` and `audit` take only the first, which by default is FADS.
    data
        The folder that holds `adult`, and for losses `informs` and `pm25`; by default SHOAL_DATA, or `data`.
    settings
        How much is measured.
    on_progress
        Called before each step.

    Raises
    ------
    InputError
        The data is absent, or a part or an algorithm is unknown.
    """
    asked = chosen(parts)
    session = Session(data, settings, contenders(algorithms), on_progress)
    on_adult = asked != ["zanon"]
    if on_adult:
        session.adult  # noqa: B018 - refuses before anything is measured
    with one_core() as session.cores:
        found = machine()
        session.part = "kernels"
        if on_adult:
            session.warm_up()
        for part in asked:
            session.part = part
            session.results[part] = PARTS[part].measure(session)
        found["load"] += load()
    parameters = {
        **asdict(settings),
        "algorithms": [asdict(contender) for contender in session.contenders],
        "parts": list(asked),
    }
    return Report(found, parameters, {part: session.results[part] for part in PARTS if part in asked})


def chosen(parts: Sequence[str]) -> list[str]:
    """The parts in the order of their measurement; the twins go first, since the speeds tell their ratio.

    >>> chosen(["speed", "twins"])
    ['twins', 'speed']

    Raises
    ------
    InputError
        There is no such part.
    """
    for part in parts:
        if part not in PARTS:
            raise InputError(f"part {part!r} is none; known are {', '.join(PARTS)} and all")
    return sorted(dict.fromkeys(parts), key=lambda part: (part != "twins", list(PARTS).index(part)))
