"""Questions to a published table: answers with bounds, which hold for sure, and an estimate between them."""

from shoal.query.condition import Condition, between, missing, one_of
from shoal.query.published import Published, Range, leaves_below

__all__ = ["Condition", "Published", "Range", "between", "leaves_below", "missing", "one_of"]
