"""Sets in the twins, by hand."""

from __future__ import annotations

from shoal.conformance.naive.domains import Sets
from shoal.conformance.naive.measures import Doubtful, Reading, covers, distance, generalize, loss
from shoal.conformance.naive.rows import Row

PATHS = {
    "Canal": ("Canal", "South", "City"), "Meadow": ("Meadow", "South", "City"),
    "Hill": ("Hill", "North", "City"), "Dock": ("Dock", "North", "City"), "Mill": ("Mill", "North", "City"),
}  # fmt: skip


def rows(*values: str | None) -> list[Row]:
    return [Row(i, i, i, (value,), (), None) for i, value in enumerate(values)]


def shown(sets: Sets, *values: str | None, match: str = "maybe", min_support: int = 1) -> object:
    return generalize([sets], rows(*values), Reading(match, min_support))[0]


def test_a_group_shows_the_values_of_its_members() -> None:
    assert shown(Sets(PATHS), "Canal", "Mill", "Canal") == {"Canal", "Mill"}
    assert shown(Sets(PATHS), "Canal", "Canal") == {"Canal"}


def test_beyond_most_the_lowest_node() -> None:
    assert shown(Sets(PATHS, most=2), "Hill", "Dock") == {"Hill", "Dock"}
    assert shown(Sets(PATHS, most=2), "Hill", "Dock", "Mill") == {"North"}
    assert shown(Sets(PATHS, most=2), "Hill", "Dock", "Canal") == {"City"}


def test_a_value_of_too_few_persons_is_shown_as_a_node_above_it() -> None:
    sets = Sets(PATHS, min_support=2)
    assert shown(sets, "Canal", "Canal", "Mill", "Mill") == {"Canal", "Mill"}
    assert shown(sets, "Canal", "Canal", "Mill", "Dock") == {"Canal", "North"}
    assert shown(sets, "Canal", "Meadow", "Canal") == {"South"}
    assert shown(sets, "Canal", "Mill") == {"City"}
    assert shown(Sets(PATHS, most=2, min_support=2), *["Canal", "Hill", "Dock"] * 2) == {"City"}


def test_in_doubt_and_the_root() -> None:
    assert shown(Sets(PATHS), "Canal", "Mill", None, match="blurred") == Doubtful(frozenset(["Canal", "Mill"]))
    assert shown(Sets(PATHS), "Canal", "Mill", None, match="extended") is None


def test_losses_count_leaves() -> None:
    sets, (t,) = Sets(PATHS), rows("Canal")
    labels = [["Canal"], ["Canal", "Mill"], ["Canal", "North"], ["South"], ["City"]]
    assert [loss([sets], t, (frozenset(each),)) for each in labels] == [0.0, 0.25, 0.75, 0.25, 1.0]


def test_two_different_values_are_equally_far_apart() -> None:
    canal, meadow, mill = rows("Canal", "Meadow", "Mill")
    assert distance([Sets(PATHS)], canal, meadow) == distance([Sets(PATHS)], canal, mill) == 0.25
    assert distance([Sets(PATHS)], canal, canal) == 0.0


def test_a_set_covers_its_values_alone() -> None:
    sets, group = [Sets(PATHS)], (frozenset(["Canal", "North"]),)
    assert [covers(sets, group, t) for t in rows("Canal", "Meadow", "Dock")] == [True, False, True]
