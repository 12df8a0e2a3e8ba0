"""Every algorithm releases what its naive twin releases: row, outcome, group, generalization, times, in the same order."""

from __future__ import annotations

import pytest
from hypothesis import given

from shoal import Anonymizer
from shoal.algorithms import NAMES
from tests.conformance.parameters import examples, generated
from tests.conformance.streams import Stream, engine, policy_of, twin


@pytest.mark.parametrize("name", NAMES)
def test_releases_equal_the_naive_twins(name: str) -> None:
    @examples(1000)
    @given(generated(name))
    def agree(stream: Stream) -> None:
        assert engine(Anonymizer(policy_of(name, stream)), stream) == twin(name, stream)

    agree()
