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
            return end(low) if low == high else f"{end(low)} – {end(high)}"
        case bool():
            return str(value).lower()
        case float():
            return end(value)
    return str(value)


def end(value: Any) -> str:
    """One end of an interval.

    >>> end(1200.0), end(0.1 + 0.2), end("2025-03-01T08:00:20Z")
    ('1200', '0.3', '2025-03-01 08:00:20')
    """
    if isinstance(value, int | float):
        return f"{value:.10g}"
    return str(value).replace("T", " ").removesuffix("Z")
