"""z follows a stream whose population doubles and whose popularity law changes."""

from __future__ import annotations

import numpy as np
import pytest

from model.simulation import Filter, share, stream
from naive.zanon import Observation
from shoal.errors import ModelError
from shoal.model import Tuner
from shoal.model.tuner import NOTHING

WINDOW, STEPS, PERIODS = 12.0, 4, 18
DOUBLED, CHANGED = 6, 12
RANKS = np.arange(1, 61)
STEEP = 0.2 / RANKS
FLAT = STEEP.sum() * RANKS**-0.6 / (RANKS**-0.6).sum()


def present(seen: list[Observation], now: float) -> int:
    return len({o.user for o in seen if o.time >= now - WINDOW})


def followed(tuner: Tuner | None, seed: int) -> tuple[list[float], list[int]]:
    """The share of 2-anonymous users in each period, and its z; without a tuner z stays what the first period suggests."""
    rng = np.random.default_rng(seed)
    chosen = tuner or Tuner(k=2, probability=0.95, floor=5)
    passing = Filter(chosen.z, WINDOW)
    shares, used, recent, released = [], [], [], []
    for step in range(PERIODS * STEPS):
        period, now = step // STEPS, (step + 1) * WINDOW / STEPS
        users = range(1000 if period < DOUBLED else 2000)
        seen = stream(rng, users, STEEP if period < CHANGED else FLAT, now - WINDOW / STEPS, now)
        released += passing.released(seen)
        recent = [o for o in recent if o.time >= now - WINDOW] + seen
        achieved = None
        if (step + 1) % STEPS == 0:
            achieved = share(users, released, 2)
            shares.append(achieved)
            used.append(passing.z)
            released = []
        if step == STEPS - 1 or (tuner and step >= STEPS):
            exposures = {(o.user, o.item) for o in recent}
            counts = np.bincount([item for _, item in exposures])
            passing.z = chosen.observe(present(recent, now), counts, achieved)
    return shares, used


@pytest.fixture(scope="module")
def runs() -> list[tuple[list[float], list[int]]]:
    return [followed(Tuner(k=2, probability=0.95, floor=5), seed) for seed in range(3)]


@pytest.mark.long
@pytest.mark.slow
def test_the_share_stays_at_the_target(runs: list[tuple[list[float], list[int]]]) -> None:
    means = np.mean([shares[1:] for shares, _ in runs], axis=0)
    settled = [i for i in range(1, PERIODS) if i not in (DOUBLED, CHANGED)]
    assert means.mean() >= 0.95
    assert min(means[i - 1] for i in settled) >= 0.93
    assert means[DOUBLED - 1] >= 0.85
    assert means[CHANGED - 1] >= 0.85


@pytest.mark.slow
def test_a_fixed_z_does_not() -> None:
    shares, used = followed(None, 0)
    assert len(set(used[1:])) == 1
    assert np.mean(shares[1:DOUBLED]) >= 0.93
    assert np.mean(shares[DOUBLED + 1 : CHANGED]) < 0.6
    assert np.mean(shares[CHANGED + 1 :]) < 0.1


@pytest.mark.slow
def test_z_moves_with_the_stream(runs: list[tuple[list[float], list[int]]]) -> None:
    for _, used in runs:
        before, doubled = np.median(used[1:DOUBLED]), np.median(used[DOUBLED + 1 : CHANGED])
        assert used[0] == NOTHING
        assert 1.5 < doubled / before < 2.2


def test_never_below_the_floor() -> None:
    tuner = Tuner(k=2, probability=0.5, floor=7)
    for users, counts in ((100, []), (3, [1, 1]), (0, []), (50, [1] * 1000), (10_000, [9_999])):
        assert tuner.observe(users, counts, achieved=1.0) >= 7


def test_what_was_achieved_corrects_the_model() -> None:
    counts = (-1000 * np.expm1(-12 * STEEP)).round()
    plain = Tuner(2, 0.95, 5)
    corrected = Tuner(2, 0.95, 5)
    first = plain.observe(1000, counts)
    assert [plain.observe(1000, counts, achieved=0.99) for _ in range(3)] == [first] * 3
    raised = [corrected.observe(1000, counts, achieved=0.8) for _ in range(4)]
    assert first < raised[0] < raised[1] < raised[2] < raised[3]
    assert [corrected.observe(1000, counts, achieved=0.999) for _ in range(20)][-1] == first


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((1, 0.95, 5), "k: is below 2; 2 is the least that hides anyone"),
        ((2, 1.0, 5), "probability: lies outside 0 to 1; 0.95 is a usual choice"),
        ((2, 0.95, 0), "floor: is below 1; 5 is a usual choice"),
    ],
)
def test_refusals(parameters: tuple[int, float, int], message: str) -> None:
    with pytest.raises(ModelError) as refused:
        Tuner(*parameters)
    assert str(refused.value) == message
