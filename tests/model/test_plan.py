"""The plan for a stream whose law is known."""

from __future__ import annotations

import numpy as np
import pytest

from model.simulation import stream
from shoal.model import Plan, Population, grid, plan
from shoal.model.tuner import silencing_z, suitable_z

RATES = 0.2 / np.arange(1, 21)


@pytest.fixture(scope="module")
def found() -> Plan:
    seen = stream(np.random.default_rng(3), range(1000), RATES, 0.0, 96.0)
    time, user, item = zip(*seen, strict=True)
    return plan(time, user, item, k=2, confidence=0.95, windows=[6, 12], z=[1, 100, 150, 200, 250, 1001])


def test_what_it_estimates(found: Plan) -> None:
    assert (found.users, found.items) == (1000, 20)
    assert [(w.window, w.number) for w in found.windows] == [(6, 14), (12, 6)]
    assert found.windows[1].users == pytest.approx(1000, abs=5)
    assert found.windows[1].exposures == pytest.approx(-np.expm1(-12 * RATES).sum(), rel=0.02)


def test_the_model_the_sample_and_the_law_agree(found: Plan) -> None:
    rows = {row.z: row for row in found.windows[1].rows}
    for z in (1, 100, 200, 250):
        law = grid(Population(1000, RATES).publish(z, 12), 2).value
        assert rows[z].probability == pytest.approx(law, abs=0.02)
        assert rows[z].measured == pytest.approx(law, abs=0.05)
    assert (rows[1].information, rows[1].kept, rows[1].silent) == (1.0, 1.0, 0.0)
    assert (rows[1001].information, rows[1001].kept, rows[1001].silent, rows[1001].measured) == (0.0, 0.0, 1.0, 1.0)


def test_the_best_is_the_least_that_meets_the_confidence(found: Plan) -> None:
    law = suitable_z(1000, -np.expm1(-12 * RATES), 2, 0.95)
    assert found.windows[1].best.z == pytest.approx(law, rel=0.05)
    assert found.met
    assert all(window.best.meets(0.95) for window in found.windows)
    assert not any(row.meets(0.95) for window in found.windows for row in window.rows if row.z < window.best.z)
    assert found.best.kept == max(window.best.kept for window in found.windows)


def test_too_few_users_are_never_anonymous() -> None:
    lonely = plan(np.arange(100.0), np.arange(100), np.zeros(100), windows=[1.0])
    assert not lonely.met
    assert lonely.best.measured == 0.0


def test_a_z_that_silences_leaves_everyone_alike() -> None:
    exposed = -np.expm1(-12 * RATES)
    publication = Population(1000, RATES).publish(silencing_z(1000, exposed), 12)
    assert publication.published.max() < 1e-12
