"""Stronger promises: every algorithm releases what its naive twin releases, and the twins keep them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Anonymizer
from shoal.algorithms import WINDOWED
from tests.conformance import stronger
from tests.conformance.parameters import WINDOWS, examples, promised, with_promises
from tests.conformance.streams import Stream, engine, naive, policy_of, twin
from tests.conformance.test_waves import long_stream
from tests.naive import Arrival

WAVES = with_promises(st.builds(long_stream, st.integers(0, 10**6), st.sampled_from(WINDOWS)))


def agree(name: str, number: int, streams: st.SearchStrategy[Stream]) -> None:
    @examples(number)
    @given(streams)
    def equal(stream: Stream) -> None:
        assert engine(Anonymizer(policy_of(name, stream)), stream) == twin(name, stream)

    equal()


@pytest.mark.parametrize("name", WINDOWED)
def test_releases_equal_the_naive_twins(name: str) -> None:
    agree(name, 300, promised(name))


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", WINDOWED)
def test_releases_equal_the_naive_twins_on_a_thousand_streams(name: str) -> None:
    agree(name, 1000, promised(name))


def test_waves_equal_the_naive_twins() -> None:
    agree("tide", 10, WAVES)


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_many_waves_equal_the_naive_twins() -> None:
    agree("tide", 60, WAVES)


def keep(name: str, number: int, streams: st.SearchStrategy[Stream]) -> None:
    @examples(number)
    @given(streams)
    def hold(stream: Stream) -> None:
        running, values, came = naive(name, stream), stronger.Values(stream), 0
        for event in stream.events:
            before, arrived = len(running.releases), came
            running.take_in(event)
            came += isinstance(event, Arrival)
            values.add(running.releases[before:], (arrived, came))
        before = len(running.releases)
        running.end()
        values.add(running.releases[before:], (came,))
        stronger.check(stream, running.releases, name)

    hold()


@pytest.mark.parametrize("name", WINDOWED)
def test_twins_keep_the_promises(name: str) -> None:
    keep(name, 150, promised(name))


def test_waves_keep_the_promises() -> None:
    keep("tide", 5, WAVES)


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", WINDOWED)
def test_twins_keep_the_promises_on_hundreds_of_streams(name: str) -> None:
    keep(name, 500, promised(name))
