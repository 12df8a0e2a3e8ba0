"""Algorithms compared: the same data, the same k, the same longest wait, repeated over seeds."""

from shoal.bench.comparison.comparison import Comparison, Obstacle, Plan, compare
from shoal.bench.comparison.leaderboard import add_rows
from shoal.bench.comparison.measures import MEASURES, Measure
from shoal.bench.comparison.pages import short_table, write_comparison
from shoal.bench.comparison.subject import DATA, Subject, generated, of_policy, subjects

__all__ = [
    "DATA", "MEASURES", "Comparison", "Measure", "Obstacle", "Plan", "Subject", "add_rows", "compare", "generated", "of_policy",
    "short_table", "subjects", "write_comparison",
]  # fmt: skip
