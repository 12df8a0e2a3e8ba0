"""Questions about categories that are published as sets."""

from __future__ import annotations

import pyarrow as pa

from shoal.policy import Policy
from shoal.query import Published, missing, one_of

POLICY = Policy.parse(
    {
        "attributes": {
            "home": {
                "quasi": "categorical",
                "hierarchy": {"City": {"South": ["Canal", "Meadow"], "North": ["Hill", "Dock"]}},
                "generalize": "set",
            }
        },
        "person": "none",
        "privacy": {"k": 2},
        "window": {"count": 4},
    }
)
SETS = [["Canal"], ["Canal", "Hill"], ["Canal", "North"], ["South", None], ["Hill", "Dock"], None]


def test_sets_have_bounds_and_an_estimate() -> None:
    for kind in (pa.list_(pa.string()), pa.list_(pa.dictionary(pa.int32(), pa.string()))):
        homes = Published(pa.table({"home": pa.array(SETS, kind)}), POLICY)
        assert homes.count(one_of("home", "Canal")) == (1, 1 + 1 / 2 + 1 / 3 + 1 / 4, 4)
        assert homes.count(one_of("home", "South")) == (1, 1 + 1 / 2 + 1 / 3 + 1 / 2, 4)
        assert homes.count(one_of("home", "North")) == (1, 1 / 2 + 2 / 3 + 1, 3)
        assert homes.count(missing("home")) == (1, 1.5, 2)
