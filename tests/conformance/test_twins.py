"""Every algorithm releases what its naive twin releases: row, outcome, group, generalization, times, in the same order."""

from __future__ import annotations

from importlib import import_module
from random import Random

import pytest
from hypothesis import given

from shoal import Anonymizer
from shoal.algorithms import WINDOWED
from tests.conformance.parameters import generated
from tests.conformance.promises import check
from tests.conformance.streams import TREES, Stream, engine, policy_of, twin
from tests.naive import Arrival, Numeric


@pytest.mark.streams
@pytest.mark.parametrize("name", WINDOWED)
def test_releases_equal_the_naive_twins_and_keep_the_promises(name: str) -> None:
    @given(generated(name))
    def equal(stream: Stream) -> None:
        releases = engine(Anonymizer(policy_of(name, stream)), stream)
        assert releases == twin(name, stream)
        check(stream, releases, name)

    equal()


@pytest.mark.parametrize(("quasi", "k", "length"), [(1, 3, 70), (8, 5, 130), (9, 5, 130), (64, 4, 70), (2, 130, 200)])
@pytest.mark.parametrize("name", WINDOWED)
def test_releases_equal_the_naive_twins_over_several_vectors(name: str, quasi: int, k: int, length: int) -> None:
    stream = _of_several_vectors(quasi, k, length)
    assert engine(Anonymizer(policy_of(name, stream)), stream) == twin(name, stream)


@pytest.mark.parametrize("codes", [2, 5])
def test_hierarchies_with_more_leaves_than_codes(codes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("shoal.blocks.domain"), "CODES", codes)
    stream = _of_several_vectors(8, 5, 130)
    assert engine(Anonymizer(policy_of("fads", stream)), stream) == twin("fads", stream)


@pytest.mark.parametrize("weights", [(0.001, 1000.0), (1000.0, 0.001), (3.0, 0.5)])
def test_weights_far_apart(weights: tuple[float, ...]) -> None:
    stream = _of_several_vectors(8, 5, 130)._replace(weights=4 * weights)
    assert engine(Anonymizer(policy_of("fads", stream)), stream) == twin("fads", stream)


@pytest.mark.parametrize(("k", "length", "power", "weights"), [(8, 30, 4, (20.0, 1.0)), (15, 40, 1, (1.0, 20.0))])
def test_weights_choose_among_covers(k: int, length: int, power: int, weights: tuple[float, ...]) -> None:
    random = Random(5)
    domains = (Numeric(0.0, 1.0), Numeric(0.0, 1.0))
    events = tuple(Arrival(i, (random.random() ** power, random.random() ** power)) for i in range(600))
    stream = Stream(domains, k, ("count", length), {}, events, ())._replace(weights=weights)
    assert engine(Anonymizer(policy_of("fads", stream)), stream) == twin("fads", stream)


def _of_several_vectors(quasi: int, k: int, length: int) -> Stream:
    random = Random(quasi)
    domains = tuple(random.choice([Numeric(0.0, 1.0), Numeric(-3.0, 4.0), "deep", "flat"]) for _ in range(quasi))
    events = []
    for _ in range(2 * length + 20):
        values = (
            random.uniform(domain.low, domain.high) if isinstance(domain, Numeric) else random.choice(sorted(TREES[domain]))
            for domain in domains
        )
        some = tuple(value if random.random() < 0.9 else None for value in values)
        events.append(Arrival(random.randrange(3 * length), some))
    return Stream(domains, k, ("count", length), {}, tuple(events), tuple(range(40, len(events), 57)))
