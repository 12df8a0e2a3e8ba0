"""What leaves, however the stream is cut, and whenever the anonymizer is saved and brought back."""

from __future__ import annotations

from hypothesis import strategies as st

from shoal import Anonymizer, Policy
from shoal.conformance.streams import Stream, engine, one_by_one


def is_the_same_in_batches(policy: Policy, stream: Stream) -> None:
    whole, single = Anonymizer(policy), Anonymizer(policy)
    expected = engine(whole, stream._replace(cuts=()))
    assert engine(Anonymizer(policy), stream) == expected
    assert one_by_one(single, stream) == expected
    assert single.stats == whole.stats


def is_the_same_interrupted(policy: Policy, stream: Stream, data: st.DataObject) -> None:
    straight = Anonymizer(policy)
    expected = engine(straight, stream)
    interrupted = Interrupted(Anonymizer(policy), data)
    assert engine(interrupted, stream) == expected
    assert interrupted.stats == straight.stats


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
