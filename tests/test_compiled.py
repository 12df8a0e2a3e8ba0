from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shoal.compiled

pytestmark = pytest.mark.slow

TWICE = """
from shoal.compiled import inlined

@inlined
def twice(x):
    return 2 * x
"""

KERNELS = """
from shoal.compiled import kernel
from twofold import twice

@kernel
def last(values):
    return twice(values[len(values) - 1])

@kernel
def first(values):
    return twice(values[0])

@kernel
def both(values):
    return first(values) + last(values)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "twofold.py").write_text(TWICE)
    (tmp_path / "kernels.py").write_text(KERNELS)
    return tmp_path


def python(folder: Path, script: str) -> str:
    """What a new process prints."""
    own = {"SHOAL_CACHE": str(folder / "cache"), "PYTHONPATH": str(folder)}
    given = os.environ | own | {"PYTHONDONTWRITEBYTECODE": "1"}  # Python would not notice two edits within a second
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, env=given, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr


IMPORTS = "import numpy as np\nfrom kernels import both, first, last\n"
LAST = f"{IMPORTS}print(last(np.array([1.0, 4.0])), *last.origins)"


def test_machine_code_is_taken_from_the_cache(folder: Path) -> None:
    assert python(folder, LAST) == "8.0 compiler"
    assert python(folder, LAST) == "8.0 cache"


def test_a_kernel_can_be_compiled_after_one_was_loaded(folder: Path) -> None:
    python(folder, LAST)
    assert python(folder, f"{LAST}\nprint(first(np.array([3.0])))") == "8.0 cache\n6.0"


def test_a_compiler_is_not_loaded_in_vain(folder: Path) -> None:
    is_there = "import sys; print('numba' in sys.modules)"
    assert python(folder, f"{LAST}; {is_there}") == "8.0 compiler\nTrue"
    assert python(folder, f"{LAST}; {is_there}") == "8.0 cache\nFalse"


CRAMPED = """
import ctypes, mmap
system = ctypes.CDLL(None)
system.mmap.restype = ctypes.c_void_p
system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
system.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

def reserve(size):
    return system.mmap(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)

holes = [reserve(3 * mmap.PAGESIZE) for _ in range(400)]
below = reserve(6 << 30)
while reserve(4 * mmap.PAGESIZE) > below:
    pass
for hole in holes[::2]:
    system.munmap(hole, 3 * mmap.PAGESIZE)
"""

TABLE = """
import math
import numpy as np
from shoal.compiled import kernel

@kernel
def logs(values):
    found = 0.0
    for i in range(len(values)):
        found += (0.25 + i) * math.log(values[i]) + 0.1
LONG    return found
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reserves addresses as Linux does")
def test_machine_code_is_loaded_where_only_small_holes_are_near(folder: Path) -> None:
    """The sections of a kernel must lie near each other, also in a process that has few addresses left near its libraries."""
    steps = "".join(f"    found += values[{i} % len(values)] * math.sqrt(found + {i}.7)\n" for i in range(600))
    (folder / "table.py").write_text(TABLE.replace("LONG", steps))
    script = "from table import logs, np\nprint(logs(np.array([2.0, 3.0])), *logs.origins)"
    compiled = python(folder, script)
    assert compiled.endswith(" compiler")
    assert python(folder, CRAMPED + script) == compiled.replace("compiler", "cache")


def test_a_function_of_the_compilers_library_is_refused_by_name(folder: Path) -> None:
    (folder / "table.py").write_text(TABLE.replace("LONG", "    found = np.nextafter(found, 9.0)\n"))
    text = python(folder, "from table import logs, np\nlogs(np.array([2.0, 3.0]))")
    assert text.splitlines()[-1] == (
        "RuntimeError: table.logs calls a function of numba's library, such as np.nextafter; use one of the C library"
    )


def test_a_kernel_may_call_another(folder: Path) -> None:
    assert python(folder, f"{IMPORTS}print(both(np.array([1.0, 4.0])))") == "10.0"


def test_a_cache_that_cannot_be_written_is_done_without(folder: Path) -> None:
    (folder / "cache").write_text("a file where the folder should be")
    assert python(folder, LAST) == "8.0 compiler"
    assert python(folder, LAST) == "8.0 compiler"


def test_an_inner_kernel_is_not_for_python(folder: Path) -> None:
    assert (
        python(folder, "from twofold import twice; twice(1)").splitlines()[-1] == "TypeError: twice is called by kernels alone"
    )


KINDS = """
from typing import NamedTuple
import numpy as np
from shoal.compiled import Packed, kernel

class Deep(NamedTuple):
    record: np.record
    table: np.ndarray

class Whole(NamedTuple):
    before: np.ndarray
    deep: Deep
    none: tuple
    after: np.float64

@kernel
def total(whole, strided, number, flag, step):
    whole.deep.record.count += 1
    whole.deep.table[1, 2] = 5
    found = 0.0
    for i in range(whole.deep.table.shape[0]):
        for j in range(whole.deep.table.shape[1]):
            found += whole.deep.table[i, j]
    for i in range(len(strided)):
        found += strided[i]
    return found + whole.after + number, len(whole.before), flag, step

@kernel
def refused(values):
    values[0] = 1

record = np.zeros(1, [("count", np.int64)]).view(np.recarray)[0]
whole = Whole(np.zeros(7, np.uint8), Deep(record, np.ones((2, 3), np.int32)), (), np.float64(0.25))
numbers = np.arange(6.0)
"""


def test_arguments_of_every_kind(folder: Path) -> None:
    calls = (
        "print(total(whole, numbers[::2], 1, True, np.uint64(2**63)), record.count)\n"
        "packed = Packed(whole)\n"
        "whole.deep.table[:] = 2\n"
        "print(total(packed, numbers, 1.5, False, np.float32(0.5)), record.count)\n"
        "changed = packed.update(whole._replace(before=np.zeros(9, np.uint8)))\n"
        "print(packed.update(whole) is packed, total(changed, numbers, 1, False, np.int8(-3)), changed.key == packed.key)"
    )
    assert python(folder, KINDS + calls).splitlines() == [
        "(17.25, 7, True, 9223372036854775808) 1",
        "(31.75, 7, False, 0.5) 2",
        "True (31.25, 9, False, -3) True",
    ]


def test_an_array_that_must_not_change_is_refused_where_a_kernel_changes_it(folder: Path) -> None:
    text = python(folder, f"{KINDS}refused(numbers); numbers.flags.writeable = False; refused(numbers)")
    assert "Cannot modify readonly array" in text


def test_the_result_is_right_while_a_named_tuple_is_packed_again(folder: Path) -> None:
    """A named tuple whose parts are replaced is packed anew where they differ, and only there."""
    calls = (
        "packed = Packed(whole)\n"
        "deep = whole.deep._replace(table=np.full((4, 3), 1, np.int32))\n"
        "print(total(packed.update(whole._replace(deep=deep)), numbers[:0], 0, False, 0)[0], "
        "total(packed, numbers[:0], 0, False, 0)[0])"
    )
    assert python(folder, KINDS + calls) == "16.25 10.25"


def edit(file: Path) -> None:
    """Twice becomes thrice; size and time of the file stay, so that only its content tells."""
    before = file.stat()
    file.write_text(file.read_text().replace("2 * x", "3 * x"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_edit_of_an_imported_kernel_is_noticed(folder: Path) -> None:
    assert python(folder, LAST) == "8.0 compiler"
    edit(folder / "twofold.py")
    assert python(folder, LAST) == "12.0 compiler"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of the same name that has the same cache, and nothing else."""
    shutil.copytree(Path(shoal.compiled.__file__).parent, tmp_path / "shoal/compiled")
    for place in ("", "blocks/deep", "formats", "lab"):
        (tmp_path / "shoal" / place).mkdir(parents=True, exist_ok=True)
    (tmp_path / "shoal/__init__.py").touch()
    return tmp_path


@pytest.mark.parametrize("place", ["blocks/deep", "formats"])
def test_an_edit_anywhere_in_the_package_is_noticed(package: Path, place: str) -> None:
    (package / "shoal" / place / "twofold.py").write_text(TWICE)
    (package / "kernels.py").write_text(KERNELS.replace("twofold", f"shoal.{place}.twofold".replace("/", ".")))
    assert python(package, LAST) == "8.0 compiler"
    assert python(package, LAST) == "8.0 cache"
    edit(package / "shoal" / place / "twofold.py")
    assert python(package, LAST) == "12.0 compiler"


@pytest.mark.parametrize(("place", "text"), [("lab", TWICE), ("formats", TWICE.replace("shoal.compiled", "..compiled"))])
def test_a_kernel_that_the_cache_would_not_notice_is_refused(package: Path, place: str, text: str) -> None:
    file = package / "shoal" / place / "twofold.py"
    file.write_text(text)
    assert python(package, f"import shoal.{place}.twofold").splitlines()[-1] == (
        f"ImportError: {file}: twice is a kernel, but the cache would not notice an edit of this file; "
        "move it to one of compiled, columns, blocks, algorithms, or to a file of formats "
        "that says `from shoal.compiled import`"
    )


SHIPPED = """
from shoal.compiled import kernel

@kernel
def last(values):
    return 2 * values[len(values) - 1]
"""

BUILD = """
import json, platform, subprocess
import numpy as np
from shoal.blocks.twofold import last
from shoal.compiled import machine_code, shipped
from shoal.compiled.compiler import compiled
from shoal.compiled.kinds import kind_of
from shoal.compiled.sources import DIGEST

kinds = (kind_of(np.array([1.0])),)
made, key = compiled(last, kinds), shipped.key(machine_code.name_of(last), kinds)
shipped.LIBRARIES.mkdir()
(shipped.LIBRARIES / "a.o").write_bytes(made.code("x86-64-v2", entry="shoal_last"))
subprocess.run(["cc", "-shared", "-o", "x86-64-v2.so", "a.o"], cwd=shipped.LIBRARIES, check=True)
kernels = {key: {"symbol": "shoal_last", "result": made.result}}
manifest = {"digest": DIGEST, "machine": platform.machine(), "levels": ["x86-64-v2"], "kernels": kernels}
(shipped.LIBRARIES / shipped.MANIFEST).write_text(json.dumps(manifest))
"""

USE = """
import sys
import numpy as np
from shoal.blocks.twofold import last

print(last(np.array([1.0, 4.0])), *last.origins, "numba" in sys.modules)
"""


@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("cc"), reason="needs x86-64 and a C compiler to link")
def test_shipped_machine_code_is_used_while_the_sources_and_the_processor_fit(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "shoal/blocks/twofold.py").write_text(SHIPPED)
    assert python(package, BUILD) == ""
    assert python(package, USE) == "8.0 shipped False"
    (package / "cpuinfo").write_text("flags : sse sse2\n")
    monkeypatch.setenv("SHOAL_CPUINFO", str(package / "cpuinfo"))
    assert python(package, USE).endswith("8.0 compiler True")
    monkeypatch.delenv("SHOAL_CPUINFO")
    (package / "shoal/blocks/twofold.py").write_text(SHIPPED.replace("2 *", "3 *"))
    assert python(package, USE) == "12.0 compiler True"


@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("cc"), reason="needs x86-64 and a C compiler to link")
def test_it_is_said_when_shipped_machine_code_lacks_a_kind(package: Path) -> None:
    (package / "shoal/blocks/twofold.py").write_text(SHIPPED)
    python(package, BUILD)
    text = python(
        package, USE.replace("4.0]", "4]").replace("1.0", "1").replace("import sys\n", "import sys; sys.stderr = sys.stdout\n")
    )
    assert text == (
        "shoal.blocks.twofold.last: this package has no machine code for these arguments; compiling it\n8 compiler True"
    )
