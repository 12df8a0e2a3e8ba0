"""Compiled functions: numba without the GIL, without reference counts, and with a cache on disk that notices every edit.

Kernels work in arrays that they are given and never allocate, so nothing needs to be counted; counting every array that
is handed from function to function would cost more than all the work.

Numba's own cache looks only at the file a function stands in, so that an edit of an imported kernel would go unnoticed
and old machine code would run. Here the cache folder carries a digest of all sources that hold kernels: a changed source
is a new folder.

With the machine code of a function Numba's cache also loads the code that other functions could draw in, and all that a
compiler needs. Nobody draws in a kernel that Python calls, so of that code only the names are kept; and the compiler comes
once there is something to compile. A run takes 55 MB less for it, and starts in a fifth less time.
"""

from __future__ import annotations

import hashlib
import math
import os
import platform
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.extending import intrinsic

_PACKAGE = Path(__file__).parent
_IN_FORMATS = ("reading/record_ends", "reading/splitter", "writing/cells")
_SOURCES = [_PACKAGE / "compiled.py", _PACKAGE / "digits.py", *(_PACKAGE / "formats" / f"{name}.py" for name in _IN_FORMATS)]
_SOURCES += [source for layer in ("columns", "blocks", "algorithms") for source in sorted((_PACKAGE / layer).glob("*.py"))]
_UNUSED_DAYS = 30


def _digest() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {platform.python_version()}".encode())
    for source in _SOURCES:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _home() -> Path:
    if given := os.environ.get("SHOAL_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"


FOLDER = _home() / f"kernels-{_digest()}"


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call, without the GIL, and keep the machine code on disk. Only Python may call it."""
    return _compile(function, _Kernels)


def inner(function: Callable[..., Any]) -> Any:
    """A kernel that only kernels call: it has no door to Python, which takes long to compile where there are many arrays.

    Called from Python it would crash.
    """
    return _compile(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined(function: Callable[..., Any]) -> Any:
    """An inner kernel that is drawn into its callers: for small ones, where handing over the arrays would cost more."""
    return _compile(function, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def spelled_out(function: Callable[..., Any]) -> Any:
    """A function whose text stands for its call: for what no compiled function can return, such as a tuple with records."""
    return numba.njit(inline="always")(function)


def _compile(function: Callable[..., Any], cache: type[FunctionCache] = FunctionCache, **options: Any) -> Any:
    compiled = numba.njit(nogil=True, error_model="numpy", _nrt=False, **options)(function)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(FOLDER)
    try:
        compiled._cache = cache(function)
    finally:
        numba.config.CACHE_DIR = before
    return compiled


class _MachineCode(CompileResultCacheImpl):  # type: ignore[misc]
    """What is kept of a kernel: all but what others would draw in."""

    def reduce(self, result: Any) -> Any:
        (name, kind, (code, whole)), *rest = super().reduce(result)
        return (name, kind, (code, _outline(whole))), *rest

    def rebuild(self, context: Any, kept: Any) -> Any:
        result = super().rebuild(context, kept)
        result.library._shared_module = None  # so that whoever draws it in is told, and gets no empty functions
        return result


class _Kernels(FunctionCache):  # type: ignore[misc]
    _impl_class = _MachineCode

    def load_overload(self, signature: Any, context: Any) -> Any:
        """As numba does it, but for `context.refresh()`."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(signature, context)


def _outline(code: bytes) -> bytes:
    """A module that has the same names as this one, and nothing behind them."""
    module = binding.parse_bitcode(code)
    functions = (f'define void @"{f.name}"() {{ ret void }}' for f in module.functions if not f.is_declaration)
    variables = (f'@"{v.name}" = global i8 0' for v in module.global_variables if not v.is_declaration)
    return bytes(binding.parse_assembly("\n".join((*variables, *functions))).as_bitcode())


def is_compiled(name: str) -> bool:
    """Whether the kernels of algorithm `name` already lie in the cache."""
    return next(FOLDER.glob(f"**/{name}.run-*.nbc"), None) is not None


def forget_old() -> None:
    """Remove cache folders of other versions that nobody used for a month."""
    for folder in FOLDER.parent.glob("kernels-*"):
        if folder != FOLDER and time.time() - folder.stat().st_mtime > _UNUSED_DAYS * 86_400:
            shutil.rmtree(folder, ignore_errors=True)


@intrinsic
def popcount(typing_context: Any, bits: Any) -> Any:
    """The number of ones in a 64-bit word (one machine instruction)."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.ctpop(arguments[0]), ir.IntType(64))

    return types.int64(types.uint64), build


@intrinsic
def float_of(typing_context: Any, bits: Any) -> Any:
    """The single-precision number with these 32 bits."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), build


ENTRIES = 64
"""Entries that `up_to` looks at."""


@intrinsic
def up_to(typing_context: Any, array: Any, start: Any, limit: Any) -> Any:
    """Bit i: array[start + i] <= limit, for 64 entries of single precision. Nothing is checked."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        many = ir.VectorType(ir.FloatType(), ENTRIES)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), many.as_pointer())
        one = builder.insert_element(ir.Constant(many, ir.Undefined), arguments[2], ir.IntType(32)(0))
        limits = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), ENTRIES), [0] * ENTRIES))
        return builder.bitcast(builder.fcmp_ordered("<=", builder.load(place, align=4), limits), ir.IntType(ENTRIES))

    return types.uint64(array, types.int64, types.float32), build


COLUMNS = 8
"""Columns that `ends` and `add_losses` look at: a line of memory."""


@intrinsic
def ends(typing_context: Any, table: Any, rows: Any, start: Any, low: Any, high: Any) -> Any:
    """low[start + i], high[start + i] = the least and the greatest table[row, start + i] of some rows, for 8 columns; NaN is
    neither. They stay in registers, while a loop would write and read them again for every row. Nothing is checked."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        many = ir.VectorType(ir.DoubleType(), COLUMNS)
        start = arguments[2]

        def array(index: int) -> Any:
            return context.make_array(signature.args[index])(context, builder, arguments[index])

        width = builder.extract_value(array(0).shape, 1)
        found = [cgutils.alloca_once_value(builder, ir.Constant(many, [end] * COLUMNS)) for end in (math.inf, -math.inf)]
        with cgutils.for_range(builder, builder.extract_value(array(1).shape, 0)) as loop:
            row = builder.load(builder.gep(array(1).data, [loop.index]))
            place = builder.gep(array(0).data, [builder.add(builder.mul(row, width), start)])
            values = builder.load(builder.bitcast(place, many.as_pointer()), align=8)
            for end, beyond in zip(found, ("<", ">"), strict=True):
                known = builder.load(end)
                builder.store(builder.select(builder.fcmp_ordered(beyond, values, known), values, known), end)
        for end, index in zip(found, (3, 4), strict=True):
            place = builder.bitcast(builder.gep(array(index).data, [start]), many.as_pointer())
            builder.store(builder.load(end), place, align=8)
        return context.get_dummy_value()

    return types.void(table, rows, types.int64, low, high), build


@intrinsic
def add_losses(typing_context: Any, low: Any, high: Any, loss: Any, weight: Any, values: Any, lost: Any) -> Any:
    """lost[i] += weight[q] * loss[q, i] for every q in turn, for 8 columns; infinite where values[q] is not within low and
    high, nothing where it is NaN. The sums stay in registers, as those of `ends` do. Nothing is checked."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        many = ir.VectorType(ir.DoubleType(), COLUMNS)

        def array(index: int) -> Any:
            return context.make_array(signature.args[index])(context, builder, arguments[index])

        def columns(index: int, row: Any) -> Any:
            place = builder.gep(array(index).data, [builder.mul(row, row.type(COLUMNS))])
            return builder.bitcast(place, many.as_pointer())

        def everywhere(index: int, row: Any) -> Any:
            one = builder.load(builder.gep(array(index).data, [row]))
            first = builder.insert_element(ir.Constant(many, ir.Undefined), one, ir.IntType(32)(0))
            return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), COLUMNS), [0] * COLUMNS))

        rows = builder.extract_value(array(0).shape, 0)
        total = cgutils.alloca_once_value(builder, builder.load(columns(5, rows.type(0)), align=8))
        with cgutils.for_range(builder, rows) as loop:
            low, high, loss = (builder.load(columns(index, loop.index), align=8) for index in (0, 1, 2))
            weight, value = everywhere(3, loop.index), everywhere(4, loop.index)
            inside = builder.and_(builder.fcmp_ordered("<=", low, value), builder.fcmp_ordered("<=", value, high))
            more = builder.select(inside, builder.fmul(weight, loss), ir.Constant(many, [math.inf] * COLUMNS))
            more = builder.select(builder.fcmp_ordered("ord", value, value), more, ir.Constant(many, [0.0] * COLUMNS))
            builder.store(builder.fadd(builder.load(total), more), total)
        builder.store(builder.load(total), columns(5, rows.type(0)), align=8)
        return context.get_dummy_value()

    return types.void(low, high, loss, weight, values, lost), build


@intrinsic
def first_one(typing_context: Any, bits: Any) -> Any:
    """The place of the lowest one in a 64-bit word that is not 0 (one machine instruction)."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), build


@intrinsic
def seized(typing_context: Any, flag: Any) -> Any:
    """Set flag[0] to 1; whether it was 0. Whoever sets it sees all that was written before it was set back."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, place = ir.IntType(64), context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.extract_value(builder.cmpxchg(place, word(0), word(1), "acq_rel", "monotonic"), 1)

    return types.boolean(flag), build


@intrinsic
def give_back(typing_context: Any, flag: Any) -> Any:
    """Set flag[0] to 0, once all that was written before can be seen."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        builder.store_atomic(ir.IntType(64)(0), place, "release", 8)
        return context.get_dummy_value()

    return types.void(flag), build


@intrinsic
def step_aside(typing_context: Any) -> Any:
    """Let another thread run on this core, if one wants to."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        name = "SwitchToThread" if os.name == "nt" else "sched_yield"
        builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), name), [])
        return context.get_dummy_value()

    return types.void(), build


COPIED = 32
"""Bytes that `copy` copies."""


@intrinsic
def copy(typing_context: Any, source: Any, start: Any, target: Any, at: Any) -> Any:
    """Copy 32 bytes of one array of bytes, from `start`, into another, from `at`. Nothing is checked."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        piece = ir.VectorType(ir.IntType(8), COPIED)

        def place(array: int, index: int) -> Any:
            data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
            return builder.bitcast(builder.gep(data, [arguments[index]]), piece.as_pointer())

        builder.store(builder.load(place(0, 1), align=1), place(2, 3), align=1)
        return context.get_dummy_value()

    return types.void(source, types.int64, target, types.int64), build


@intrinsic
def word(typing_context: Any, array: Any, at: Any) -> Any:
    """The 8 bytes of an array of bytes from `at`, the first one lowest. Nothing is checked."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(place, align=1)

    return types.uint64(array, types.int64), build


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for array[index] to be brought near, since it will be needed soon. Nothing is checked."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        asked = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(asked, [place, number(0), number(3), number(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, types.int64), build
