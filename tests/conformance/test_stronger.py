"""Stronger promises: every algorithm releases what its naive twin releases, and the twins keep them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Anonymizer
from shoal.algorithms import WINDOWED
from shoal.conformance import stronger
from shoal.conformance.parameters import WINDOWS, promised, with_promises
from shoal.conformance.streams import Stream, engine, policy_of
from tests.conformance.test_waves import long_stream
from tests.conformance.twins import naive
from tests.examples import examples
from tests.naive import Arrival

WAVES = with_promises(st.builds(long_stream, st.integers(0, 10**6), st.sampled_from(WINDOWS)))


def agree(name: str, weight: float, streams: st.SearchStrategy[Stream]) -> None:
    @examples(weight)
    @given(streams)
    def equal(stream: Stream) -> None:
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
        assert engine(Anonymizer(policy_of(name, stream)), stream) == running.releases

    equal()


@pytest.mark.streams
@pytest.mark.parametrize("name", WINDOWED)
def test_releases_equal_the_naive_twins_which_keep_the_promises(name: str) -> None:
    agree(name, 0.65, promised(name))


@pytest.mark.streams
def test_waves_equal_those_of_the_naive_twin_which_keep_the_promises() -> None:
    agree("tide", 0.07, WAVES)
