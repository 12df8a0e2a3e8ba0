"""The judge: whether the promises held, by code that shares nothing with the code that made them."""

from shoal.audit.finding import Finding, Verdict, Violation
from shoal.audit.judge import Progress, audit
from shoal.audit.report import FilterReport, Reading, Report, WindowReport

__all__ = ["FilterReport", "Finding", "Progress", "Reading", "Report", "Verdict", "Violation", "WindowReport", "audit"]
