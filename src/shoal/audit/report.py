"""What an audit found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from shoal.audit.figures import Figures
from shoal.audit.finding import Finding, Verdict
from shoal.audit.html import framed, html
from shoal.policy import Policy


@dataclass(frozen=True)
class Reading:
    """The classes of the output under one reading of nulls."""

    smallest: int  # persons, or rows where there is no trace, as far as it was looked for; 0 where there are no classes
    floor: int  # no class is smaller; the same as `smallest` where that is certain
    below: int  # rows in classes of fewer than k
    alone: int  # rows in a class of one
    shown: int  # rows that are not suppressed
    unknown: int  # rows that could not be compared with all others in reasonable time, and are in none of these counts

    @property
    def exact(self) -> bool:
        """Whether all rows are in these counts."""
        return not self.unknown


@dataclass(frozen=True)
class Report:
    """The verdict on each promise, and figures."""

    policy: Policy
    promises: tuple[Finding, ...]
    rows: Mapping[str, int]  # of the input, accepted, released, suppressed
    unit: str  # what classes count: persons, or rows
    nulls: Mapping[str, Reading]  # by the reading of nulls
    figures: Figures

    @property
    def held(self) -> bool:
        """Whether no promise was broken."""
        return all(finding.verdict != Verdict.BROKEN for finding in self.promises)

    def __getitem__(self, promise: str) -> Finding:
        """The finding on a promise."""
        return next(finding for finding in self.promises if finding.promise == promise)

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types."""
        policy = self.policy
        return {
            "held": self.held,
            "policy": {
                "fingerprint": policy.fingerprint,
                "k": policy.privacy.k,
                "nulls_match": policy.privacy.nulls_match,
                "window": {policy.window.kind: policy.window.length},
                "algorithm": policy.algorithm.name,
                "quasi": [name for name, _ in policy.quasi],
            },
            "rows": dict(self.rows),
            "promises": [asdict(finding) for finding in self.promises],
            "nulls": {"unit": self.unit, **{reading: asdict(each) for reading, each in self.nulls.items()}},
            "figures": asdict(self.figures),
        }

    def to_html(self) -> str:
        """Everything as one page that needs nothing else."""
        return html(self)

    def _repr_html_(self) -> str:
        return framed(self)

    def to_json(self) -> str:
        """Everything as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
