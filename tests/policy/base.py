"""A policy that is right, and how to say what is wrong with a changed one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from shoal.errors import PolicyError
from shoal.policy import Policy

RIGHT: dict[str, Any] = {
    "person": "pid",
    "attributes": {
        "age": {"quasi": "numeric", "range": [17, 90], "grid": 5},
        "city": {"quasi": "categorical", "hierarchy": {"World": {"France": ["Paris", "Lyon"], "Norway": "Oslo"}}},
        "disease": {"sensitive": True},
        "note": {"publish": "keep"},
    },
    "privacy": {"k": 50},
    "window": {"count": 2000},
    "algorithm": {"name": "idea"},
}


def changed(**sections: Any) -> dict[str, Any]:
    """The right policy with other sections; None removes one."""
    written = {**deepcopy(RIGHT), **sections}
    return {key: value for key, value in written.items() if value is not None}


def with_attribute(**attribute: Any) -> dict[str, Any]:
    """The right policy with one more attribute, called `x`."""
    return changed(attributes={**RIGHT["attributes"], "x": attribute})


def problems(written: Any, folder: Any = None) -> list[str]:
    """Everything that is said to be wrong."""
    with pytest.raises(PolicyError) as caught:
        Policy.parse(written, folder)
    return list(caught.value.problems)
