"""What every algorithm says of itself is so."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from shoal import Anonymizer
from shoal.algorithms import WINDOWED
from shoal.conformance.parameters import generated
from shoal.conformance.promises import arrivals, mean_loss
from shoal.conformance.streams import Stream, engine, policy_of
from tests.examples import examples


@pytest.mark.slow
@pytest.mark.streams
@pytest.mark.parametrize("name", WINDOWED)
def test_stats_say_what_was_released(name: str) -> None:
    @examples(0.6)
    @given(generated(name))
    def agree(stream: Stream) -> None:
        anonymizer = Anonymizer(policy_of(name, stream))
        releases = engine(anonymizer, stream)
        stats = anonymizer.stats
        rows = arrivals(stream)
        groups: dict[int | None, set[object]] = {}
        for r in releases:
            if r.how == "cluster":
                groups.setdefault(r.cluster, set()).add(rows[r.row].person)
        hows = [r.how for r in releases]
        assert (stats.received, stats.rejected, stats.held) == (len(rows), 0, 0)
        assert (stats.released, stats.groups) == (len(releases), len(groups))
        assert (stats.clustered, stats.reused, stats.suppressed) == tuple(
            hows.count(how) for how in ("cluster", "reuse", "suppressed")
        )
        assert stats.smallest_group == min(map(len, groups.values()), default=None)
        assert stats.longest_wait == max((r.released - r.arrived for r in releases), default=None)
        assert math.isclose(stats.loss, mean_loss(stream, releases), abs_tol=1e-12)
        assert set(stats.faults) <= ({"late"} if name == "fast" and stream.window[0] == "time" else set())

    agree()
