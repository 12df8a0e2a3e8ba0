"""Changes of a database, as Debezium sends them: an envelope with the row before and after the change."""

from __future__ import annotations

import json
from typing import Any

from shoal.formats import dumps

OPERATION, AFTER = "op", "after"
_ROWS = ("c", "u", "r")  # created, updated, read by a snapshot; others remove rows, or are no change of a row


def is_removal(operation: Any) -> bool:
    """Whether a change has no row afterwards: a delete, a truncated table, a message.

    >>> [is_removal(operation) for operation in ("c", "u", "r", "d", "t")]
    [False, False, False, True, True]
    """
    return operation not in _ROWS and operation is not None


def row_after(payload: bytes) -> bytes | None:
    """The row after a change, as JSON; None if the change is a removal. What is no change stays as it is.

    >>> row_after(b'{"before": null, "after": {"age": 40}, "op": "c"}')
    b'{"age": 40}'
    >>> row_after(b'{"schema": {}, "payload": {"after": {"age": 41}, "op": "u"}}')
    b'{"age": 41}'
    >>> row_after(b'{"before": {"age": 40}, "after": null, "op": "d"}') is None, row_after(b"no JSON")
    (True, b'no JSON')
    """
    try:
        change = json.loads(payload)
        if isinstance(change, dict) and OPERATION not in change and isinstance(change.get("payload"), dict):
            change = change["payload"]
        if not isinstance(change, dict) or OPERATION not in change:
            return payload
        if is_removal(change[OPERATION]):
            return None
        return dumps(change[AFTER]).encode() if isinstance(change.get(AFTER), dict) else payload
    except (ValueError, RecursionError):
        return payload
