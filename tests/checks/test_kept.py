"""Kept and sensitive fields: what looks like an identifier or singles rows out is a problem until a reason is given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shoal.checks import check
from shoal.policy import Policy

REMEDY = 'remove it, make it a quasi-identifier, or say why it may be: {publish: {keep: true, because: "…"}}'


def policy(k: int = 5, time: Any = None, **attributes: Any) -> Policy:
    return Policy.parse({
        "person": "pid",
        "nulls": ["", "NA"],
        **({"time": time} if time else {}),
        "attributes": {"age": {"quasi": "numeric", "range": [0, 100], "grid": 5}, **attributes},
        "privacy": {"k": k},
        "window": {"count": 50},
    })  # fmt: skip


def sample(folder: Path, rows: int = 400, **fields: Any) -> Path:
    """Records of a hundred persons; fields are functions of the row's number."""
    path = folder / "in.jsonl"
    lines = [{"pid": n % 100, "ts": n, "age": n % 90, **{name: make(n) for name, make in fields.items()}} for n in range(rows)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("email", lambda n: "x", "contact data, by its name"),
        ("account_id", lambda n: "x", "identifiers, by its name"),
        ("box", lambda n: f"p{n % 9}@example.org", "e-mail addresses, by its values"),
    ],
)
def test_what_looks_like_an_identifier_is_a_problem(field: str, value: Any, kind: str, tmp_path: Path) -> None:
    path = sample(tmp_path, **{field: value})
    found = check(policy(**{field: {"publish": "keep"}}), path)
    assert found.problems == (f"'{field}': looks like {kind}, and is published as it is; {REMEDY}",)
    reason = {"publish": {"keep": True, "because": "it is drawn anew each day"}}
    assert check(policy(**{field: reason}), path).problems == ()


def test_values_of_too_few_persons_are_a_problem_with_the_count(tmp_path: Path) -> None:
    path = sample(tmp_path, mood=lambda n: n % 100)  # each belongs to one person
    line = "'mood': 400 of 400 rows have a value that fewer than 5 persons have, and it is published as it is"
    assert check(policy(mood={"publish": "keep"}), path).problems == (f"{line}; {REMEDY}",)
    sensitive = check(policy(mood={"sensitive": True}), path)
    assert sensitive.problems[0].endswith('or say why it may be: {sensitive: true, because: "…"}')
    assert check(policy(mood={"sensitive": True, "because": "measured with noise"}), path).problems == ()


def test_a_few_rare_values_are_a_warning(tmp_path: Path) -> None:
    path = sample(tmp_path, mood=lambda n: "rare" if n % 100 < 3 else "well")
    found = check(policy(mood={"sensitive": True}), path)
    assert found.problems == ()
    line = "'mood': 12 of 400 rows have a value that fewer than 5 persons have"
    assert f"{line}; it is published as it is, and may single them out" in found.warnings


def test_a_value_that_k_persons_share_is_none(tmp_path: Path) -> None:
    path = sample(tmp_path, mood=lambda n: n % 20)  # five persons each
    found = check(policy(mood={"sensitive": True}), path)
    assert found.problems == () and not any("single" in line for line in found.warnings)


def test_a_kept_field_that_no_group_hides_is_a_warning(tmp_path: Path) -> None:
    """Each value belongs to k persons or more, but those are not in one group."""
    path = sample(tmp_path, mood=lambda n: n % 20)
    found = check(policy(mood={"publish": "keep"}), path)
    line = "'mood': is published as it is, and no group hides it: rows of a group that differ in it look like fewer than"
    assert found.problems == () and f"{line} 5 persons; {REMEDY}" in found.warnings
    for hidden in (
        {"publish": {"keep": True, "because": "drawn at random"}},
        {"quasi": "numeric", "range": [0, 20], "grid": 5},
    ):
        assert not any("mood" in line for line in check(policy(mood=hidden), path).warnings)
    same = sample(tmp_path, mood=lambda n: "x")
    assert not any("mood" in line for line in check(policy(mood={"publish": "keep"}), same).warnings)
    one_lacks_it = sample(tmp_path, mood=lambda n: "x" if n else None)
    assert any("mood" in line for line in check(policy(mood={"publish": "keep"}), one_lacks_it).warnings)


@pytest.mark.parametrize("odd", ["well ", "we\u0301ll", "NA", "WELL"])
def test_a_value_counts_as_it_is_written(odd: str, tmp_path: Path) -> None:
    path = sample(tmp_path, mood=lambda n: odd if n == 7 else "w\u00e9ll" if len(odd) == 6 and odd[2] == "\u0301" else "well")
    found = check(policy(mood={"sensitive": True}), path)
    line = "'mood': 1 of 400 rows have a value that fewer than 5 persons have"
    assert f"{line}; it is published as it is, and may single them out" in found.warnings


def test_a_short_sample_only_warns(tmp_path: Path) -> None:
    path = sample(tmp_path, rows=400, mood=lambda n: n % 100)
    found = check(policy(mood={"publish": "keep"}), path, rows=40)
    assert found.problems == ()
    assert any("too short to know whether that is so in all data" in line for line in found.warnings)


def test_an_exact_time_is_a_kept_field(tmp_path: Path) -> None:
    path = sample(tmp_path)
    found = check(policy(time={"field": "ts", "publish": "keep"}), path)
    assert found.problems == (
        "'ts': 400 of 400 rows have a value that fewer than 5 persons have, and it is published as it is; use publish: "
        'generalize or drop, or say why: time: {publish: {keep: true, because: "…"}}',
    )
    kept = {"field": "ts", "publish": {"keep": True, "because": "shifted by a secret number of days"}}
    assert check(policy(time=kept), path).problems == ()


def test_no_value_of_the_data_is_named(tmp_path: Path) -> None:
    path = sample(tmp_path, box=lambda n: f"secret{n}@example.org")
    found = check(policy(box={"publish": "keep"}), path)
    assert found.problems and "secret" not in " ".join((*found.problems, *found.warnings))


def test_the_median_window_has_too_few_persons(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    crowded = [{"pid": n, "age": 5} for n in range(60)]
    few = [{"pid": n % 3, "age": 5} for n in range(200)]
    path.write_text("".join(json.dumps(line) + "\n" for line in crowded + few))
    found = check(policy(), path)
    assert found.problems == ()
    held = "the median window of the sample holds 3 persons, below k=5: many rows would be suppressed"
    assert f"window.count: {held}; lengthen the window, lower k, or use sparse: {{stretch: 4}}" in found.warnings
    path.write_text("".join(json.dumps(line) + "\n" for line in crowded * 3 + few[:20]))
    assert not any("median" in line for line in check(policy(), path).warnings)
