"""Records encoded under a small policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from shoal import Policy
from shoal.columns.encode import Encoded, Encoder

KEY = np.arange(2, dtype=np.uint64)
TREE = {"any": {"letters": ["a", "b", "é"], "rest": ["1", "true", "2.5"]}}


def policy(**sections: Any) -> Policy:
    """`age` in 0 to 100, `city` in the tree, `note` kept; sections replace, and `age` and `city` add options."""
    age, city = sections.pop("age", {}), sections.pop("city", {})
    written = {
        "person": "pid",
        "attributes": {
            "age": {"quasi": "numeric", "range": [0, 100], **age},
            "city": {"quasi": "categorical", "hierarchy": TREE, **city},
            "note": {"publish": "keep"},
        },
        "privacy": {"k": 1},
        "window": {"count": 4},
        "algorithm": {"name": "fads"},
    }
    return Policy.parse({**written, **sections})


def encode(columns: dict[str, Any], **sections: Any) -> Encoded:
    """Columns as arrays or lists; everyone is another person where none are given."""
    size = len(next(iter(columns.values())))
    if sections.get("person") != "none":
        columns = {"pid": [f"p{i}" for i in range(size)], **columns}
    return encoded(pa.RecordBatch.from_pydict(columns), **sections)


def encoded(batch: pa.RecordBatch, **sections: Any) -> Encoded:
    return Encoder(policy(**sections), KEY).encode(batch, np.arange(batch.num_rows))


def ages(column: Any, **sections: Any) -> list[float | None]:
    """What a column of ages becomes; None for missing. Nothing may be rejected."""
    found = encode({"age": column}, **sections)
    assert found.rejected == []
    return [None if value != value else value for value in found.values[0].tolist()]


def cities(column: Any, **sections: Any) -> list[str | None]:
    """What a column of cities becomes; None for missing, the root's name for an unknown one."""
    found = encode({"city": column}, **sections)
    assert found.rejected == []
    labels = [*["a", "b", "é", "1", "true", "2.5"], "any"]
    return [None if value != value else labels[int(value)] for value in found.values[1].tolist()]


def persons(column: Any, **sections: Any) -> list[int]:
    """Each row's person, numbered by first appearance. Nothing may be rejected."""
    found = encode({"pid": column}, **sections)
    assert found.rejected == []
    seen: dict[tuple[int, ...], int] = {}
    return [seen.setdefault(tuple(person), len(seen)) for person in found.person.tolist()]


def refusals(columns: dict[str, Any], **sections: Any) -> list[str]:
    return [str(rejection) for rejection in encode(columns, **sections).rejected]
