"""How fast shoal is on this machine, and how much each algorithm loses."""

from shoal.bench.benchmark import Progress, anonymize
from shoal.bench.data import Adult, plain
from shoal.bench.machine import described, machine, one_core
from shoal.bench.plot import COLOURS, MARKS, check_plot, plot
from shoal.bench.report import DEFAULT, PARTS, Report, measure
from shoal.bench.table import Table
from shoal.bench.workload import FULL, QUICK, Variant, Workload, variants

__all__ = [
    "COLOURS", "DEFAULT", "FULL", "MARKS", "PARTS", "QUICK", "Adult", "Progress", "Report", "Table", "Variant", "Workload",
    "anonymize", "check_plot", "described", "machine", "measure", "one_core", "plain", "plot", "variants",
]  # fmt: skip
