"""How fast shoal is on this machine."""

from shoal.bench.measurement import DEFAULT, measure
from shoal.bench.plot import plot
from shoal.bench.report import PARTS, Report
from shoal.bench.session import Progress
from shoal.bench.settings import FULL, QUICK, Settings
from shoal.bench.table import Table

__all__ = ["DEFAULT", "FULL", "PARTS", "QUICK", "Progress", "Report", "Settings", "Table", "measure", "plot"]
