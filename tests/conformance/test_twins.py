"""Every algorithm releases what its naive twin releases: row, outcome, group, generalization, times, in the same order."""

from __future__ import annotations

import pytest
from hypothesis import given

from shoal import Anonymizer
from shoal.algorithms import WINDOWED
from tests.conformance.parameters import examples, generated
from tests.conformance.streams import Stream, engine, policy_of, twin


def agree(name: str, number: int) -> None:
    @examples(number)
    @given(generated(name))
    def equal(stream: Stream) -> None:
        assert engine(Anonymizer(policy_of(name, stream)), stream) == twin(name, stream)

    equal()


@pytest.mark.parametrize("name", WINDOWED)
def test_releases_equal_the_naive_twins(name: str) -> None:
    agree(name, 1000)


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", WINDOWED)
def test_releases_equal_the_naive_twins_on_thousands_of_streams(name: str) -> None:
    agree(name, 3000)
