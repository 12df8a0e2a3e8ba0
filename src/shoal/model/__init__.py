"""z-anonymity as a model: how likely users are k-anonymous, what is kept, and which z to use."""

from __future__ import annotations

from shoal.model.estimate import Estimate
from shoal.model.exact import exact
from shoal.model.grid import grid
from shoal.model.population import Population, Publication
from shoal.model.tree import tree

__all__ = ["Estimate", "Population", "Publication", "exact", "grid", "tree"]
