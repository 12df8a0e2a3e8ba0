"""The judge: whether the promises held, by code that shares nothing with the code that made them."""

from shoal.audit.attacks import Attack
from shoal.audit.classes import promised
from shoal.audit.evidence import Evidence
from shoal.audit.finding import Finding, Verdict, Violation
from shoal.audit.judge import Progress, audit, gather, judge
from shoal.audit.observations.evidence import Observed
from shoal.audit.report import FilterReport, Reading, Report, WindowReport
from shoal.audit.utility import losses

__all__ = [
    "Attack", "Evidence", "FilterReport", "Finding", "Observed", "Progress", "Reading", "Report", "Verdict", "Violation",
    "WindowReport", "audit", "gather", "judge", "losses", "promised",
]  # fmt: skip
