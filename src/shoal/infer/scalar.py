"""Texts and figures as a policy and its comments write them."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_./+-]| (?=[A-Za-z0-9]))*")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n", "none"})
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def scalar(text: str) -> str:
    r"""A YAML scalar that is read back as this very text, on one line.

    >>> [scalar(text) for text in ("native-country", " sex", "2019", "no", "a: b", "x\ny")]
    ['native-country', '" sex"', '"2019"', '"no"', '"a: b"', '"x\\ny"']
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return f'"{"".join(map(_escaped, text))}"'


def named(text: str) -> str:
    """A name within a sentence.

    >>> named("age"), named("a: b")
    ("'age'", '"a: b"')
    """
    written = scalar(text)
    return written if written.startswith('"') else f"'{written}'"


def counted(number: int, noun: str, nouns: str = "") -> str:
    """So many of something; `nouns` is the plural where that is not just an s more.

    >>> counted(1, "row"), counted(12000, "row"), counted(2, "category", "categories")
    ('1 row', '12,000 rows', '2 categories')
    """
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def percent(part: int, whole: int) -> str:
    """A rough share.

    >>> percent(1, 1000), percent(26, 100), percent(999, 1000)
    ('under 1 %', '26 %', 'over 99 %')
    """
    share = 100 * part / whole
    return "under 1 %" if share < 1 else "over 99 %" if 99 < share < 100 else f"{share:.0f} %"


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
