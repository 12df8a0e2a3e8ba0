"""A published value as people read it."""

from __future__ import annotations

from typing import Any

from shoal.text import end_text, interval_text


def cell(value: Any) -> str:
    """
    >>> cell({"lo": 20.0, "hi": 22.5}), cell({"lo": 3, "hi": 3}), cell("Europe"), cell(None), cell(True)
    ('20 – 22.5', '3', 'Europe', '', 'true')
    """
    match value:
        case None:
            return ""
        case {"value": inner}:
            return cell(inner)
        case {"lo": low, "hi": high}:
            return interval_text(low, high)
        case bool():
            return str(value).lower()
        case float():
            return end_text(value)
    return str(value)
