"""Where the machine code of a kernel comes from: the package, the cache on disk, or the compiler, in this order.

A wheel for Linux on x86-64 brings libraries with all kernels (`compiled.shipped`). Else the compiler, numba, makes an object
file for the processor at hand, and the cache keeps it. Loading it takes llvmlite, but not numba.
"""

from __future__ import annotations

import json
import logging
import os
import platform
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.compiled import shipped
from shoal.compiled.kinds import Kind
from shoal.compiled.sources import FOLDER, digest

if TYPE_CHECKING:
    from shoal.compiled.functions import Kernel

ENTRY = "entry"
"""The symbol of the entry in an object file of the cache."""

_log = logging.getLogger(__name__)


class Found(NamedTuple):
    address: int
    result: str  # what the entry writes, as in `struct`; in parentheses if it is a tuple
    origin: str


def find(kernel: Kernel, kinds: tuple[Kind, ...]) -> Found:
    """The machine code of a kernel for these kinds of arguments."""
    if kernel.folder == FOLDER and (known := shipped.find(name_of(kernel), kinds)):
        return Found(*known, "shipped")
    file = _file(kernel, kinds)
    if kept := _read(file):
        return Found(_loaded(kernel, kept[1]), kept[0], "cache")
    if kernel.folder == FOLDER and shipped.is_here():
        _log.warning("%s: this package has no machine code for these arguments; compiling it", name_of(kernel))
    from shoal.compiled.compiler import compiled

    made = compiled(kernel, kinds)
    code = made.native()
    _write(file, {"result": made.result, "kernel": name_of(kernel), "kinds": list(map(str, kinds))}, code)
    return Found(_loaded(kernel, code), made.result, "compiler")


def name_of(kernel: Kernel) -> str:
    return f"{kernel.__module__}.{kernel.__name__}"


def is_known(name: str) -> bool:
    """Whether there is machine code for the kernels of algorithm `name`."""
    return shipped.is_here() or next(FOLDER.glob(f"{name}.run-*"), None) is not None


def _file(kernel: Kernel, kinds: tuple[Kind, ...]) -> Path:
    """The object file of a kernel: its name depends on all that its machine code depends on, but for the sources."""
    parts = (name_of(kernel), *map(str, kinds), *_tools())
    module = kernel.__module__.rpartition(".")[2]
    return kernel.folder / f"{module}.{kernel.__name__}-{digest(*map(str.encode, parts))}"


@cache
def _tools() -> tuple[str, ...]:
    from llvmlite import binding

    features = binding.get_host_cpu_features().flatten()
    return version("numba"), version("llvmlite"), platform.python_version(), binding.get_host_cpu_name(), features


def _read(file: Path) -> tuple[str, bytes] | None:
    """What the cache holds of a kernel: what its entry writes, and an object file."""
    try:
        head, _, code = file.read_bytes().partition(b"\n")
    except OSError:
        return None
    return json.loads(head)["result"], code


def _write(file: Path, head: dict[str, Any], code: bytes) -> None:
    """Keep machine code; a folder that cannot be written means that the next process compiles again."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=file.parent, delete=False) as part:
            part.write(json.dumps(head).encode() + b"\n" + code)
        os.chmod(part.name, 0o644)
        os.replace(part.name, file)


@cache
def _target_machine() -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple().create_target_machine(opt=0, jit=True, reloc="pic", codemodel="default")


@cache
def _linker() -> Any:
    """JITLink: it puts all sections of an object file next to each other.

    LLVM's older linker places each section where the process has room. In a large process they can lie further apart than
    32 bits reach; then LLVM ends the process.
    """
    from llvmlite import binding

    return binding.create_lljit_compiler(_target_machine(), use_jit_link=True)


_libraries: list[Any] = []  # machine code lives as long as its library


def _loaded(kernel: Kernel, code: bytes) -> int:
    """The address of the entry in an object file."""
    from llvmlite import binding

    builder = binding.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(ENTRY)
    try:
        library = builder.link(_linker(), f"{name_of(kernel)} {len(_libraries)}")
    except RuntimeError as failure:
        message = f"{name_of(kernel)} calls a function of numba's library, such as np.nextafter; use one of the C library"
        raise RuntimeError(message) from failure
    _libraries.append(library)
    return int(library[ENTRY])
