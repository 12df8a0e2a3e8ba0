"""z-anonymity as a model: how likely users are k-anonymous, what is kept, and which z to use."""

from __future__ import annotations

from shoal.model.choice import suitable_z
from shoal.model.estimate import Estimate
from shoal.model.exact import exact
from shoal.model.grid import grid
from shoal.model.plan import Plan, plan
from shoal.model.population import Population, Publication
from shoal.model.tree import tree
from shoal.model.tuner import Tuner

__all__ = ["Estimate", "Plan", "Population", "Publication", "Tuner", "exact", "grid", "plan", "suitable_z", "tree"]
