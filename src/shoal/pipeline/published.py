"""The types of published tuples, as far as a policy tells them."""

from __future__ import annotations

import pyarrow as pa

from shoal.column_types import BLURRED_INTERVAL, BLURRED_LABEL, ENDS, struct_of
from shoal.policy import Policy


def published_schema(policy: Policy) -> pa.Schema:
    """Intervals, labels and sets; null for fields whose type only the data tell: passed through, times, imputed values."""
    blurs = not policy.is_filter and policy.privacy.nulls_match == "blurred"
    known: dict[str, pa.DataType] = {}
    for name, attribute in () if getattr(policy.algorithm, "imputes", True) else policy.quasi:
        if not attribute.hierarchy:
            ends = [pa.float64(), pa.float64()]
            known[name] = struct_of(BLURRED_INTERVAL, [*ends, pa.bool_()]) if blurs else struct_of(ENDS, ends)
        elif attribute.sets:
            known[name] = pa.list_(pa.string())
        else:
            known[name] = struct_of(BLURRED_LABEL, [pa.string(), pa.bool_()]) if blurs else pa.string()
    if not policy.is_filter:
        known |= {name: pa.string() if blocks.names else pa.list_(pa.string()) for name, blocks in policy.blocks.items()}
        known |= dict.fromkeys(policy.bags, pa.string())
    return pa.schema([(name, known.get(name, pa.null())) for name in policy.published])
