from __future__ import annotations

import math
from typing import Any

import pytest

from shoal.config import read_yaml
from shoal.errors import PolicyError
from shoal.policy import Policy


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[no, yes, on, off, y, n]", ["no", "yes", "on", "off", "y", "n"]),
        ("[true, False, TRUE]", [True, False, True]),
        ("[01234, 0, 12, -3, +4]", ["01234", 0, 12, -3, 4]),
        ("[1.5, .5, 1e3, -2., 1.0e-2]", [1.5, 0.5, 1000.0, -2.0, 0.01]),
        ("[12:30:00, 2020-01-02, 1_000, 0x10, 0o7]", ["12:30:00", "2020-01-02", "1_000", "0x10", "0o7"]),
        ("[null, ~, '', 'null']", [None, None, "", "null"]),
        ("a:\nb: ", {"a": None, "b": None}),
        ("[.inf, -.inf]", [math.inf, -math.inf]),
        ("{a: &a {x: 1, y: 2}, b: {<<: *a, y: 3}}", {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}}),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    read = read_yaml(text)
    assert read == value
    assert repr(read) == repr(value)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "person: a\nwindow: {count: 5, count: 6}\nperson: b\n",
            [
                "line 2: the key 'count' appears twice; keep one",
                "line 3: the key 'person' appears twice; keep one",
            ],
        ),
        (
            "{1: [a], true: [b], 0.0: [c], false: [d]}",
            ["line 1: the key 'true' appears twice; keep one", "line 1: the key 'false' appears twice; keep one"],
        ),
        (
            "person: [",
            ["line 1: is not YAML (expected the node content, but found '<stream end>'); correct it, or quote what is text"],
        ),
        (
            "a: 1\nb: *\n",
            [
                "line 2: is not YAML (expected alphabetic or numeric character, but found '\\n'); "
                "correct it, or quote what is text"
            ],
        ),
        (
            "a: !!python/object:os.system x",
            [
                "line 1: is not YAML (could not determine a constructor for the tag "
                "'tag:yaml.org,2002:python/object:os.system'); correct it, or quote what is text"
            ],
        ),
        ("a: \x01", ["the policy is not YAML; save it as plain UTF-8 text"]),
        ("a: !!int x", ["the policy is not YAML; save it as plain UTF-8 text"]),
        ("[" * 3000, ["the policy is nested too deeply; flatten it"]),
        ("", ["the policy is not a mapping; write it as key: value pairs"]),
        ("- person", ["the policy is not a mapping; write it as key: value pairs"]),
    ],
)
def test_what_is_refused(text: str, problems: list[str]) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.parse(text)
    assert list(caught.value.problems) == problems
    assert str(caught.value) == "\n".join(problems)
