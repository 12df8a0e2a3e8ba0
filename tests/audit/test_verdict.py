"""The verdict: three questions, never greener than the protection; and violations that must change it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shoal.audit import Exposure, WindowReport, audit
from shoal.audit.attacks import across_of
from shoal.audit.exposure import exposures
from shoal.audit.whole_rows import whole_rows
from shoal.policy import Policy
from tests.audit.stage import table

ILL = ["flu", "gout", "none", "cold"]


def policy(**more: Any) -> Policy:
    written: dict[str, Any] = {
        "person": "pid",
        "attributes": {
            "age": {"quasi": "numeric", "range": [0, 100], "grid": 10},
            "note": {"publish": "keep"},
            "illness": {"sensitive": True},
        },
        "privacy": {"k": 4},
        "window": {"count": 40},
        "algorithm": {"name": "fads"},
    }
    attributes = {**written["attributes"], **more.pop("attributes", {})}
    privacy = {**written["privacy"], **more.pop("privacy", {})}
    return Policy.parse({**written, "attributes": attributes, "privacy": privacy, **more})


def output(groups: int = 10, note: str = "same", ill: Any = None) -> tuple[list[dict[str, Any]], ...]:
    """Groups of four persons, each of whom comes once: people, rows, trace."""
    people, rows, trace = [], [], []
    for n in range(4 * groups):
        group = n // 4
        value = ill or ILL[n % 4]
        own = {"same": "x", "own": f"n{n}", "pair": f"{n // 2}"}[note]
        people.append({"pid": n, "age": float(10 * (group % 10) + 1 + n % 4), "note": own, "illness": value})
        low = 10.0 * (group % 10)
        rows.append({"age": [low, low + 10], "note": own, "illness": value})
        trace.append({"row": n, "how": "cluster", "cluster": group, "arrived": n, "released": 4 * group + 3})
    return people, rows, trace


def judged(chosen: Policy, made: tuple[list[dict[str, Any]], ...], traced: bool = True, **more: Any) -> WindowReport:
    people, rows, trace = made
    report = audit(chosen, table(people), table(rows), table(trace) if traced else None, **more)
    assert isinstance(report, WindowReport)
    assert report.held
    return report


def of(report: WindowReport, label: str) -> Exposure:
    return next(each for each in report.exposures if each.label == label)


def test_a_good_output_is_green_and_says_for_what_k_holds() -> None:
    report = judged(policy(), output())
    assert report.headline.colour == "green"
    assert report.headline.text == (
        "k = 4 holds for age and note; no attack that was tried did clearly better than chance or than accepted"
    )
    assert report.headline.outside == "0 of 40 rows are outside k."


def test_a_k_that_hides_nobody_is_never_green() -> None:
    """Every promise is kept, and no attack can be worse than 1/k."""
    hidden = judged(policy(), output(note="same")).headline
    found = judged(policy(privacy={"k": 1}), output(note="same")).headline
    assert (hidden.colour, found.colour) == ("green", "amber")
    assert found.text == "k = 1 hides nobody: a row may show what only one of the persons has"


def test_it_says_that_rows_were_counted_as_persons() -> None:
    people, rows, trace = output()
    report = judged(policy(person="none"), (people, rows, trace))
    assert "k = 4 holds for age and note; each row counts as a person, since the policy names none; " in report.headline.text
    for person in people[:3]:
        person["pid"] = None
    report = judged(policy(person_missing="own"), (people, rows, trace))
    assert "k = 4 holds for age and note; 3 rows without a person count as one each; " in report.headline.text
    assert report["k persons"].note == "3 records name no person, and each is counted as one"


def test_an_output_without_rows_proves_nothing() -> None:
    people, rows, trace = (table(part).slice(0, 0) for part in output())
    report = audit(policy(), people, rows, trace)
    assert isinstance(report, WindowReport)
    assert report.headline.text == "no row shows values, so there was nothing for which k = 4 could hold"
    assert report.answers[1] == "No attack could be tried on this output."


@pytest.mark.parametrize(("note", "below", "alone"), [("own", 40, 40), ("pair", 40, 0), ("same", 0, 0)])
def test_a_kept_field_counts(note: str, below: int, alone: int) -> None:
    report = judged(policy(), output(note=note))
    assert (report.whole.below, report.whole.alone) == (below, alone)
    assert of(report, "below k").success == below / 40
    assert report.headline.colour == ("amber" if below else "green")
    assert (f"k = 4 holds for age alone: with note, {below} rows are below k" in report.headline.text) == bool(below)


def test_whoever_knows_a_kept_value_finds_the_row() -> None:
    found = of(judged(policy(), output(note="own")), "whole row")
    assert found.success == 1.0 and found.chance == pytest.approx(1 / 40) and found.is_worse


def test_a_reason_is_printed_and_the_field_not_counted() -> None:
    kept = {"note": {"publish": {"keep": True, "because": "numbers of sheets of paper"}}}
    report = judged(policy(attributes=kept), output(note="own"))
    assert report.headline.colour == "green"
    assert report.headline.text.startswith("k = 4 holds for age; ")
    assert report.headline.text.endswith("one field, published as it is, was not counted, by the policy's own reasons: note")
    assert report.to_dict()["whole_rows"]["reasons"] == {"note": "numbers of sheets of paper"}
    assert "numbers of sheets of paper" in report.to_html()


def test_homogeneity_is_amber_and_stands_in_the_headline() -> None:
    people, rows, trace = output()
    for n, (person, row) in enumerate(zip(people, rows, strict=True)):
        person["illness"] = row["illness"] = ILL[n // 4 % 4]
    report = judged(policy(), (people, rows, trace))
    found = of(report, "homogeneity (illness)")
    assert found.success == 1.0 and found.kind == "inferring" and found.is_worse and not found.fails
    assert report.headline.colour == "amber" and "homogeneity (illness) 100.0 % (chance" in report.headline.text
    assert report.accepted
    assert report.exposures[0].is_worse


def test_the_shuffled_control_of_homogeneity_knows_that_one_value_is_no_leak() -> None:
    found = of(judged(policy(), output(ill="none")), "homogeneity (illness)")
    assert found.success == found.chance == 1.0 and not found.is_worse


def test_how_a_value_is_spelled_and_what_is_missing_hide_no_homogeneity() -> None:
    people, rows, trace = output()
    spelled = ["{}", " {}", "{} ", "?"]  # the last of each group has none
    for n, (person, row) in enumerate(zip(people, rows, strict=True)):
        person["illness"] = row["illness"] = spelled[n % 4].format(ILL[n // 4 % 4])
    found = of(judged(policy(nulls=["?", ""]), (people, rows, trace)), "homogeneity (illness)")
    assert (found.success, found.tried, found.detail) == (1.0, 30, "30 rows are in classes that show one value")
    assert found.is_worse


@pytest.mark.parametrize("written", ["1.50", "1.5 ", "+1.5"])
def test_a_kept_number_that_one_row_writes_in_another_way_tells_it_apart(written: str, tmp_path: Path) -> None:
    people, rows, trace = output()
    for n, (person, row) in enumerate(zip(people, rows, strict=True)):
        person["note"] = row["note"] = written if n == 5 else "1.5"
    report = judged(policy(), (people, rows, trace))
    assert (report.whole.below, report.whole.alone) == (4, 1)  # and the three others of its group
    assert "k = 4 holds for age alone: with note, 4 rows are below k" in report.headline.text


@pytest.mark.parametrize(
    ("usual", "odd"),
    [("1", '"1"'), ("[1, 2]", "[1, 2.0]"), ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'), ("2.5", "2.50"), ("0", "-0")],
)
def test_json_that_says_the_same_in_another_way_tells_a_row_apart(usual: str, odd: str, tmp_path: Path) -> None:
    _, rows, trace = output()
    for name in ("in", "out"):
        lines = []
        for n, row in enumerate(rows):
            shown = {"age": row["age"]} if name == "out" else {"pid": n, "age": row["age"][0] + 1}
            start = json.dumps(shown).removesuffix("}")
            lines.append(f'{start}, "note": {odd if n == 5 else usual}, "illness": "{row["illness"]}"}}\n')
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    report = audit(policy(), tmp_path / "in.jsonl", tmp_path / "out.jsonl", table(trace))
    assert isinstance(report, WindowReport)
    assert report.held and (report.whole.below, report.whole.alone) == (4, 1)


@pytest.mark.parametrize(("accepted", "fails"), [("100%", False), (0.2, True), ("5 %", True)])
def test_what_the_policy_accepts_decides(accepted: Any, fails: bool) -> None:
    people, rows, trace = output()
    for n, (person, row) in enumerate(zip(people, rows, strict=True)):
        person["illness"] = row["illness"] = ILL[n // 4 % 4]
    chosen = policy(privacy={"accept": {"homogeneity": accepted, "inference": 1, "whole row": 1}})
    report = judged(chosen, (people, rows, trace))
    assert report.accepted == (not fails)
    assert of(report, "homogeneity (illness)").fails == fails
    assert ("an outsider can do more than accepted: homogeneity" in report.headline.text) == fails
    tolerated = [each.label for each in report.exposures if each.is_tolerated]
    assert ("homogeneity (illness)" in tolerated) == (not fails)
    assert ("; accepted by the policy, and more than chance: homogeneity (illness) 100.0 % (" in report.headline.text) != fails
    assert ("More than chance, and accepted by the policy: homogeneity (illness), right in" in report.answers[1]) != fails


def test_the_intersection_of_a_returning_person_is_found_by_persons_and_by_values() -> None:
    people, rows, trace = [], [], []
    for group in range(30):  # person 0 comes each time, with three others who never come back
        for n in range(4):
            pid, ill = (0, "gout") if not n else (4 * group + n, ILL[(group + n) % 4])
            people.append({"pid": pid, "age": 41.0 + n, "note": "x", "illness": ill})
            rows.append({"age": [40.0, 50.0], "note": "x", "illness": ill})
            place = len(trace)
            trace.append({"row": place, "how": "cluster", "cluster": group, "arrived": place, "released": 4 * group + 3})
    for n in range(8):  # another who comes back, so that there is a control
        people.append(
            {"pid": 999 if n % 4 == 0 else 2000 + n, "age": 71.0, "note": "x", "illness": "flu" if n % 4 == 0 else "none"}
        )
        rows.append({"age": [70.0, 80.0], "note": "x", "illness": people[-1]["illness"]})
        place = len(trace)
        trace.append(
            {"row": place, "how": "cluster", "cluster": 100 + n // 4, "arrived": place, "released": 127 if n > 3 else 123}
        )
    report = judged(policy(), (people, rows, trace))
    by_person, by_value = of(report, "intersection"), of(report, "intersection of values (illness)")
    assert by_person.success == 1.0 and by_person.is_worse and by_person.kind == "linking"
    assert by_value.success is not None and by_value.chance == 0.0 and by_value.is_worse and by_value.kind == "inferring"


def test_without_a_trace_it_says_what_cannot_be_answered() -> None:
    report = judged(policy(), output(), traced=False)
    assert report.headline.colour == "amber"
    assert "not checkable: one in k, support, once, in time, true, alike, unaltered" in report.headline.text
    assert "without a trace 11 attacks could not be tried" in report.headline.text
    assert of(report, "homogeneity (illness)").success is not None


def test_a_broken_promise_is_red() -> None:
    people, rows, trace = output()
    rows[0]["age"] = [90.0, 100.0]
    report = audit(policy(), table(people), table(rows), table(trace))
    assert report.headline.colour == "red"
    assert report.headline.text.startswith("2 promises broken: true, alike") or report.headline.text.startswith(
        "1 promise broken: true"
    )


def test_the_population_says_who_could_be_there() -> None:
    made = output(groups=2)
    everyone = pa.table({"age": [2.0] * 8 + [12.0] * 4})
    report = judged(policy(), made, population=everyone)
    assert report.population is not None
    assert (report.population.k_map, report.population.lowest, report.population.highest) == (4, 0.5, 1.0)
    found = of(report, "presence")
    assert found.success == 1.0 and found.chance == pytest.approx(8 / 12)


def test_the_json_has_its_stable_form() -> None:
    found = json.loads(judged(policy(), output()).to_json())
    assert set(found) == {
        "verdict", "held", "accepted", "questions", "whole_rows", "population", "policy", "rows", "promises", "nulls",
        "figures", "record", "about", "in_words", "recommendations", "fields", "not_protected", "assessment",
    }  # fmt: skip
    assert set(found["verdict"]) == {"colour", "text", "outside"}
    assert set(found["questions"]) == {"promises", "outsider", "data"}
    assert set(found["questions"]["outsider"][0]) == {
        "kind", "name", "of", "success", "chance", "bound", "accepted", "tried", "detail", "obstacle", "is_worse", "fails",
    }  # fmt: skip
    assert set(found["questions"]["data"]) == {"loss", "in_doubt", "suppressed", "count_error"}


def test_published_suppressed_rows_count_with_their_kept_values(tmp_path: Path) -> None:
    from tests.audit.test_suppressed import case

    for suppressed, counts in (("publish", True), ("blank", False)):
        folder = tmp_path / suppressed
        folder.mkdir()
        found = case(folder, suppressed)
        from shoal.audit import Evidence, gather

        evidence = gather(found.policy, found.source, found.target, found.trace_file)
        assert isinstance(evidence, Evidence)
        hidden = int(evidence.suppressed.sum())
        assert whole_rows(evidence).rows == evidence.released - (0 if counts else hidden)


def test_values_across_releases_are_judged_by_what_chance_allows_alone() -> None:
    people, rows, trace = output()
    whole = judged(policy(), (people, rows, trace)).whole
    attacks = [across_of("illness").run(200, success, 0.675) for success in (0.84, 0.77, 0.74)]
    found = [each for each in exposures(policy(), attacks, whole) if each.name == "values across releases"]
    assert [(each.success, each.is_worse) for each in found] == [(0.84, True), (0.77, True), (0.74, False)]
