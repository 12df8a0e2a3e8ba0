"""The compiler: numba types and lowers functions; then all that a kernel needs is linked, and LLVM works on it once.

Numba by itself optimises every function alone, emits machine code for it, and does so again inside each of its callers. Here
functions are only lowered (`_Part`). The kernel is linked with what it calls, everything but its entry is made internal, and
the whole is optimised and emitted once. LLVM decides what to inline.

The entry takes a pointer to the words of the arguments (`compiled.kinds`) and one to the words of the result, and returns a
status: 0 is good. It is plain C, so that machine code depends neither on Python's version nor on numba's.

These are hooks into numba that may change with its minor version; `pyproject.toml` names the versions that were tested.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any, NamedTuple

os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")  # which takes long, also where there is no error

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.core.codegen import AOTCodeLibrary, AOTCPUCodegen, get_host_cpu_features
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUTargetOptions
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

from shoal.compiled.functions import Inner, Instruction, Kernel
from shoal.compiled.kinds import Kind
from shoal.compiled.machine_code import ENTRY
from shoal.compiled.table import WORD, fill, read, room, size, type_of

_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


class _Part(AOTCodeLibrary):  # type: ignore[misc]
    """The code of one function, and the libraries that it needs: neither linked nor optimised."""

    def add_llvm_module(self, module: Any) -> None:
        self._final_module.link_in(module)

    def add_linking_library(self, library: Any) -> None:
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        self._finalized = True


class _Codegen(AOTCPUCodegen):  # type: ignore[misc]
    _library_class = _Part


def _no_address(builder: Any, address: int, info: str) -> Any:
    """Numba asks for the address of each function that is called, and does not use it. No other one is good elsewhere."""
    assert info == _Dispatcher.__name__, info
    return ir.Constant(ir.IntType(8).as_pointer(), None)


class _Target(TargetDescriptor):  # type: ignore[misc]
    """Numba's own target, with libraries that are not optimised one by one."""

    options = CPUTargetOptions

    def __init__(self) -> None:
        super().__init__("cpu")
        codegen = _Codegen("shoal")
        cpu_target.target_context.refresh()
        self._context = cpu_target.target_context.subtarget(
            _internal_codegen=codegen, aot_mode=True, allow_dynamic_globals=False
        )
        self._context.get_executable = lambda library, fndesc, env: object()  # by which callers find it
        self._context.add_dynamic_addr = _no_address

    @property
    def target_context(self) -> Any:
        return self._context

    @property
    def typing_context(self) -> Any:
        return cpu_target.typing_context


class _Flags(Flags):  # type: ignore[misc]
    """Numba looks up its own functions by these options, tens of thousands of times: here that takes no time."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, _Flags) else super().__eq__(other)


class _Dispatcher(Dispatcher):
    targetdescr = _Target()

    def __init__(self, function: Any, inline: str) -> None:
        super().__init__(function, targetoptions={**_OPTIONS, "inline": inline})
        vars(self)["_compiler"]._customize_flags = _Flags

    def add_overload(self, made: Any) -> None:
        """Keep a compiled function for those that call it. Python does not."""
        self.overloads[tuple(made.signature.args)] = made


_dispatchers: dict[int, tuple[Any, Any]] = {}


def _dispatcher(function: Inner) -> Any:
    """A function as numba knows it. Its globals are numba's too: kernels and instructions are replaced."""
    if id(function) not in _dispatchers:
        plain = function.function
        copied = FunctionType(plain.__code__, {**plain.__globals__}, plain.__name__, plain.__defaults__, plain.__closure__)
        copied.__module__, copied.__qualname__ = plain.__module__, plain.__qualname__
        _dispatchers[id(function)] = function, _Dispatcher(copied, function.inline)
        for name in _names(plain.__code__):
            value = plain.__globals__.get(name)
            if isinstance(value, Inner):
                copied.__globals__[name] = _dispatcher(value)
            elif isinstance(value, Instruction):
                copied.__globals__[name] = value.intrinsic
    return _dispatchers[id(function)][1]


def _names(code: CodeType) -> set[str]:
    """The names in a function, and in functions inside it."""
    inside = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return {*code.co_names}.union(*inside)


class Compiled(NamedTuple):
    """A kernel for some kinds of arguments, linked but not optimised yet."""

    module: bytes
    result: str

    def native(self) -> bytes:
        """An object file for this processor."""
        return self.code(binding.get_host_cpu_name(), get_host_cpu_features())

    @global_compiler_lock  # type: ignore[untyped-decorator]
    def code(self, processor: str, features: str = "", entry: str = ENTRY) -> bytes:
        """An object file for a processor."""
        target = binding.Target.from_triple(binding.get_process_triple())
        machine = target.create_target_machine(
            opt=3, cpu=processor, features=features, reloc="pic", codemodel="default", jit=False
        )
        module = binding.parse_bitcode(self.module)
        module.data_layout = str(machine.target_data)
        module.get_function(ENTRY).name = entry
        options = binding.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization, options.slp_vectorization = True, False
        builder = binding.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return bytes(machine.emit_object(module))


@global_compiler_lock  # type: ignore[untyped-decorator]
def compiled(kernel: Kernel, kinds: tuple[Kind, ...]) -> Compiled:
    """Compile a kernel for these kinds of arguments."""
    arguments = tuple(map(type_of, kinds))
    with _without_garbage_collection(), _remembered_signatures():
        dispatcher = _dispatcher(kernel)
        dispatcher.compile(arguments)
        made = dispatcher.overloads[arguments]
        module, result = _entry(made, kinds)
        whole = binding.parse_assembly(str(module))
        seen: set[int] = set()
        _link(whole, made.library, seen)
        for each in (*whole.functions, *whole.global_variables):
            if not each.is_declaration and each.name != ENTRY:
                each.linkage = "internal"
        whole.verify()
        return Compiled(whole.as_bitcode(), result)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Compiling makes many objects and little garbage; looking for it takes a quarter of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


_signatures: dict[Any, Any] = {}


@contextmanager
def _remembered_signatures() -> Iterator[None]:
    """Numba finds the signature of an operator or a function of its own anew at each call; most calls are alike."""
    context = cpu_target.typing_context
    resolve = context.resolve_function_type

    def remembered(function: Any, arguments: Any, names: Any) -> Any:
        if not isinstance(function, types.Function):
            return resolve(function, arguments, names)
        key = function, tuple(arguments), tuple(sorted(names.items()))
        if key not in _signatures:
            _signatures[key] = resolve(function, arguments, names)
        return _signatures[key]

    context.resolve_function_type = remembered
    try:
        yield
    finally:
        del context.resolve_function_type


def _link(whole: Any, library: Any, seen: set[int]) -> None:
    """Link a library, and what it needs, each once. Numba's own libraries bring what they need."""
    if id(library) in seen or library is _runtime():
        return
    seen.add(id(library))
    if isinstance(library, _Part):
        whole.link_in(library._final_module, preserve=True)
        for needed in library._linking_libraries:
            _link(whole, needed, seen)
    else:
        whole.link_in(library._get_module_for_linking(), preserve=True)


def _runtime() -> Any:
    """Numba's reference counting, which kernels do not use."""
    from numba.core.runtime import rtsys

    return rtsys.library


def _entry(made: Any, kinds: tuple[Kind, ...]) -> tuple[Any, str]:
    """A module with the entry of a compiled kernel, and what it writes."""
    context, fndesc = made.target_context, made.fndesc
    module = context.create_module("entry")
    kernel = context.declare_function(module, fndesc)
    status = ir.IntType(32)
    words = WORD.as_pointer()
    entry = ir.Function(module, ir.FunctionType(status, [words, words]), ENTRY)
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    table = room(builder, kinds)
    fill(builder, kinds, entry.args[0], table)
    arguments, at = [], 0
    for kind, found in zip(kinds, fndesc.argtypes, strict=True):
        arguments.append(read(context, builder, kind, found, builder.gep(table, [WORD(at)]), fixed=False))
        at += size(kind)
    outcome, value = context.call_conv.call_function(
        builder, kernel, fndesc.restype, fndesc.argtypes, arguments, attrs=("noinline",)
    )
    with cgutils.if_likely(builder, outcome.is_ok):
        result = _write(context, builder, fndesc.restype, value, entry.args[1])
        builder.ret(status(0))
    builder.ret(outcome.code)
    return module, result


def _write(context: Any, builder: Any, kind: Any, value: Any, out: Any) -> str:
    """Write the result of a kernel; the format of what is written, as in `struct`."""
    if kind == types.none:
        return ""
    parts = list(kind) if isinstance(kind, types.BaseTuple) else [kind]
    form = ""
    for i, part in enumerate(parts):
        one = builder.extract_value(value, i) if isinstance(kind, types.BaseTuple) else value
        word, letter = _word(context, builder, part, one)
        builder.store(word, builder.gep(out, [WORD(i)]))
        form += letter
    return f"({form})" if isinstance(kind, types.BaseTuple) else form


def _word(context: Any, builder: Any, kind: Any, value: Any) -> tuple[Any, str]:
    if isinstance(kind, types.Boolean):
        return builder.zext(value, WORD), "?7x"
    if isinstance(kind, types.Float):
        return builder.bitcast(builder.fpext(value, ir.DoubleType()) if kind.bitwidth < 64 else value, WORD), "d"
    if isinstance(kind, types.Integer):
        wider = builder.sext if kind.signed else builder.zext
        return wider(value, WORD) if kind.bitwidth < 64 else value, "q" if kind.signed else "Q"
    raise TypeError(f"a kernel returns numbers, or a tuple of them, not {kind}")
