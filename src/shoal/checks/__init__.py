"""The check before a run: a policy, and a sample of data against it."""

from shoal.checks.check import Findings, check

__all__ = ["Findings", "check"]
