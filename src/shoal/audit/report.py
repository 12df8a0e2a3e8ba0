"""What an audit found."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from shoal.audit.advice import Advice, Price, advice
from shoal.audit.assessment import Assessment, assessment
from shoal.audit.exposure import Exposure
from shoal.audit.figures import Figures
from shoal.audit.finding import Finding, Verdict
from shoal.audit.observations.figures import Transactions
from shoal.audit.page import assessed, filtered, framed, windowed
from shoal.audit.page.policy import fields
from shoal.audit.page.transactions import LIMITS
from shoal.audit.page.verdict import open_to
from shoal.audit.plain import answers, filter_answers
from shoal.audit.population import Present
from shoal.audit.record import Record
from shoal.audit.verdict import Headline, filter_headline, headline
from shoal.audit.whole_rows import WholeRows
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
class Report(ABC):
    """The verdict on each promise."""

    policy: Policy
    promises: tuple[Finding, ...]
    rows: Mapping[str, int]  # of the input, accepted, released, and hidden
    record: Record | None = field(default=None, kw_only=True)  # who judged what, and when; None for a trial in memory
    prices: Mapping[str, Price] = field(default_factory=dict, kw_only=True)  # of recommendations, by `Advice.about`

    @property
    @abstractmethod
    def answers(self) -> tuple[str, str, str]:
        """The answers to the three questions, in plain words."""

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What the numbers recommend, the most urgent first."""
        return ()

    @property
    @abstractmethod
    def headline(self) -> Headline:
        """The verdict in one sentence and one colour."""

    @property
    def accepted(self) -> bool:
        """Whether no attack succeeds more often than the policy accepts."""
        return True

    @property
    def held(self) -> bool:
        """Whether no promise was broken."""
        return all(finding.verdict != Verdict.BROKEN for finding in self.promises)

    def __getitem__(self, promise: str) -> Finding:
        """The finding on a promise."""
        return next(finding for finding in self.promises if finding.promise == promise)

    @property
    @abstractmethod
    def limits(self) -> tuple[tuple[str, str], ...]:
        """What no promise covers: of each limit its name and what it is."""

    @property
    def assessment(self) -> Assessment:
        """The parts of a data protection impact assessment that policy and audit can fill, and what is left to write."""
        return assessment(self)

    def to_assessment(self) -> str:
        """The impact assessment as one page that needs nothing else."""
        return assessed(self)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types."""

    def _signed(self) -> dict[str, Any]:
        """What makes the report a document, in plain types."""
        about = self.policy.about.model_dump()
        return {
            "record": asdict(self.record) if self.record else None,
            "about": {**about, "recipients": list(about["recipients"])},
            "in_words": dict(zip(("promises", "outsider", "data"), self.answers, strict=True)),
            "recommendations": [asdict(each) for each in self.advice],
            "fields": [{"name": name, "role": role, "how": how} for name, role, how in fields(self.policy)],
            "not_protected": [{"what": name, "says": says} for name, says in self.limits],
            "assessment": [asdict(part) for part in self.assessment],
        }

    @abstractmethod
    def to_html(self) -> str:
        """Everything as one page that needs nothing else."""

    def _repr_html_(self) -> str:
        return framed(self.to_html())

    def to_json(self) -> str:
        """Everything as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class WindowReport(Report):
    """The report on an algorithm that holds a window."""

    unit: str  # what classes count: persons, or rows
    nulls: Mapping[str, Reading]  # by the reading of nulls
    figures: Figures
    whole: WholeRows
    exposures: tuple[Exposure, ...]  # what an outsider can still do, the worst first
    population: Present | None = None  # which persons of a population are in the output, if a file of it was given

    @property
    def answers(self) -> tuple[str, str, str]:
        return answers(self)

    @property
    def advice(self) -> tuple[Advice, ...]:
        return advice(self)

    @property
    def limits(self) -> tuple[tuple[str, str], ...]:
        return tuple(open_to(self.policy))

    @property
    def headline(self) -> Headline:
        return headline(self)

    @property
    def accepted(self) -> bool:
        return not any(each.fails for each in self.exposures)

    def to_dict(self) -> dict[str, Any]:
        policy = self.policy
        return {
            "verdict": asdict(self.headline),
            "held": self.held,
            "accepted": self.accepted,
            **self._signed(),
            "questions": {
                "promises": [{"promise": each.promise, "verdict": str(each.verdict)} for each in self.promises],
                "outsider": [each.to_dict() for each in self.exposures],
                "data": {
                    "loss": self.figures.utility.loss.mean,
                    "in_doubt": self.figures.utility.doubt,
                    "suppressed": self.figures.utility.suppressed,
                    "count_error": self.figures.utility.answers.pair_median,
                },
            },
            "whole_rows": asdict(self.whole),
            "population": asdict(self.population) if self.population else None,
            "policy": {
                "fingerprint": policy.fingerprint,
                "k": policy.privacy.k,
                "suppressed": policy.suppressed,
                "accept": dict(policy.privacy.accept),
                "reasons": dict(policy.reasons),
                "nulls_match": policy.privacy.nulls_match,
                "min_support": policy.privacy.support,
                "sensitive": {
                    demand.name: {
                        "l": demand.l and demand.l._asdict(),
                        "t": demand.t,
                        "reference": demand.t and ("distribution" if demand.distribution else "input so far"),
                    }
                    for demand in policy.requirements
                },
                "weights": dict(policy.weights),
                "stretch": policy.stretch,
                "window": {policy.window.kind: policy.window.length},
                "algorithm": policy.algorithm.name,
                "quasi": [name for name, _ in policy.quasi],
            },
            "rows": dict(self.rows),
            "promises": [each.to_dict() for each in self.promises],
            "nulls": {"unit": self.unit, **{reading: asdict(each) for reading, each in self.nulls.items()}},
            "figures": asdict(self.figures),
        }

    def to_html(self) -> str:
        return windowed(self)


@dataclass(frozen=True)
class FilterReport(Report):
    """The report on z-anonymity."""

    traced: bool
    figures: Transactions

    @property
    def answers(self) -> tuple[str, str, str]:
        return filter_answers(self)

    @property
    def limits(self) -> tuple[tuple[str, str], ...]:
        return LIMITS

    @property
    def headline(self) -> Headline:
        return filter_headline(self)

    def to_dict(self) -> dict[str, Any]:
        policy = self.policy
        assert policy.item is not None
        return {
            "verdict": asdict(self.headline),
            "held": self.held,
            **self._signed(),
            "policy": {
                "fingerprint": policy.fingerprint,
                "item": list(policy.item.names),
                **policy.algorithm.model_dump(include={"z", "window", "withheld"}),
                "algorithm": policy.algorithm.name,
            },
            "rows": dict(self.rows),
            "promises": [each.to_dict() for each in self.promises],
            "figures": asdict(self.figures),
        }

    def to_html(self) -> str:
        return filtered(self)
