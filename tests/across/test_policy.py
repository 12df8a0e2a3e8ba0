"""Policies of stable attributes: what is understood, and what is refused in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shoal import Policy
from shoal.errors import PolicyError
from tests.across.stream import BLOCKS, policy

BLOCK = {"stable": True, "as": "block"}


def problems(illness: dict[str, Any], **more: Any) -> tuple[str, ...]:
    with pytest.raises(PolicyError) as error:
        policy(illness, **more)
    return error.value.problems


def test_blocks_by_lists_names_and_a_hierarchy() -> None:
    plain = policy({**BLOCK, "blocks": BLOCKS}).blocks["illness"]
    assert plain.labels == ("flu|cold|asthma", "none|migraine|diabetes", "unlisted")
    named = policy({"stable": True, "blocks": {"a": BLOCKS[0], "b": BLOCKS[1]}}, privacy={"across": 3}).blocks["illness"]
    assert (named.labels, named.values) == (("a", "b", "unlisted"), plain.values)
    tree = {"any": {"lungs": ["flu", "cold", "asthma"], "head": {"pain": ["migraine", "tension"], "mood": ["low", "panic"]}}}
    by_tree = {m: policy({"stable": True, "hierarchy": tree}, privacy={"across": m}).blocks["illness"] for m in (2, 3, 4)}
    assert {m: blocks.names for m, blocks in by_tree.items()} == {
        2: ("lungs", "pain", "mood"),
        3: ("lungs", "head"),
        4: ("any",),
    }


def test_blocks_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "blocks.csv").write_text("flu;lungs\ncold;lungs\n\nmigraine;head\nnone;head\n")
    written = (
        "person: pid\nattributes: {age: {quasi: numeric, range: [0, 9]}, ill: {sensitive: true, stable: true, as: block, "
        "blocks: blocks.csv}}\nprivacy: {k: 2}\nwindow: {count: 9}\n"
    )
    found = Policy.parse(written, tmp_path).blocks["ill"]
    assert (found.names, found.values) == (("lungs", "head"), (("flu", "cold"), ("migraine", "none")))
    (tmp_path / "blocks.csv").write_text("flu;lungs;x\n")
    with pytest.raises(PolicyError) as error:
        Policy.parse(written, tmp_path)
    message = "blocks.csv, line 1: is not a pair; write a value, ';' and the name of its block"
    assert error.value.problems == (f"attributes.ill.blocks: {message}",)


@pytest.mark.parametrize(
    ("illness", "privacy", "said"),
    [
        ({"stable": True}, {}, "as: is missing; write block, bag or exact, or give privacy: {across: 3}"),
        ({"as": "block"}, {}, "as: is for stable attributes; add stable: true, or remove it"),
        ({"stable": True, "as": "blok"}, {}, "as: is not allowed; use 'block', 'bag' or 'exact'"),
        (
            BLOCK,
            {},
            "blocks: is missing; write lists of values, a mapping, a file, or a hierarchy; shoal blocks drafts them",
        ),
        (
            {**BLOCK, "blocks": [["a", "b"]]},
            {"across": 3},
            "blocks.0: has 2 values, fewer than privacy.across=3; put more together, or lower it",
        ),
        ({**BLOCK, "blocks": [["a", "b"], ["b", "c"]]}, {}, "blocks.1: 'b' is in block 0 too; keep it in one"),
        ({**BLOCK, "blocks": [["a"]]}, {}, "blocks.0: has one value, and would name it; put another one with it"),
        (
            {**BLOCK, "blocks": [["a", "x|y"]]},
            {},
            "blocks.0: has a value with '|', which CSV writes between values; name the blocks",
        ),
        (
            {**BLOCK, "blocks": {"unlisted": ["a", "b"]}},
            {},
            "blocks.unlisted: is the name of the block of unlisted values; rename it",
        ),
        (
            {**BLOCK, "hierarchy": {"any": ["a", "b"]}},
            {},
            "hierarchy: how many leaves a block has is said by privacy.across, which is absent; add it, or write blocks",
        ),
        (
            {"stable": True, "hierarchy": {"any": ["a", "b"]}},
            {"across": 3},
            "hierarchy: has 2 leaves, fewer than privacy.across=3; lower it, or use as: bag",
        ),
        ({**BLOCK, "blocks": [["a", "b"]], "unknown": "root"}, {}, "unknown: is not allowed here; use unlisted or null"),
        ({"stable": True, "as": "bag", "bag": 2}, {}, "bag: is below k=3; use at least 3"),
        ({"stable": True, "as": "exact", "bag": 9}, {}, "bag: is for as: bag; write that, or remove it"),
        (
            {"stable": True, "as": "bag", "l": 2},
            {},
            "l: looks at the rows of a group, which show nothing of a bag; remove it",
        ),
    ],
)
def test_what_does_not_go_together(illness: dict[str, Any], privacy: dict[str, Any], said: str) -> None:
    assert problems(illness, privacy=privacy) == (f"attributes.illness.{said}",)


def test_across_needs_a_stable_attribute() -> None:
    said = "privacy.across: no attribute is stable; mark one with stable: true, or remove it"
    assert problems({}, privacy={"across": 3}) == (said,)
    assert problems({"stable": True, "as": "bag"}, privacy={"across": 1}) == ("privacy.across: is below 2; use at least 2",)


def test_a_budget_needs_persons_and_times() -> None:
    budget = {"per_person": 2, "per": "1d"}
    assert problems({}, releases=budget, person="none") == (
        "releases: person: none tells no persons apart; name the field that does, or remove it",
    )
    assert problems({}, releases=budget, time=None) == ("releases.per: needs the records' own time; add time: {field: …}",)


def test_z_anonymity_refuses_all_of_it() -> None:
    with pytest.raises(PolicyError) as error:
        Policy.parse({
            "person": "pid", "time": {"field": "ts"}, "item": {"field": "site"},
            "attributes": {"ill": {"sensitive": True, "stable": True, "as": "bag"}},
            "algorithm": {"name": "zanon", "z": 2, "window": 10}, "releases": {"per_person": 2, "per": 5},
        })  # fmt: skip
    assert error.value.problems == (
        "releases: zanon counts users of items, not tuples of persons; remove it",
        "attributes.ill.stable: zanon publishes values as they are, without blocks and bags; remove it",
    )


@pytest.mark.parametrize(
    ("other", "attribute"),
    [
        ("visit.illness", {"sensitive": True, "stable": True, "as": "block", "blocks": BLOCKS}),
        ("visit.ward", {"sensitive": True, "stable": True, "as": "bag"}),
        ("visit.height", {"quasi": "numeric", "range": [0, 250]}),
    ],
)
def test_a_field_must_not_hold_another_one_as_it_came(other: str, attribute: dict[str, Any]) -> None:
    remedy = "remove it, and list the fields inside it one by one"
    said = f"attributes.visit: would publish {other!r} inside it as it came; {remedy}"
    for whole in ({"publish": "keep"}, {"sensitive": True}, {"sensitive": True, "stable": True, "as": "exact"}):
        assert problems({}, others={"visit": whole, other: attribute}) == (said,)
    policy({}, others={"visit": {"publish": "keep"}, "visitor.ward": {"sensitive": True, "stable": True, "as": "bag"}})


def test_a_field_must_not_hold_the_person_or_the_time() -> None:
    end = "inside it as it came; remove it, and list the fields inside it one by one"
    more = {"others": {"visit": {"publish": "keep"}}}
    assert problems({}, person="visit.pid", **more) == (f"attributes.visit: would publish 'visit.pid' {end}",)
    assert problems({}, time={"field": "visit.ts"}, **more) == (f"attributes.visit: would publish 'visit.ts' {end}",)
    policy({}, time={"field": "visit.ts", "publish": "keep"}, **more)


def test_the_fingerprint_depends_on_the_cut() -> None:
    first, same = (policy({**BLOCK, "blocks": BLOCKS}).fingerprint for _ in range(2))
    other = policy({**BLOCK, "blocks": [BLOCKS[0][:2], [BLOCKS[0][2], *BLOCKS[1]]]}).fingerprint
    assert first == same != other
