"""Builds the kernels as shared libraries, one for each level of the processor, and their manifest.

python -m tools.libraries FOLDER

Every kernel is exercised (`tools.exercise`), so that each tuple of kinds that a user meets is known. Each is then compiled
for all levels and linked by the C compiler. The libraries need nothing but the C library: `log` is linked without the version
of the C library at hand, so that an older one serves too.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shoal.compiled import machine_code, shipped
from shoal.compiled.functions import Kernel
from shoal.compiled.sources import DIGEST, FOLDER
from tools.exercise import exercise

LEVELS = {"x86_64": tuple(shipped.LEVELS), "aarch64": ("generic",), "arm64": ("apple-m1",)}
"""The processors to compile for, by the name that the system gives to the machine; the highest first."""

_LINKED = {"Linux": ("-shared", "-nostdlib"), "Darwin": ("-dynamiclib",)}
_MATHS = "double log(double x) { return x; }\n"


class Signature:
    """A kernel and the kinds of its arguments."""

    def __init__(self, kernel: Any, kinds: Any) -> None:
        self.kernel, self.kinds = kernel, kinds
        self.key = shipped.key(machine_code.name_of(kernel), kinds)
        self.symbol = f"shoal_{self.key}"


def exercised() -> list[Signature]:
    """Every kernel of shoal with the kinds that it is called with."""
    found: dict[str, Signature] = {}
    find = machine_code.find

    def noted(kernel: Any, kinds: Any) -> Any:
        if kernel.folder == FOLDER:
            one = Signature(kernel, kinds)
            found.setdefault(one.key, one)
        return find(kernel, kinds)

    machine_code.find = noted
    try:
        exercise()
    finally:
        machine_code.find = find
    called = {machine_code.name_of(one.kernel) for one in found.values()}
    if missing := sorted(_every_kernel() - called):
        raise SystemExit(f"tools/exercise.py calls no {', '.join(missing)}; add a stream that does")
    return [found[key] for key in sorted(found)]


def _every_kernel() -> set[str]:
    """The names of all kernels in the modules of shoal that are imported."""
    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("shoal.")]
    return {machine_code.name_of(value) for names in modules for value in names.values() if isinstance(value, Kernel)}


def build(folder: Path) -> dict[str, Any]:
    """Write the libraries and the manifest to a folder; the manifest."""
    from shoal.compiled.compiler import compiled

    levels, signatures = LEVELS[platform.machine()], exercised()
    kernels: dict[str, Any] = {}
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        for one in signatures:
            made = compiled(one.kernel, one.kinds)
            kernels[one.key] = {"symbol": one.symbol, "result": made.result, "kernel": machine_code.name_of(one.kernel)}
            for level in levels:
                (Path(place) / level).mkdir(exist_ok=True)
                (Path(place) / level / f"{one.symbol}.o").write_bytes(made.code(level, entry=one.symbol))
        for level in levels:
            _link(Path(place) / level, folder / f"{level}.so")
    manifest = {"digest": DIGEST, "machine": platform.machine(), "levels": levels, "kernels": kernels}
    (folder / shipped.MANIFEST).write_text(json.dumps(manifest, indent=1))
    return manifest


def _link(objects: Path, library: Path) -> None:
    names = [str(file) for file in sorted(objects.glob("*.o"))]
    needed = ["-lm"]
    if platform.system() == "Linux":
        stub = objects / "libm.so.6"
        (objects / "maths.c").write_text(_MATHS)
        _cc("-shared", "-nostdlib", "-Wl,-soname,libm.so.6", "-o", str(stub), str(objects / "maths.c"))
        needed = [str(stub), "-lc"]
    _cc(*_LINKED[platform.system()], "-o", str(library), *names, *needed, "-s", "-Wl,-z,defs", "-Wl,-z,noexecstack")


def _cc(*arguments: str) -> None:
    subprocess.run(["cc", "-O1", *arguments], check=True)


def main() -> None:
    folder = Path(sys.argv[1])
    manifest = build(folder)
    sizes = ", ".join(f"{level} {(folder / f'{level}.so').stat().st_size // 1024} KB" for level in manifest["levels"])
    print(f"{len(manifest['kernels'])} kernels: {sizes}")


if __name__ == "__main__":
    main()
