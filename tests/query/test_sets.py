"""Questions about categories that are published as sets."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.errors import InputError
from shoal.policy import Policy
from shoal.query import Condition, Published, between, missing, one_of

POLICY = Policy.parse(
    {
        "attributes": {
            "home": {
                "quasi": "categorical",
                "hierarchy": {"City": {"South": ["Canal", "Meadow"], "North": ["Hill", "Dock"]}},
                "generalize": "set",
            }
        },
        "person": "none",
        "privacy": {"k": 2},
        "window": {"count": 4},
    }
)
SETS = [["Canal"], ["Canal", "Hill"], ["Canal", "North"], ["South", None], ["Hill", "Dock"], None]


def test_sets_have_bounds_and_an_estimate() -> None:
    for kind in (pa.list_(pa.string()), pa.list_(pa.dictionary(pa.int32(), pa.string()))):
        homes = Published(pa.table({"home": pa.array(SETS, kind)}), POLICY)
        assert homes.count(one_of("home", "Canal")) == (1, 1 + 1 / 2 + 1 / 3 + 1 / 4, 4)
        assert homes.count(one_of("home", "South")) == (1, 1 + 1 / 2 + 1 / 3 + 1 / 2, 4)
        assert homes.count(one_of("home", "North")) == (1, 1 / 2 + 2 / 3 + 1, 3)
        assert homes.count(missing("home")) == (1, 1.5, 2)


def test_sets_are_joined_by_their_leaves() -> None:
    homes = Published(pa.table({"home": pa.array(SETS[:4])}), POLICY)
    shops = Published(pa.table({"home": ["Canal", "Hill"]}))
    assert homes.pairs(shops, "home") == pytest.approx((1, (1 + 1 / 2 + 1 / 3 + 1 / 4) + (1 / 2 + 1 / 3), 6))


def test_the_smallest_class_of_sets_leaves_out_rows_that_show_nothing() -> None:
    alike = [["Canal", "Hill"]] * 3 + [["South"], ["South"], ["City"], None]
    assert Published(pa.table({"home": pa.array(alike)}), POLICY).smallest_class("home") == 2


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (between("home", 1, 2), "home: holds labels, and no numbers; ask with one_of"),
        (one_of("age", 3), "age: holds intervals of numbers; ask with between"),
        (one_of("ages", 3), "ages: is not a column of the table; choose among home, age"),
    ],
)
def test_a_question_that_does_not_fit_its_column(asked: Condition, message: str) -> None:
    people = Published(pa.table({"home": pa.array(SETS[:2]), "age": [{"lo": 1, "hi": 2}] * 2}))
    with pytest.raises(InputError, match=f"^{message}$"):
        people.count(asked)
