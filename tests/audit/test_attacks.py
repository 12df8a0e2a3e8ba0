import math

import numpy as np
import pytest

from shoal.audit.attacks import attacks
from shoal.audit.values import codes
from shoal.policy import Policy
from tests.audit.base import POLICY, anonymized, both, people
from tests.audit.stage import stage

NAMES = [
    "whole row", "linkage", "null pattern", "timing", "order", "inference of illness", "end points", "minimality",
    "intersection",
]  # fmt: skip
VALUES = ["homogeneity of illness", "intersection of values of illness", "values across releases of illness"]


def attacked(evidence, targets=200):
    sensitive = {"illness": codes(evidence.shown["illness"]).code}
    return {attack.name: attack for attack in attacks(evidence, both(evidence)["extended"].of, sensitive, targets)}


def test_every_attack_is_run_and_named(tmp_path):
    _, evidence = anonymized(tmp_path, people())
    found = attacked(evidence)
    assert list(found) == [*NAMES, *VALUES]
    for attack in found.values():
        assert attack.obstacle == "" and attack.tried > 0
        assert 0 <= attack.success <= 1 and 0 <= attack.baseline <= 1


def test_the_same_every_time(tmp_path):
    _, evidence = anonymized(tmp_path, people())
    assert attacked(evidence) == attacked(evidence)


def test_without_a_trace_nothing_can_be_checked(tmp_path):
    _, evidence = anonymized(tmp_path, people(), traced=False)
    found = attacked(evidence)
    assert list(found) == [VALUES[0], *NAMES, *VALUES[1:]]
    assert found.pop(VALUES[0]).success is not None
    for attack in found.values():
        assert (attack.tried, attack.success) == (0, None)
        assert attack.obstacle == "not checkable: without the trace it is unknown whether a guess is right"
        assert attack.knows and attack.meaning


def fitting(evidence, record, row, patterns):
    """Whether an output row could be about a record, by the definitions."""
    for name, attribute in evidence.policy.quasi:
        original, shown = evidence.original[name], evidence.published[name]
        if attribute.quasi == "numeric":
            value, null = original.value[record], np.isnan(shown.lo[row])
            missing = np.isnan(value)
            inside = null or missing or shown.lo[row] <= value <= shown.hi[row]
        else:
            value, null = original.leaf[record], shown.node[row] < 0
            missing = value < 0
            inside = null or missing or shown.tree.first[shown.node[row]] <= value <= shown.tree.last[shown.node[row]]
        if not inside or (patterns and missing != null):
            return False
    return not evidence.suppressed[row]


def test_linkage_is_the_mean_share_of_own_rows_among_those_that_fit(tmp_path):
    _, evidence = anonymized(tmp_path, people(count=120, persons=50))
    found = attacked(evidence, targets=1000)
    trace, person = evidence.trace, evidence.person[evidence.trace.row]
    for name, patterns in (("linkage", False), ("null pattern", True)):
        chances = []
        for target in range(evidence.released):
            rows = [row for row in range(evidence.released) if fitting(evidence, trace.row[target], row, patterns)]
            own = sum(person[row] == person[target] for row in rows)
            chances.append(own / len(rows) if rows else 0)
        assert (found[name].tried, found[name].success) == (120, pytest.approx(np.mean(chances)))
    assert found["null pattern"].baseline == pytest.approx(found["linkage"].success)


def test_a_stream_that_hides_nobody_is_linked(tmp_path):
    _, evidence = anonymized(tmp_path, people(count=300, persons=300, missing=0), POLICY.replace("k: 5", "k: 1"))
    found = attacked(evidence)
    assert found["linkage"].success > 0.95
    assert found["linkage"].baseline == pytest.approx(1 / 300, rel=1)


def test_a_rare_pattern_of_nulls_gives_its_person_away(tmp_path):
    records = people(count=400, persons=400, missing=0)
    records[200]["size"] = None
    _, evidence = anonymized(tmp_path, records)
    only = [row for row in range(evidence.released) if np.isnan(evidence.published["size"].lo[row])]
    assert len(only) == 1
    detail = attacked(evidence, targets=1000)["null pattern"].detail
    assert detail.endswith("only the person's own fit for 1 of 400")


BY_CHANCE = "no more often than by chance"
BEYOND = "more often than by chance, since the ends are members' own values: a grid, or a wider one, would hide them"


def alone(name):
    """The policy with one quasi-identifier."""
    return "\n".join(line for line in POLICY.splitlines() if "quasi" not in line or f" {name}:" in line)


@pytest.mark.parametrize(("name", "grids"), [("age", (2, 5, 10)), ("size", (0.1, 0.5))])
def test_ends_are_members_values_without_a_grid_and_by_chance_with_one(tmp_path, name, grids):
    records = people(count=2000, persons=1900, missing=0.1)
    _, evidence = anonymized(tmp_path, records, alone(name))
    bare = attacked(evidence)["end points"]
    assert bare.success == 1 and bare.baseline < 0.45
    assert bare.detail.startswith(BEYOND)
    for grid in grids:
        _, evidence = anonymized(tmp_path, records, alone(name).replace("]}", f"], grid: {grid}}}"))
        found = attacked(evidence)["end points"]
        assert found.success <= found.baseline + 0.01 < 0.6
        assert found.detail.startswith(BY_CHANCE)


def test_a_grid_as_fine_as_the_values_hides_nothing(tmp_path):
    _, evidence = anonymized(tmp_path, people(count=1000, persons=900), alone("age").replace("[0, 100]", "[0, 100], grid: 1"))
    found = attacked(evidence)["end points"]
    assert found.success == 1 and found.baseline < 0.5
    assert found.detail.startswith(BEYOND)


def test_chance_is_that_of_as_many_records_from_the_same_step():
    scene = stage("a" * 12, {"nulls_match": "maybe", "k": 3})
    scene.policy = Policy.parse(
        "{person: pid, attributes: {age: {quasi: numeric, range: [0, 100], grid: 10}, illness: {sensitive: true}}, "
        "privacy: {k: 3}, window: {count: 20}, algorithm: {name: fads}}"
    )
    for record, age in zip(scene.people, [30, 31, 39, 30, 34, 35, 36, 37, 38, 39, 50, 55], strict=True):
        record["age"] = float(age)
    scene.leave([0, 1, 2], 11, age=[30, 40])
    scene.suppress(range(3, 12), 11)
    scene.output = [{"age": line["age"], "illness": "a"} for line in scene.output]
    found = next(each for each in scene.report().figures.attacks if each.name == "end points")
    low = 1 - math.comb(8, 3) / math.comb(10, 3)
    assert (found.tried, found.success, found.baseline) == (2, 0.5, pytest.approx((low + 0) / 2))


def test_without_a_numeric_attribute_ends_and_minimality_do_not_apply(tmp_path):
    names = "\n".join(line for line in POLICY.splitlines() if "numeric" not in line)
    _, evidence = anonymized(tmp_path, people(), names)
    found = attacked(evidence)
    assert found["end points"].obstacle == "not applicable: no interval ends inside its range"
    assert found["minimality"].obstacle == "not applicable: no group shows an interval"


def test_intersection_needs_persons_who_come_back(tmp_path):
    _, evidence = anonymized(tmp_path, [{**record, "pid": place} for place, record in enumerate(people())])
    assert attacked(evidence)["intersection"].obstacle == "not applicable: no person was released twice"


def test_intersection_of_many_groups_leaves_one(tmp_path):
    _, evidence = anonymized(tmp_path, people(count=2000, persons=100))
    found = attacked(evidence)["intersection"]
    assert found.baseline <= 1 / 5
    assert found.success > 0.9


def test_timing_looks_among_rows_that_left_within_the_deadline(tmp_path):
    _, evidence = anonymized(tmp_path, people(count=200, persons=120))
    trace, person = evidence.trace, evidence.person[evidence.trace.row]
    chances = []
    for target in range(evidence.released):
        rows = [
            row
            for row in range(evidence.released)
            if 0 <= trace.released[row] - trace.arrived[target] <= 40 and fitting(evidence, trace.row[target], row, True)
        ]
        chances.append(sum(person[row] == person[target] for row in rows) / len(rows) if rows else 0)
    assert attacked(evidence, targets=1000)["timing"].success == pytest.approx(np.mean(chances))


def test_the_first_of_a_group_is_its_middle_where_one_number_decides(tmp_path):
    one = "\n".join(line for line in POLICY.splitlines() if "city" not in line and "size" not in line)
    _, evidence = anonymized(tmp_path, people(count=3000, persons=3000, missing=0), one)
    found = attacked(evidence)["minimality"]
    assert found.success > 1.3 * found.baseline


def test_times_and_order_help(tmp_path):
    _, evidence = anonymized(tmp_path, people(count=3000, persons=3000))
    found = attacked(evidence)
    assert found["null pattern"].success < found["timing"].success
    assert found["timing"].baseline == pytest.approx(found["null pattern"].success)
    assert found["order"].baseline == pytest.approx(found["timing"].success)


def test_inference_of_a_value_that_the_city_decides(tmp_path):
    records = people(count=1000, persons=1000, missing=0)
    for record in records:
        record["illness"] = "none" if record["city"] in ("Paris", "Lyon", "Nice") else "flu"
    names = "\n".join(line for line in POLICY.splitlines() if "numeric" not in line)
    _, evidence = anonymized(tmp_path, records, names)
    found = attacked(evidence)["inference of illness"]
    assert found.success > 0.95
    assert found.baseline < 0.6
