import math

import numpy as np
import pytest

from shoal.audit.answers import _below, answers
from shoal.audit.utility import utility
from shoal.policy.algorithm import WINDOWED
from tests.audit.base import POLICY, anonymized, both, people


def policy(name):
    return POLICY.replace("fads", name)


@pytest.mark.parametrize("name", WINDOWED)
def test_the_loss_is_that_of_the_run(tmp_path, name):
    stats, evidence = anonymized(tmp_path, people(), policy(name))
    found = utility(evidence, both(evidence)["extended"].of)
    assert found.loss.mean == pytest.approx(stats.loss, abs=1e-12)
    assert found.suppressed == pytest.approx(stats.suppressed / stats.released)
    assert found.reused == pytest.approx(stats.reused / stats.released)


def test_without_a_trace_the_loss_is_the_same_and_the_rest_is_not_told(tmp_path):
    stats, evidence = anonymized(tmp_path, people(), traced=False)
    found = utility(evidence, both(evidence)["extended"].of)
    assert found.loss.mean == pytest.approx(stats.loss, abs=1e-12)
    assert (found.cost, found.purity, found.reused) == (None, None, None)


def test_loss_per_attribute_and_over_time_by_hand(tmp_path):
    _, evidence = anonymized(tmp_path, people())
    found = utility(evidence, both(evidence)["extended"].of)
    band, node = evidence.published["age"], evidence.published["city"]
    shown = ~np.isnan(band.lo)
    assert found.loss.attribute["age"] == pytest.approx(float(np.mean((band.hi - band.lo)[shown] / 100)))
    leaves = {"Europe": 6, "France": 3, "Norway": 2}
    losses = [(leaves.get(node.tree.name[each], 1) - 1) / 5 for each in node.node if each >= 0]
    assert found.loss.attribute["city"] == pytest.approx(sum(losses) / len(losses))
    assert len(found.loss.over_time) == 60
    assert np.mean(found.loss.over_time) == pytest.approx(found.loss.mean, abs=0.02)


def test_cost_doubles_the_loss_of_who_waits_the_window(tmp_path):
    _, evidence = anonymized(tmp_path, people())
    each = [
        loss * 2 ** ((released - arrived) / 40)
        for loss, released, arrived in zip(losses(evidence), evidence.trace.released, evidence.trace.arrived, strict=True)
    ]
    assert utility(evidence, both(evidence)["extended"].of).cost == pytest.approx(sum(each) / len(each))


def losses(evidence):
    for row in range(evidence.released):
        if evidence.suppressed[row]:
            yield 1.0
            continue
        parts = []
        for name, attribute in evidence.policy.quasi:
            shown = evidence.published[name]
            if attribute.quasi == "numeric" and not math.isnan(shown.lo[row]):
                parts.append((shown.hi[row] - shown.lo[row]) / (attribute.high - attribute.low))
            elif attribute.quasi == "categorical" and shown.node[row] >= 0:
                parts.append((shown.tree.last[shown.node[row]] - shown.tree.first[shown.node[row]]) / 5)
        yield sum(parts) / len(parts) if parts else 0.0


def test_purity_counts_what_members_had(tmp_path):
    records = people()
    _, evidence = anonymized(tmp_path, records)
    groups = {}
    for row, how, cluster in zip(evidence.trace.row, evidence.trace.how, evidence.trace.cluster, strict=True):
        if how == 0:
            had = sum(records[row][name] is not None for name in ("age", "size", "city"))
            groups.setdefault(cluster, []).append(had / 3)
    each = [sum(group) / len(group) for group in groups.values()]
    found = utility(evidence, both(evidence)["extended"].of).purity
    assert found.groups == len(each)
    assert (found.mean, found.smallest) == pytest.approx((sum(each) / len(each), min(each)))


def test_complete_records_have_pure_groups(tmp_path):
    _, evidence = anonymized(tmp_path, people(missing=0))
    assert utility(evidence, both(evidence)["extended"].of).purity.smallest == 1


def test_discernibility_counts_a_suppressed_tuple_against_all(tmp_path):
    _, evidence = anonymized(tmp_path, people(count=3))
    assert evidence.suppressed.all()
    assert utility(evidence, both(evidence)["extended"].of).discernibility == 9


def test_answers_of_an_output_that_hides_nothing_are_the_truth(tmp_path):
    hiding_nobody = POLICY.replace("k: 5", "k: 1")
    _, evidence = anonymized(tmp_path, people(count=2000), hiding_nobody)
    found = answers(evidence)
    for number in found.numbers.values():
        assert number.mean == pytest.approx(0, abs=1e-9)
        assert number.median == pytest.approx(0, abs=0.011)
        assert number.range_median == pytest.approx(0, abs=0.01)
    city = found.categories["city"]
    assert (city.top, city.found, city.count) == (6, 6, pytest.approx(0))
    assert found.pair_mean == pytest.approx(0, abs=1e-9)


def test_answers_get_worse_with_k(tmp_path):
    errors = []
    for k in (2, 20):
        _, evidence = anonymized(tmp_path, people(count=2000), POLICY.replace("k: 5", f"k: {k}"))
        errors.append(answers(evidence).pair_mean)
    assert 0 < errors[0] < errors[1]


def test_spread_rows_lie_below_an_edge_by_their_share():
    edges = np.linspace(0, 10, 11)
    lo, hi, weight = np.array([0.0, 2.5, 4.0]), np.array([10.0, 5.0, 4.0]), np.array([1.0, 2.0, 1.0])
    rows = list(zip(lo, hi, weight, strict=True))
    spread = [sum(w * (np.clip((e - a) / (b - a), 0, 1) if b > a else e >= a) for a, b, w in rows) for e in edges]
    assert _below(lo, hi, weight, edges).tolist() == pytest.approx(spread)
