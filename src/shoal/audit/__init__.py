"""The judge: whether the promises held, by code that shares nothing with the code that made them."""

from shoal.audit.advice import ACROSS, Advice, Price
from shoal.audit.answers import Answers, Distribution, answers, bar_edges, distributions
from shoal.audit.attacks import Attack, across_releases
from shoal.audit.classes import promised
from shoal.audit.evidence import Evidence
from shoal.audit.exposure import Exposure, beats_chance, pseudonym_bound
from shoal.audit.finding import Finding, Verdict, Violation
from shoal.audit.judge import Progress, audit, gather, judge
from shoal.audit.manifest import read_manifest
from shoal.audit.observations.evidence import Observed
from shoal.audit.parts import Whole, check_parts, judge_part, together
from shoal.audit.plain import worst
from shoal.audit.published import Band, Node
from shoal.audit.record import Judged, Record, recorded
from shoal.audit.report import FilterReport, Reading, Report, WindowReport
from shoal.audit.utility import losses
from shoal.audit.verdict import Headline, counted_as_persons, holds, not_counted, outside_k, percent
from shoal.audit.whole_rows import WholeRows

__all__ = [
    "ACROSS", "Advice", "Answers", "Attack", "Band", "Distribution", "Evidence", "Exposure", "FilterReport", "Finding",
    "Headline", "Judged", "Node", "Observed", "Price", "Progress", "Reading", "Record", "Report", "Verdict", "Violation",
    "Whole", "WholeRows", "WindowReport", "across_releases", "answers", "audit", "bar_edges", "beats_chance",
    "check_parts", "counted_as_persons", "distributions", "gather", "holds", "judge", "judge_part", "losses", "not_counted",
    "outside_k", "percent", "promised", "pseudonym_bound", "read_manifest", "recorded", "together", "worst",
]  # fmt: skip
