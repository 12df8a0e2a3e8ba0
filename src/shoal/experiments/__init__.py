"""The papers' experiments, run again on the public interface."""

from shoal.experiments.paper import FULL, QUICK, Scale
from shoal.experiments.readings import write as write_readings
from shoal.experiments.report import PAPERS, Chapter, reproduce, tally

__all__ = ["FULL", "PAPERS", "QUICK", "Chapter", "Scale", "reproduce", "tally", "write_readings"]
