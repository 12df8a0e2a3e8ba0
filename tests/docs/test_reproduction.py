"""The tally of the reproduction, and a cause for each claim that does not hold."""

from __future__ import annotations

import re
from collections import Counter

from shoal.experiments.claim import FAILS, HOLDS, PARTLY
from tests.docs.base import read

_OURS = "All algorithms on all data sets"  # in no paper


def claims() -> list[tuple[str, str, str, str]]:
    """The paper, the place, the claim and the verdict of each line of the report."""
    found, title = [], ""
    for line in read("docs/reproduction/report.md").splitlines():
        title = line.removeprefix("## ") if line.startswith("## ") else title
        cells = line.strip("| ").split(" | ")
        if cells[-1] in (HOLDS, PARTLY, FAILS):
            found.append((title, cells[0], cells[1], cells[-1]))
    return found


def test_the_readme_has_the_tally() -> None:
    count = Counter(verdict for title, _, _, verdict in claims() if title != _OURS)
    text = " ".join(read("README.md").split())
    assert (
        f"Of {count.total()} claims in five papers, {count[HOLDS]} hold, {count[PARTLY]} hold partly and {count[FAILS]} do not"
        in text
    )


def test_each_claim_that_does_not_hold_has_a_cause() -> None:
    page = read("docs/reproduction/causes.md")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    assert [tuple(row[:3]) for row in rows] == [claim[:3] for claim in claims() if claim[3] == FAILS]
    kinds = Counter(row[3] for row in rows)
    assert set(kinds) <= {"our reading", "their data", "their claim", "undecided"}
    assert all(row[4] for row in rows)
    told = re.search(r"(\d+) are our reading, (\d+) their data, (\d+) their claim, (\d+) undecided", page)
    assert told and [int(each) for each in told.groups()] == [
        kinds[kind] for kind in ("our reading", "their data", "their claim", "undecided")
    ]
