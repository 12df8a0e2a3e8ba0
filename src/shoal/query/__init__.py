"""Questions to a published table: answers with bounds, which hold for sure, and an estimate between them."""

from shoal.query.condition import Condition, between, missing, one_of
from shoal.query.published import Published, Range

__all__ = ["Condition", "Published", "Range", "between", "missing", "one_of"]
