"""Streams at the edge of what can be: nobody, one person, k of 1, nothing but nulls, both ends of a range."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shoal import Anonymizer, PolicyError
from shoal.algorithms import WINDOWED
from shoal.conformance.parameters import MIXING, WINDOWS
from shoal.conformance.promises import check
from shoal.conformance.streams import Stream, engine, policy_of
from tests.conformance.twins import twin
from tests.naive import Arrival, Numeric, Release

RANGE = Numeric(-1.0, 3.0)


def stream(kind: str, k: int, person: Callable[[int], int], *values: tuple[float | None, str | None]) -> Stream:
    events = tuple(Arrival(person(i), value, float(i)) for i, value in enumerate(values))
    return Stream((RANGE, "deep"), k, (kind, 4), {}, events, (1, 4, 5))


def made_for(name: str, given: Stream) -> Stream:
    """The stream with the parameters that an algorithm cannot do without."""
    needed = {"reuse_age": 4, "round": given.k, "deadline": 4} if name == "fast" and given.window[0] == "time" else {}
    return given._replace(parameters=needed)


def run(name: str, match: str, given: Stream) -> list[Release]:
    given = made_for(name, given._replace(match=match))
    releases = engine(Anonymizer(policy_of(name, given)), given)
    check(given, releases, name)
    assert releases == twin(name, given)
    return releases


@pytest.mark.parametrize("match", MIXING)
@pytest.mark.parametrize("kind", WINDOWS)
@pytest.mark.parametrize("name", WINDOWED)
class TestEveryAlgorithm:
    def test_empty_stream(self, name: str, kind: str, match: str) -> None:
        given = made_for(name, stream(kind, 2, lambda i: i)._replace(match=match))
        anonymizer = Anonymizer(policy_of(name, given))
        assert engine(anonymizer, given) == []
        assert anonymizer.to_records(anonymizer.tick(1e9)) == []
        stats = anonymizer.stats
        assert (stats.released, stats.loss, stats.smallest_group, stats.longest_wait) == (0, 0.0, None, None)

    def test_one_person_is_always_suppressed(self, name: str, kind: str, match: str) -> None:
        releases = run(name, match, stream(kind, 2, lambda i: 7, *[(0.5, "a"), (None, "a"), (None, None)] * 5))
        assert {(r.how, r.generalization) for r in releases} == {("suppressed", ((-1.0, 3.0), "any"))}

    def test_k_of_1_publishes_values_as_they_are(self, name: str, kind: str, match: str) -> None:
        values = [(0.5, "a"), (-1.0, None), (None, "e"), (None, None), (3.0, "b")] * 2
        releases = run(name, match, stream(kind, 1, lambda i: 0, *values))
        assert {r.how for r in releases if name != "fast"} <= {"cluster", "reuse"}
        for r in releases:
            number, leaf = values[r.row]
            if name not in ("castle", "fast"):  # which let whole clusters go, and suppress what is urgent
                assert r.generalization == (None if number is None else (number, number), leaf)

    def test_nothing_but_nulls(self, name: str, kind: str, match: str) -> None:
        releases = run(name, match, stream(kind, 3, lambda i: i, *[(None, None)] * 12))
        assert {r.generalization for r in releases if r.how != "suppressed"} == {(None, None)}

    def test_both_ends_of_a_range(self, name: str, kind: str, match: str) -> None:
        releases = run(name, match, stream(kind, 4, lambda i: i, *[(-1.0, "a"), (3.0, "e")] * 4))
        assert {r.generalization for r in releases} == {((-1.0, 3.0), "any")}

    def test_equal_tuples_lose_nothing(self, name: str, kind: str, match: str) -> None:
        releases = run(name, match, stream(kind, 3, lambda i: i, *[(3.0, "d")] * 12))
        assert {r.generalization for r in releases if r.how != "suppressed"} == {((3.0, 3.0), "d")}


@pytest.mark.parametrize("kind", ["count", "buffer"])
@pytest.mark.parametrize("name", WINDOWED)
def test_a_window_smaller_than_k_is_refused(name: str, kind: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy_of(name, stream(kind, 5, lambda i: i))
    assert str(caught.value) == f"window.{kind}=4 is below k=5: no group could ever fill. Use at least 5."
