"""Named tuples in compiled code: one pointer to a table with the address and the shape of every array.

As numba's own named tuple, a hundred arrays would be unpacked at every call, and typed anew for every function. Here a field is
a load from the table. The table does not change while a kernel runs, which the loads declare to LLVM. A named tuple inside
another is a part of its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.np.numpy_support import from_dtype

from shoal.compiled.kinds import ArrayKind, Kind, NumberKind, RecordKind, TableKind
from shoal.compiled.sources import digest

WORD = ir.IntType(64)


class Table(types.Type):  # type: ignore[misc]
    """A named tuple of a kind."""

    def __init__(self, kind: TableKind) -> None:
        self.kinds = dict(zip(kind.names, kind.kinds, strict=True))
        self.fields = {name: type_of(each) for name, each in self.kinds.items()}
        sizes = [size(each) for each in kind.kinds]
        self.places = {name: sum(sizes[:i]) for i, name in enumerate(kind.names)}
        super().__init__(name=f"{kind.name}.{digest(str(kind).encode())}")  # short, since every symbol holds it


def type_of(kind: Kind) -> Any:
    """The type that numba gives to values of a kind."""
    if isinstance(kind, TableKind):
        return Table(kind)
    if isinstance(kind, ArrayKind):
        layout = "C" if kind.contiguous else "A"
        return types.Array(from_dtype(kind.dtype), kind.ndim, layout, readonly=not kind.writable)
    return from_dtype(kind.dtype)


def size(kind: Kind) -> int:
    """The words of a kind in a table."""
    if isinstance(kind, TableKind):
        return sum(map(size, kind.kinds))
    return 1 + kind.ndim * (1 if kind.contiguous else 2) if isinstance(kind, ArrayKind) else 1


@register_default(Table)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Table

    def generic_resolve(self, table: Table, name: str) -> Any:
        return table.fields.get(name)


@lower_getattr_generic(Table)  # type: ignore[untyped-decorator]
def _field(context: Any, builder: Any, table: Table, pointer: Any, name: str) -> Any:
    return read(context, builder, table.kinds[name], table.fields[name], builder.gep(pointer, [WORD(table.places[name])]))


def read(context: Any, builder: Any, kind: Kind, found: Any, pointer: Any, fixed: bool = True) -> Any:
    """The value of a kind, and of numba's type `found`, at a place of a table; `fixed`: this function did not fill it."""

    def load(word: int, form: Any = WORD) -> Any:
        place = builder.bitcast(builder.gep(pointer, [WORD(word)]), form.as_pointer())
        value = builder.load(place, align=8)
        if fixed:
            value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    if isinstance(kind, TableKind):
        return pointer
    if isinstance(kind, NumberKind):
        return _number(context, builder, found, load(0))
    if isinstance(kind, RecordKind):
        return load(0, context.get_value_type(found))
    shape = [load(1 + i) for i in range(kind.ndim)]
    item = WORD(kind.dtype.itemsize)
    strides = [] if kind.contiguous else [load(1 + kind.ndim + i) for i in range(kind.ndim)]
    step = item
    for length in reversed(shape) if kind.contiguous else ():
        strides.insert(0, step)
        step = builder.mul(step, length)
    return _array(context, builder, found, load(0, _data(context, found)), shape, strides, item)


def _data(context: Any, found: Any) -> Any:
    return context.get_data_type(found.dtype).as_pointer()


def _array(context: Any, builder: Any, found: Any, data: Any, shape: list[Any], strides: list[Any], item: Any) -> Any:
    """An array as numba represents it, built without memory."""
    count = WORD(1)
    for length in shape:
        count = builder.mul(count, length)
    form = context.get_value_type(found)
    members = context.data_model_manager[found]._fields
    array = ir.Constant(form, None)
    for name, value in (("nitems", count), ("itemsize", item), ("data", data)):
        array = builder.insert_value(array, value, members.index(name))
    for name, values in (("shape", shape), ("strides", strides)):
        for i, value in enumerate(values):
            array = builder.insert_value(array, value, [members.index(name), i])
    return array


def _number(context: Any, builder: Any, found: Any, word: Any) -> Any:
    if isinstance(found, types.Float):
        double = builder.bitcast(word, ir.DoubleType())
        return double if found.bitwidth == 64 else builder.fptrunc(double, context.get_value_type(found))
    if isinstance(found, types.Boolean):
        return builder.icmp_signed("!=", word, WORD(0))
    return word if found.bitwidth == 64 else builder.trunc(word, context.get_value_type(found))


def fill(builder: Any, kinds: Sequence[Kind], words: Any, table: Any) -> None:
    """Fill a table from the words that Python passes (`compiled.kinds`)."""
    header, given, at = builder.load(words), 1, 0

    def member(address: Any, offset: int) -> Any:
        """What an object holds behind its header."""
        place = builder.inttoptr(builder.add(address, builder.add(header, WORD(offset))), WORD.as_pointer())
        return builder.load(place)

    def put(value: Any) -> None:
        nonlocal at
        builder.store(value, builder.gep(table, [WORD(at)]))
        at += 1

    def enter(kind: Kind) -> None:
        nonlocal given
        if isinstance(kind, TableKind):
            for each in kind.kinds:
                enter(each)
            return
        word = builder.load(builder.gep(words, [WORD(given)]))
        given += 1
        if isinstance(kind, RecordKind):
            put(member(word, 8))  # behind the size of a variable object: obval
        elif isinstance(kind, ArrayKind):
            put(member(word, 0))  # data
            for offset in (16,) if kind.contiguous else (16, 24):  # dimensions, strides
                lengths = builder.inttoptr(member(word, offset), WORD.as_pointer())
                for i in range(kind.ndim):
                    put(builder.load(builder.gep(lengths, [WORD(i)])))
        else:
            put(word)

    for kind in kinds:
        enter(kind)


def room(builder: Any, kinds: Sequence[Kind]) -> Any:
    """Memory for a table of these kinds."""
    return cgutils.alloca_once(builder, WORD, max(1, sum(map(size, kinds))))
