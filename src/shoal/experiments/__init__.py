"""The papers' experiments, run again on the public interface."""

from shoal.experiments.paper import FULL, QUICK, Scale
from shoal.experiments.report import Chapter, tally
from shoal.experiments.reproduce import PAPERS, reproduce

__all__ = ["FULL", "PAPERS", "QUICK", "Chapter", "Scale", "reproduce", "tally"]
