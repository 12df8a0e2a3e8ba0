from __future__ import annotations

import math
from typing import Any

import pytest

from policy.base import changed
from shoal.policy import Policy, Reuse, Window
from shoal.policy.algorithm import KNOWN, NAMES, Castle, Fads, Fast, Idea, Iot, Kvarp, Parameters, Tide, Xband, Zanon

WORKERS = "hold 300 tuples each, too many for the deadline; use at most 6, or a longer deadline"
FEWEST = "hold 50 tuples each, too many for the deadline; use at most 40, or a longer deadline"
COUNT, TIME, BUFFER = Window(count=2000), Window(time=30), Window(buffer=1000)


def resolved(parameters: Parameters, window: Window, k: int = 50) -> dict[str, Any]:
    assert list(parameters.problems(k, window)) == []
    return parameters.resolved(k, window).model_dump()


def test_the_known_ones() -> None:
    assert list(KNOWN) == [Fads, Iot, Kvarp, Idea, Xband, Castle, Fast, Tide, Zanon]
    assert list(NAMES) == ["fads", "iot", "kvarp", "idea", "xband", "castle", "fast", "tide", "zanon"]


@pytest.mark.parametrize(
    ("parameters", "defaults"),
    [
        (Fads(name="fads"), {"reuse_age": "length", "reuse_limit": 1000, "reuse_loss": math.inf}),
        (Iot(name="iot"), {"reuse_age": "length", "reuse_limit": 1000, "reuse_loss": math.inf}),
        (
            Kvarp(name="kvarp"),
            {"reuse_age": "length", "reuse_limit": 1000, "reuse_loss": math.inf, "radius": 0.2},
        ),
        (Idea(name="idea"), {"reuse_age": math.inf, "reuse_limit": 200, "reuse_loss": 0.5}),
        (
            Xband(name="xband"),
            {"reuse_age": "length", "reuse_limit": 1000, "reuse_loss": math.inf, "band": 4, "alpha": 1.0},
        ),
        (
            Castle(name="castle"),
            {"reuse_age": math.inf, "reuse_limit": 200, "reuse_loss": math.inf, "clusters": 50, "recent": 100},
        ),
    ],
)
@pytest.mark.parametrize("window", [COUNT, TIME, BUFFER])
def test_defaults(parameters: Parameters, defaults: dict[str, Any], window: Window) -> None:
    expected = {key: window.length if value == "length" else value for key, value in defaults.items()}
    assert resolved(parameters, window) == {"name": parameters.name, **expected}


@pytest.mark.parametrize("window", [COUNT, TIME, BUFFER])
def test_tide(window: Window) -> None:
    expected = {"name": "tide", "reuse_age": 2 * window.length, "reuse_limit": 1000, "reuse_loss": math.inf}
    assert resolved(Tide(name="tide"), window) == {**expected, "effort": "quick"}
    assert resolved(Tide(name="tide", effort="thorough"), window) == {**expected, "effort": "thorough"}


def test_fast() -> None:
    expected = {"name": "fast", "reuse_limit": 1000, "reuse_loss": math.inf, "workers": 1}
    assert resolved(Fast(name="fast"), COUNT) == {**expected, "round": 300, "deadline": 2000.0, "reuse_age": 6000.0}
    assert resolved(Fast(name="fast"), Window(count=100)) == {
        **expected,
        "round": 100,
        "deadline": 100.0,
        "reuse_age": 2000.0,
    }
    assert resolved(Fast(name="fast", workers=8), COUNT)["round"] == 250
    assert resolved(Fast(name="fast", workers=40), COUNT)["round"] == 50
    assert resolved(Fast(name="fast", workers=8, reuse_age=1), TIME)["round"] == 300
    assert resolved(Fast(name="fast", round=60, deadline=80), COUNT) == {
        **expected,
        "round": 60,
        "deadline": 80.0,
        "reuse_age": 1200.0,
    }
    assert resolved(Fast.model_validate({"name": "fast", "reuse_age": "1m"}), TIME) == {
        **expected,
        "round": 300,
        "deadline": 30.0,
        "reuse_age": 60.0,
    }


@pytest.mark.parametrize(
    ("parameters", "window", "problems"),
    [
        (Fast(name="fast", workers=40), COUNT, []),
        (Fast(name="fast", workers=41), COUNT, [("workers", FEWEST)]),
        (Fast(name="fast", round=300, workers=6), COUNT, []),
        (Fast(name="fast", round=300, workers=7), COUNT, [("workers", WORKERS)]),
        (Fast(name="fast", workers=41, reuse_age=1), TIME, []),
        (
            Fast(name="fast"),
            TIME,
            [("reuse_age", "is missing; give it as a duration, because the window counts seconds")],
        ),
        (Fast(name="fast", round=49), COUNT, [("round", "is below k=50: no group could ever fill; use at least 50")]),
        (Fast(name="fast", round=2001), COUNT, [("round", "is above the deadline; use at most 2000")]),
        (
            Fast(name="fast", deadline=40),
            COUNT,
            [("deadline", "is below k=50: no group could ever fill; use at least 50")],
        ),
        (
            Fast.model_validate({"name": "fast", "deadline": "60s"}),
            COUNT,
            [("deadline", "is a duration, but a count window counts arrivals; give a number of arrivals")],
        ),
        (Fast(name="fast", reuse_age=1, deadline=0), TIME, [("deadline", "is not above 0; use a longer time")]),
    ],
)
def test_what_fast_refuses(parameters: Fast, window: Window, problems: list[tuple[str, str]]) -> None:
    assert list(parameters.problems(50, window)) == problems


@pytest.mark.parametrize(
    ("sections", "reuse"),
    [
        ({"algorithm": {"name": "fads"}}, Reuse(2000.0, 1000, math.inf)),
        ({"algorithm": {"name": "fads", "reuse_age": 0}}, Reuse(0.0, 1000, math.inf)),
        ({"algorithm": {"name": "kvarp", "reuse_age": 7.5, "reuse_loss": 0.25}}, Reuse(7.5, 1000, 0.25)),
        ({"algorithm": {"name": "idea"}}, Reuse(math.inf, 200, 0.5)),
        ({"algorithm": {"name": "idea", "reuse_age": 10, "reuse_limit": 0}}, Reuse(10.0, 0, 0.5)),
        ({"algorithm": {"name": "fads"}, "window": {"buffer": 60}}, Reuse(60.0, 1000, math.inf)),
        (
            {"algorithm": {"name": "fads"}, "window": {"time": "1m"}, "time": {"field": "t"}},
            Reuse(60.0, 1000, math.inf),
        ),
        (
            {"algorithm": {"name": "idea", "reuse_age": "2h"}, "window": {"time": "1m"}, "time": {"field": "t"}},
            Reuse(7200.0, 200, 0.5),
        ),
        (
            {"algorithm": {"name": "idea", "reuse_age": 90}, "window": {"time": "1m"}, "time": {"field": "t"}},
            Reuse(90.0, 200, 0.5),
        ),
    ],
)
def test_what_is_reused(sections: dict[str, Any], reuse: Reuse) -> None:
    policy = Policy.parse(changed(**sections))
    assert policy.reuse == reuse
    assert type(policy.reuse.age) is float
    assert policy.algorithm.reuse_age == reuse.age


@pytest.mark.parametrize(("written", "effort"), [(None, "quick"), ({}, "quick"), ({"effort": "thorough"}, "thorough")])
def test_where_none_is_named_it_is_tide(written: dict[str, str] | None, effort: str) -> None:
    policy = Policy.parse(changed(algorithm=written))
    assert isinstance(policy.algorithm, Tide)
    assert policy.algorithm.effort == effort
    assert policy.reuse.age == 2 * policy.window.length
