"""How a stream is cut into batches changes nothing, nor does a snapshot and a restore at any point."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Anonymizer
from shoal.algorithms import WINDOWED
from tests.conformance.parameters import examples, generated, promised
from tests.conformance.streams import Stream, engine, one_by_one, policy_of


@pytest.mark.parametrize("name", WINDOWED)
def test_batches_equal_single_records(name: str) -> None:
    @examples(60)
    @given(st.one_of(generated(name), promised(name)))
    def equal(stream: Stream) -> None:
        policy = policy_of(name, stream)
        whole, single = Anonymizer(policy), Anonymizer(policy)
        expected = engine(whole, stream._replace(cuts=()))
        assert engine(Anonymizer(policy), stream) == expected
        assert one_by_one(single, stream) == expected
        assert single.stats == whole.stats

    equal()


@pytest.mark.parametrize("name", WINDOWED)
def test_snapshot_and_restore_go_on_as_if_nothing_had_been(name: str) -> None:
    @examples(60)
    @given(st.one_of(generated(name), promised(name)), st.data())
    def equal(stream: Stream, data: st.DataObject) -> None:
        policy = policy_of(name, stream)
        straight = Anonymizer(policy)
        expected = engine(straight, stream)
        interrupted = Interrupted(Anonymizer(policy), data)
        assert engine(interrupted, stream) == expected
        assert interrupted.stats == straight.stats

    equal()


class Interrupted:
    """An anonymizer that before any call may be saved, thrown away and brought back in another one."""

    def __init__(self, anonymizer: Anonymizer, data: st.DataObject) -> None:
        self._anonymizer = anonymizer
        self._data = data

    def __getattr__(self, name: str) -> object:
        if name in ("push_batch", "tick", "flush"):
            fates = ["go on", "save", "save and restore", "save and restore a used one"]
            fate = self._data.draw(st.sampled_from(fates))
            if fate != "go on":
                snapshot = self._anonymizer.snapshot()
            if fate == "save and restore":
                self._anonymizer = Anonymizer(self._anonymizer.policy)
                self._anonymizer.restore(snapshot)
            elif fate == "save and restore a used one":
                self._anonymizer.flush()
                self._anonymizer.restore(snapshot)
        return getattr(self._anonymizer, name)
