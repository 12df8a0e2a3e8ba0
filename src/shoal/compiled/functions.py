"""The decorators of kernels. They do not load the compiler: that happens when a kernel without machine code is called.

Kernels get all their arrays as arguments and never allocate. So no array needs a reference count. A kernel runs without the
GIL. Where its machine code comes from says `compiled.machine_code`.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from importlib import import_module
from threading import RLock
from typing import Any

import numpy as np

from shoal.compiled import machine_code
from shoal.compiled.kinds import HEADER, Packed, format_of, kind_of, word_of
from shoal.compiled.sources import folder_of

_LOCK = RLock()


class Inner:
    """A function that only kernels call."""

    inline = "never"

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.folder = folder_of(function)
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self.__wrapped__ = function

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.__name__} is called by kernels alone")


class SpelledOut(Inner):
    """A function whose body replaces its call, before types are known."""

    inline = "always"


class Kernel(Inner):
    """A function that Python calls, with machine code for every tuple of kinds that it was called with."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self.origins: list[str] = []
        """Where the machine code came from, for every tuple of kinds: shipped, cache or compiler."""
        self._ready: dict[tuple[Any, ...], Callable[[list[Any]], Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        key: list[Any] = []
        words: list[Any] = [HEADER]
        held: list[Packed] = []  # while the kernel runs
        for argument in arguments:
            kind = type(argument)
            if kind is np.ndarray:
                key += (argument.dtype, argument.ndim, argument.flags.num)
                words.append(id(argument))
            elif kind is int or kind is bool or kind is float:
                key.append(kind)
                words.append(argument)
            elif isinstance(argument, np.void):
                key.append(argument.dtype)
                words.append(id(argument))
            elif isinstance(argument, tuple | Packed):
                packed = argument if isinstance(argument, Packed) else Packed(argument)
                held.append(packed)
                key.append(packed.key)
                words += packed.words
            else:
                key.append(kind_of(argument))
                words.append(word_of(argument))
        call = self._ready.get(tuple(key))
        if call is None:
            call = self._ready[tuple(key)] = self._prepared(arguments)
        return call(words)

    def _prepared(self, arguments: tuple[Any, ...]) -> Callable[[list[Any]], Any]:
        kinds = tuple(map(kind_of, arguments))
        with _LOCK:
            found = machine_code.find(self, kinds)
        self.origins.append(found.origin)
        return _caller(self.__name__, found.address, format_of(kinds), found.result)


def _caller(name: str, address: int, form: str, result: str) -> Callable[[list[Any]], Any]:
    """Calls the entry at an address; `form` and `result` tell the words that it takes and writes, as in `struct`."""
    entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(address)
    packed = struct.Struct(form).pack

    def failed(status: int) -> RuntimeError:
        return RuntimeError(f"kernel {name} ended with status {status}")

    if not result:

        def call(words: list[Any]) -> Any:
            if status := entry(packed(*words), None):
                raise failed(status)

        return call
    written = struct.Struct("=" + result.strip("()"))
    room, is_tuple = ctypes.c_char * written.size, result.startswith("(")

    def call_for_result(words: list[Any]) -> Any:
        out = room()
        if status := entry(packed(*words), out):
            raise failed(status)
        values = written.unpack(out)
        return values if is_tuple else values[0]

    return call_for_result


class Instruction:
    """An intrinsic, by the name of its module: the module loads the compiler, so it is imported only to compile."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    @property
    def intrinsic(self) -> Any:
        return getattr(import_module(self.module), self.name)

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.name} is called by kernels alone")


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call, and keep the machine code on disk. Only Python calls it."""
    return Kernel(function)


def inner(function: Callable[..., Any]) -> Any:
    """A kernel that only kernels call."""
    return Inner(function)


def inlined(function: Callable[..., Any]) -> Any:
    """An inner kernel that is small: LLVM inlines it where that pays."""
    return Inner(function)


def spelled_out(function: Callable[..., Any]) -> Any:
    """A function whose body replaces its call: for results that compiled functions cannot return, such as tuples of records."""
    return SpelledOut(function)


def is_compiled(name: str) -> bool:
    """Whether there is machine code for algorithm `name`: shipped, or in the cache."""
    return machine_code.is_known(name)
