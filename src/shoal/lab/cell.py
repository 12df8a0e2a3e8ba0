"""A published value as people read it."""

from __future__ import annotations

from typing import Any


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
            return _end(low) if low == high else f"{_end(low)} – {_end(high)}"
        case bool():
            return str(value).lower()
        case float():
            return _end(value)
    return str(value)


def _end(value: Any) -> str:
    if isinstance(value, int | float):
        return f"{value:.10g}"
    return str(value).replace("T", " ").removesuffix("Z")
