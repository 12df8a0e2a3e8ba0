"""Every algorithm releases what its naive twin releases: row, outcome, group, generalization, times, in the same order."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from random import Random

import pytest
from hypothesis import given

from shoal import Anonymizer
from shoal.algorithms import WINDOWED
from shoal.conformance.parameters import MIXING, generated
from shoal.conformance.promises import check, has_one_in_k
from shoal.conformance.streams import TREES, Stream, engine, policy_of
from tests.conformance.twins import twin
from tests.examples import examples
from tests.naive import Arrival, Numeric


@pytest.mark.streams
@pytest.mark.parametrize("match", MIXING)
@pytest.mark.parametrize("name", WINDOWED)
def test_releases_equal_the_naive_twins_and_keep_the_promises(name: str, match: str) -> None:
    @examples(0.5)
    @given(generated(name, matches=[match]))
    def equal(stream: Stream) -> None:
        releases = engine(Anonymizer(policy_of(name, stream)), stream)
        assert releases == twin(name, stream)
        check(stream, releases, name)

    equal()


QUICK, OTHERS = (9, 5, 130), ((1, 3, 70), (8, 5, 130), (64, 4, 70), (2, 130, 200))
SIZES = [QUICK, *(pytest.param(*size, marks=pytest.mark.long) for size in OTHERS)]


@pytest.mark.slow
@pytest.mark.parametrize(("quasi", "k", "length"), SIZES)
@pytest.mark.parametrize("match", MIXING)
@pytest.mark.parametrize("name", WINDOWED)
def test_releases_equal_the_naive_twins_over_several_vectors(name: str, match: str, quasi: int, k: int, length: int) -> None:
    stream = _of_several_vectors(quasi, k, length)._replace(match=match)
    assert engine(Anonymizer(policy_of(name, stream)), stream) == twin(name, stream)


@pytest.mark.parametrize("codes", [2, 5])
def test_hierarchies_with_more_leaves_than_codes(codes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("shoal.blocks.domain"), "CODES", codes)
    stream = _of_several_vectors(8, 5, 130)
    assert engine(Anonymizer(policy_of("fads", stream)), stream) == twin("fads", stream)


@pytest.mark.slow
@pytest.mark.streams
@pytest.mark.parametrize("match", ["blurred", "extended"])
def test_tide_cuts_large_waves_into_parts(match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("shoal.algorithms.tide.wave", "tests.naive.tide"):
        monkeypatch.setattr(import_module(module), "WHOLE", 6)
        monkeypatch.setattr(import_module(module), "PART", 3)

    @examples(0.4)
    @given(generated("tide", matches=[match]))
    def equal(stream: Stream) -> None:
        assert engine(Anonymizer(policy_of("tide", stream)), stream) == twin("tide", stream)

    equal()
    stream = _of_several_vectors(9, 5, 130)._replace(match=match)
    releases = engine(Anonymizer(policy_of("tide", stream)), stream)
    assert releases == twin("tide", stream)
    monkeypatch.undo()
    assert releases != twin("tide", stream)


@pytest.mark.slow
@pytest.mark.parametrize("match", ["blurred", "root"])
def test_tide_with_hierarchies_of_more_leaves_than_16_bits_number(match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("shoal.algorithms.tide.wave"), "LEAVES", 2)
    stream = _of_several_vectors(8, 5, 130)._replace(match=match)
    assert engine(Anonymizer(policy_of("tide", stream)), stream) == twin("tide", stream)


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


@pytest.mark.parametrize("match", ["maybe", "blurred"])
def test_values_closer_than_rough_distances_can_tell(match: str) -> None:
    """All values lie within two steps of the rounding, so that the exact distances decide. Persons come back."""
    random = Random(7)
    events = tuple(Arrival(random.randrange(25), (0.5 + random.random() / 8000, random.random())) for _ in range(400))
    stream = Stream((Numeric(0.0, 1.0), Numeric(0.0, 1e5)), 4, ("count", 40), {}, events, (), match=match)
    assert engine(Anonymizer(policy_of("fads", stream)), stream) == twin("fads", stream)


@pytest.mark.parametrize("name", ["kvarp", "iot"])
def test_a_group_that_has_as_many_rows_as_it_remembers(name: str) -> None:
    """All tuples are equal, and both prefer a cover to an equally good group: each group is reused until it is full."""
    random = Random(3)
    events = tuple(Arrival(random.randrange(2000), (0.5,)) for _ in range(1200))
    stream = Stream((Numeric(0.0, 1.0),), 2, ("count", 12), {"reuse_age": 5000}, events, (700,), one_in_k=True)
    releases = engine(Anonymizer(policy_of(name, stream)), stream)
    assert releases == twin(name, stream)
    has_one_in_k(stream, releases)
    assert max(Counter(r.cluster for r in releases).values()) == 512


def _of_several_vectors(quasi: int, k: int, length: int) -> Stream:
    random = Random(quasi)
    sets = ["deep set", "deep set of 2 with support", "wide set", "wide set of 4"]
    kinds = [Numeric(0.0, 1.0), Numeric(-3.0, 4.0), "deep", "flat", *sets]
    domains = tuple(random.choice(kinds) for _ in range(quasi))
    events = []
    for _ in range(2 * length + 20):
        values = (
            random.uniform(domain.low, domain.high) if isinstance(domain, Numeric) else random.choice(sorted(TREES[domain]))
            for domain in domains
        )
        some = tuple(value if random.random() < 0.9 else None for value in values)
        events.append(Arrival(random.randrange(3 * length), some))
    return Stream(domains, k, ("count", length), {}, tuple(events), tuple(range(40, len(events), 57)))
