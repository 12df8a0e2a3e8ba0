import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.audit.diversity import diversity


def by_hand(classes, values, ordered):
    """The definitions, class by class."""
    inside = [(c, v) for c, v in zip(classes, values, strict=True) if c >= 0]
    domain = sorted({v for _, v in inside})
    overall = [sum(v == w for _, v in inside) / len(inside) for w in domain]
    distinct, entropy, closeness = [], [], []
    for label in sorted({c for c, _ in inside}):
        own = [v for c, v in inside if c == label]
        share = [own.count(w) / len(own) for w in domain]
        distinct.append(sum(q > 0 for q in share))
        entropy.append(math.exp(-sum(q * math.log(q) for q in share if q)))
        if ordered:
            gaps = [abs(sum(share[: i + 1]) - sum(overall[: i + 1])) for i in range(len(domain))]
            closeness.append(sum(gaps) / max(1, len(domain) - 1))
        else:
            closeness.append(sum(abs(q - p) for q, p in zip(share, overall, strict=True)) / 2)
    return distinct, entropy, closeness


rows = st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 6)), min_size=1, max_size=60)


@given(rows, st.booleans())
def test_equals_the_definitions(rows, ordered):
    classes, values = (np.array(column) for column in zip(*rows, strict=True))
    found = diversity(classes, values, ordered)
    if (classes < 0).all():
        assert found.classes == 0
        return
    distinct, entropy, closeness = by_hand(classes.tolist(), values.tolist(), ordered)
    assert (found.distinct, found.distinct_mean) == (min(distinct), pytest.approx(sum(distinct) / len(distinct)))
    assert (found.entropy, found.entropy_mean) == pytest.approx((min(entropy), sum(entropy) / len(entropy)))
    assert found.closeness == pytest.approx(max(closeness), abs=1e-12)
    assert found.closeness_mean == pytest.approx(sum(closeness) / len(closeness), abs=1e-12)
    assert found.uniform == distinct.count(1)


def test_a_class_that_shares_one_value_is_counted_with_its_records():
    found = diversity(np.array([0, 0, 0, 1, 1]), np.array([2, 2, 2, 0, 1]), ordered=False)
    assert (found.uniform, found.uniform_records, found.distinct) == (1, 3, 1)
