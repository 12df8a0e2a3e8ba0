"""How fast shoal is on this machine, and how much each algorithm loses."""

from shoal.bench.benchmark import Progress, anonymize
from shoal.bench.comparison import (
    Comparison,
    Plan,
    Subject,
    add_rows,
    compare,
    of_policy,
    short_table,
    subjects,
    write_comparison,
)
from shoal.bench.data import Adult, plain
from shoal.bench.machine import described, machine, one_core
from shoal.bench.plot import COLOURS, MARKS, check_plot, plot
from shoal.bench.report import DEFAULT, PARTS, Report, measure
from shoal.bench.table import Table
from shoal.bench.workload import FULL, QUICK, Variant, Workload, contenders, variants

__all__ = [
    "COLOURS", "DEFAULT", "FULL", "MARKS", "PARTS", "QUICK", "Adult", "Comparison", "Plan", "Progress", "Report", "Subject",
    "Table", "Variant", "Workload", "add_rows", "anonymize", "check_plot", "compare", "contenders", "described", "machine",
    "measure", "of_policy", "one_core", "plain", "plot", "short_table", "subjects", "variants", "write_comparison",
]  # fmt: skip
