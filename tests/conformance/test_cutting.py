"""How a stream is cut into batches changes nothing, nor does a snapshot and a restore at any point."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.algorithms import WINDOWED
from shoal.conformance.cutting import is_the_same_in_batches, is_the_same_interrupted
from shoal.conformance.parameters import generated, promised
from shoal.conformance.streams import Stream, policy_of
from tests.examples import examples


@pytest.mark.slow
@pytest.mark.streams
@pytest.mark.parametrize("name", WINDOWED)
def test_batches_equal_single_records(name: str) -> None:
    @examples(0.15)
    @given(st.one_of(generated(name), promised(name)))
    def equal(stream: Stream) -> None:
        is_the_same_in_batches(policy_of(name, stream), stream)

    equal()


@pytest.mark.slow
@pytest.mark.streams
@pytest.mark.parametrize("name", WINDOWED)
def test_snapshot_and_restore_go_on_as_if_nothing_had_been(name: str) -> None:
    @examples(0.15)
    @given(st.one_of(generated(name), promised(name)), st.data())
    def equal(stream: Stream, data: st.DataObject) -> None:
        is_the_same_interrupted(policy_of(name, stream), stream, data)

    equal()
