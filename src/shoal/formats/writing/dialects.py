"""How a cell is written in JSON lines and in CSV."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.column_types import OR_MISSING, SEPARATOR
from shoal.formats.json_values import content, dumps


def standard(texts: pa.Array) -> pa.Array:
    """JSON texts without the numbers that JSON does not have: infinities become texts, and NaN is missing.

    >>> standard(pa.array(['[-Infinity, NaN]', '"NaN"', "NaN", None])).to_pylist()
    ['["-Infinity", null]', '"NaN"', None, None]
    """
    return _patched(texts, rb"NaN|Infinity", _standard)


def _standard(text: str) -> str | None:
    value = json.loads(text, parse_float=_number, parse_constant=_number)
    return None if value is None else dumps(value)


def _number(text: str) -> float | str | None:
    value = float(text)
    return value if math.isfinite(value) else None if math.isnan(value) else json.dumps(value)


class Dialect(ABC):
    """What is special about one text format."""

    null: str
    end: str
    quote: str
    nests = False  # whether objects can be inside objects
    interval: tuple[str, str, str]  # what is before its ends, after them, and after them if it is in doubt

    @abstractmethod
    def before(self, names: Sequence[str]) -> list[str]:
        """The text before each cell of a record."""

    @abstractmethod
    def escaped(self, values: pa.Array) -> pa.Array:
        """Strings as they are written between two `quote`."""

    @abstractmethod
    def in_doubt(self, labels: pa.Array) -> pa.Array:
        """The cells of labels that may be missing instead."""

    @abstractmethod
    def sets(self, sets: pa.ListArray) -> pa.Array:
        """The cells of sets and of blocks."""

    @abstractmethod
    def json(self, texts: pa.Array) -> pa.Array:
        """JSON texts as they are written in a cell."""


class Jsonl(Dialect):
    """One object per line, as `json.dumps(record, ensure_ascii=False)` writes it.

    >>> Jsonl().escaped(pa.array(['a', 'say "b"'])).to_pylist()
    ['a', 'say \\\\"b\\\\"']
    """

    nests = True
    null = "null"
    end = "}\n"
    quote = '"'
    interval = ("[", "]", ", null]")

    def before(self, names: Sequence[str]) -> list[str]:
        return [("{" if i == 0 else ", ") + dumps(name) + ": " for i, name in enumerate(names)]

    def escaped(self, values: pa.Array) -> pa.Array:
        return _patched(values, rb'["\\\x00-\x1f]', lambda text: dumps(text)[1:-1])

    def in_doubt(self, labels: pa.Array) -> pa.Array:
        return joined('["', self.escaped(labels), '", null]')

    def sets(self, sets: pa.ListArray) -> pa.Array:
        labels = joined('"', self.escaped(sets.values.dictionary), '"')
        texts = labels.take(sets.values.indices).fill_null("null")
        return joined("[", pc.binary_join(pa.ListArray.from_arrays(sets.offsets, texts), ", "), "]")

    def json(self, texts: pa.Array) -> pa.Array:
        return texts


class Csv(Dialect):
    """RFC 4180, with quotes only where they are needed: an empty cell needs them if its line has no other cell.

    >>> Csv(2).json(pa.array(['"a"', '"b, c"', '1.5', '[1, 2]'])).to_pylist()
    ['a', '"b, c"', '1.5', '"[1, 2]"']
    """

    end = "\n"
    quote = ""
    interval = ('"[', ']"', f']{OR_MISSING}"')

    def __init__(self, columns: int) -> None:
        self.null = '""' if columns == 1 else ""

    def header(self, names: Sequence[str]) -> str:
        return ",".join(map(_csv, names)) + self.end

    def before(self, names: Sequence[str]) -> list[str]:
        return ["" if i == 0 else "," for i in range(len(names))]

    def escaped(self, values: pa.Array) -> pa.Array:
        return self._filled(_patched(values, rb'[",\n\r]', _csv))

    def in_doubt(self, labels: pa.Array) -> pa.Array:
        return self.escaped(joined(labels, OR_MISSING))

    def sets(self, sets: pa.ListArray) -> pa.Array:
        """The labels, and after them that the value may be missing.

        >>> labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None]), ["Canal", "Meadow"])
        >>> Csv(2).sets(pa.ListArray.from_arrays([0, 2, 4], labels)).to_pylist()
        ['Canal|Meadow', 'Meadow or missing']
        """
        texts = sets.values.dictionary.take(sets.values.indices).fill_null(OR_MISSING)
        whole = pc.binary_join(pa.ListArray.from_arrays(sets.offsets, texts), SEPARATOR)
        return self.escaped(pc.replace_substring(whole, SEPARATOR + OR_MISSING, OR_MISSING))

    def json(self, texts: pa.Array) -> pa.Array:
        inner = pc.binary_slice(texts.cast(pa.binary()), 1, -1).cast(pa.string())
        is_text = pc.starts_with(texts, '"')
        plain = pc.if_else(is_text, inner, texts)
        if re.search(rb'[",\\\n\r]', content(plain)):
            odd = pc.match_substring_regex(plain, r'[",\\\n\r]')
            plain = _replaced(plain, odd, map(_csv_of_json, texts.filter(odd).to_pylist()))
        return self._filled(plain)

    def _filled(self, texts: pa.Array) -> pa.Array:
        return pc.if_else(pc.equal(texts, ""), self.null, texts) if self.null else texts


def together(names: Sequence[str]) -> list[str]:
    """Paths in an order in which those under one name follow each other.

    >>> together(["a.b", "d", "a.c"])
    ['a.b', 'a.c', 'd']
    """
    places: dict[str, tuple[int, ...]] = {}
    firsts: dict[str, int] = {}
    for i, name in enumerate(names):
        steps = name.split(".")
        places[name] = tuple(firsts.setdefault(".".join(steps[: depth + 1]), i) for depth in range(len(steps)))
    return sorted(names, key=places.__getitem__)


def nested_befores(names: Sequence[str]) -> tuple[list[str], str]:
    """The text before each cell of a record whose names are paths, and its end.

    >>> nested_befores(["a.b", "a.c", "d"])
    (['{"a": {"b": ', ', "c": ', '}, "d": '], '}\\n')
    """
    befores: list[str] = []
    above: list[str] = []
    for i, name in enumerate(names):
        *folders, last = name.split(".")
        common = 0
        while common < min(len(above), len(folders)) and above[common] == folders[common]:
            common += 1
        text = "{" if i == 0 else "}" * (len(above) - common) + ", "
        text += "".join(f"{dumps(folder)}: {{" for folder in folders[common:])
        befores.append(f"{text}{dumps(last)}: ")
        above = folders
    return befores, "}" * (len(above) + 1) + "\n"


def joined(*texts: Any) -> pa.Array:
    """The texts of each row in one."""
    return pc.binary_join_element_wise(*texts, "")


def _csv(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\n\r]', text) else text


def _csv_of_json(text: str) -> str:
    return _csv(json.loads(text) if text.startswith('"') else text)


def _patched(values: pa.Array, special: bytes, correct: Callable[[str], str | None]) -> pa.Array:
    """The values, corrected where `special` occurs in them."""
    if not re.search(special, content(values)):
        return values
    odd = pc.match_substring_regex(values, special.decode())
    return _replaced(values, odd, map(correct, values.filter(odd).to_pylist()))


def _replaced(values: pa.Array, where: pa.Array, texts: Any) -> pa.Array:
    return pc.replace_with_mask(values, where, pa.array(texts, pa.string()))
