"""z-anonymity as a model: how likely users are k-anonymous, what is kept, and which z to use."""

from __future__ import annotations

from shoal.model.grid import grid
from shoal.model.plan import Plan, plan
from shoal.model.population import Population, Publication
from shoal.model.realizations import Estimate, exact, tree
from shoal.model.tuner import NOTHING, Tuner, suitable_z

__all__ = ["NOTHING", "Estimate", "Plan", "Population", "Publication", "Tuner", "exact", "grid", "plan", "suitable_z", "tree"]
