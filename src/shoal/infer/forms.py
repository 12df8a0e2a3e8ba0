"""What texts look like: things that identify persons by themselves, dates, words for "missing"."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 60
MOST_WORDS = 6

_FORMS = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[^@\s.]+",
    "web addresses": r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+",
    "IP addresses": r"\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){3,7}",
    "hardware addresses": r"[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}",
    "dates": r"\d{4}-\d\d?-\d\d?(?:[T ].*)?|\d{1,2}[/.-]\d{1,2}[/.-](?:\d{4}|\d\d)(?:[T ].*)?|\d{4}/\d\d?/\d\d?.*",
    "coordinates": r"\(?[+-]?\d{1,3}\.\d+°?\s*[NSEWnsew]?\s*[,; ]\s*[+-]?\d{1,3}\.\d+°?\s*[NSEWnsew]?\)?",
    "long codes": r"(?=.*\d)[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "phone numbers": r"(?!\d{4}-\d{4}$)(?=(?:\D*\d){7})\+?\(?\d[\d ()/.-]{6,}",
}
_COMPILED = {kind: re.compile(pattern, re.IGNORECASE | re.ASCII) for kind, pattern in _FORMS.items()}
_MISSING = (
    "|?|??|na|n/a|n.a.|#n/a|<na>|nan|null|nil|none|(null)|\\n|-|--|---|.|..|unknown|missing|not available|not known|"
    "not specified|unspecified|undefined|blank|empty|(none)|(missing)|(unknown)"
)
_MISSING_TEXTS = frozenset(_MISSING.split("|"))


def form(values: Iterable[str]) -> str | None:
    """What some of the values look like, if it is something that is never published.

    >>> form(["x", "ann@example.org"]), form(["Paris", "Oslo"]), form(["2024-05-01T10:00Z"])
    ('e-mail addresses', None, 'dates')
    """
    values = list(values)
    for kind, pattern in _COMPILED.items():
        if any(map(pattern.fullmatch, values)):
            return kind
    return "free text" if any(map(_is_prose, values)) else None


def is_missing(text: str) -> bool:
    """Whether a text is one that usually stands for a missing value.

    >>> [is_missing(text) for text in ("", "?", "N/A", "Unknown", "0", "no")]
    [True, True, True, True, False, False]
    """
    return text.lower() in _MISSING_TEXTS


def _is_prose(text: str) -> bool:
    return len(text) > LONGEST or len(text.split()) > MOST_WORDS or "\n" in text
