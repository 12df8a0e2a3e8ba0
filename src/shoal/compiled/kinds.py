"""The kinds of arguments that a kernel takes, without the compiler: arrays, records, numbers, and named tuples of them.

Machine code is made for a tuple of kinds. Its entry takes one pointer to *words*, 64 bits each: first the size of the header
of Python's objects, then for every array and record the address of the Python object, and for every number the number. NumPy
promises where an array object holds the address of its data and its shape, so the entry finds them without Python's help.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any, NamedTuple

import numpy as np

HEADER = object.__basicsize__
"""The size of the part of an object that all Python objects have; what NumPy defines follows it."""

_C_ORDER, _WRITABLE = 0x1, 0x400  # NumPy's flags


class ArrayKind(NamedTuple):
    dtype: np.dtype[Any]
    ndim: int
    contiguous: bool
    writable: bool

    def __str__(self) -> str:
        return f"{self.dtype}[{self.ndim}{'' if self.contiguous else ' strided'}]{'' if self.writable else ' read only'}"


class RecordKind(NamedTuple):
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"record {self.dtype}"


class NumberKind(NamedTuple):
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return str(self.dtype)


class TableKind(NamedTuple):
    """A named tuple: its class, the names of its fields, and their kinds."""

    name: str
    names: tuple[str, ...]
    kinds: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{n}: {k}' for n, k in zip(self.names, self.kinds, strict=True))})"


Kind = ArrayKind | RecordKind | NumberKind | TableKind

_NUMBERS = {int: np.dtype(np.int64), float: np.dtype(np.float64), bool: np.dtype(np.bool_)}


class Packed:
    """A named tuple as words, with its kind.

    A named tuple does not change, so its words stay valid as long as it lives. `update` packs a successor and keeps the parts
    that stayed the same: a window of a hundred arrays is not looked at again for every record.
    """

    __slots__ = ("_parts", "key", "kind", "value", "words")

    def __init__(self, value: tuple[Any, ...], parts: list[Any] | None = None, known: Packed | None = None) -> None:
        self.value: tuple[Any, ...] = value
        self._parts: list[Any] = [_part(field, None) for field in value] if parts is None else parts
        self.words = [word for part in self._parts for word in part.words]
        names = getattr(value, "_fields", tuple(map(str, range(len(value)))))
        self.kind = TableKind(type(value).__name__, names, tuple(part.kind for part in self._parts))
        self.key: int
        if known is not None and known.kind == self.kind:
            self.kind, self.key = known.kind, known.key
        else:
            self.key = _interned(self.kind)

    def update(self, value: tuple[Any, ...]) -> Packed:
        if value is self.value:
            return self
        if type(value) is not type(self.value):
            return Packed(value)
        parts = [old if old.value is field else _part(field, old) for old, field in zip(self._parts, value, strict=True)]
        return self if all(map(is_, parts, self._parts)) else Packed(value, parts, self)


class _Leaf(NamedTuple):
    value: Any
    kind: Kind
    words: tuple[Any, ...]


def _part(field: Any, old: Packed | _Leaf | None) -> Packed | _Leaf:
    if isinstance(field, tuple):
        return old.update(field) if isinstance(old, Packed) else Packed(field)
    return _Leaf(field, kind_of(field), (word_of(field),))


_KINDS: dict[TableKind, int] = {}


def _interned(kind: TableKind) -> int:
    """A number for each kind: quick to compare."""
    return _KINDS.setdefault(kind, len(_KINDS))


def kind_of(value: Any) -> Kind:
    if isinstance(value, np.ndarray):
        flags = value.flags.num
        return ArrayKind(value.dtype, value.ndim, bool(flags & _C_ORDER), bool(flags & _WRITABLE))
    if isinstance(value, np.void):
        return RecordKind(value.dtype)
    if isinstance(value, Packed):
        return value.kind
    if isinstance(value, tuple):
        return Packed(value).kind
    if isinstance(value, np.generic):
        return NumberKind(value.dtype)
    if type(value) in _NUMBERS:
        return NumberKind(_NUMBERS[type(value)])
    raise TypeError(f"a kernel takes arrays, records, numbers and named tuples of them, not {type(value).__name__}")


def word_of(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.void):
        return id(value)
    return value.item() if isinstance(value, np.generic) else value


def flat(kinds: Sequence[Kind]) -> list[ArrayKind | RecordKind | NumberKind]:
    """The kinds of all words, in order."""
    found: list[ArrayKind | RecordKind | NumberKind] = []
    for kind in kinds:
        found += flat(kind.kinds) if isinstance(kind, TableKind) else [kind]
    return found


def format_of(kinds: Sequence[Kind]) -> str:
    """The words as `struct` packs them."""
    return "=q" + "".join(_letter(kind) for kind in flat(kinds))


def _letter(kind: ArrayKind | RecordKind | NumberKind) -> str:
    if not isinstance(kind, NumberKind):
        return "Q"
    return {"f": "d", "u": "Q"}.get(kind.dtype.kind, "q")
