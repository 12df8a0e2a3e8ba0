"""Kernels that the package brings as machine code: a shared library for each level of the processor, and a manifest.

The manifest names the digest of the sources that the libraries were built from, the machine, its levels, and the symbol of each
kernel for each tuple of kinds. After an edit of the sources the libraries are not used. The level is the highest that the
processor has; `tools/libraries.py` builds them.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from shoal.compiled.kinds import Kind
from shoal.compiled.sources import DIGEST, digest

LIBRARIES = Path(__file__).parent / "libraries"
MANIFEST = "manifest.json"

_V2 = "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"
_V3 = "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
_V4 = "avx512f avx512bw avx512cd avx512dq avx512vl"
LEVELS = {
    "x86-64-v4": frozenset(f"{_V2} {_V3} {_V4}".split()),
    "x86-64-v3": frozenset(f"{_V2} {_V3}".split()),
    "x86-64-v2": frozenset(_V2.split()),
}
"""The flags that each level needs, as Linux names them; the highest level first."""


def find(name: str, kinds: tuple[Kind, ...]) -> tuple[int, str] | None:
    """The address of the entry of a kernel, and what it writes; None if it is not shipped."""
    entry = _manifest().get("kernels", {}).get(key(name, kinds))
    library = _library() if entry else None
    if entry is None or library is None:
        return None
    address = ctypes.cast(library[entry["symbol"]], ctypes.c_void_p).value
    return (address, entry["result"]) if address else None


def key(name: str, kinds: tuple[Kind, ...]) -> str:
    """A kernel and the kinds of its arguments; whether an array may be written changes no machine code."""
    return digest(*(text.replace(" read only", "").encode() for text in (name, *map(str, kinds))))


def is_here() -> bool:
    """Whether there are libraries for these sources and this processor."""
    return _library() is not None


@cache
def _manifest() -> dict[str, Any]:
    try:
        found = json.loads((LIBRARIES / MANIFEST).read_text())
    except OSError:
        return {}
    return found if (found["digest"], found["machine"]) == (DIGEST, platform.machine()) else {}


@cache
def _library() -> ctypes.CDLL | None:
    name = level(_manifest().get("levels", ()), _flags())
    return ctypes.CDLL(str(LIBRARIES / f"{name}.so")) if name else None


def level(built: Iterable[str], flags: frozenset[str]) -> str | None:
    """The first of the levels that a processor with these flags has; `SHOAL_LEVEL` names the highest to use, or `none`.

    >>> level(LEVELS, LEVELS["x86-64-v3"] | {"sse"})
    'x86-64-v3'
    >>> level(LEVELS, frozenset())
    """
    most = os.environ.get("SHOAL_LEVEL", "x86-64-v9")
    return next((name for name in built if LEVELS.get(name, frozenset()) <= flags and name <= most != "none"), None)


def _flags() -> frozenset[str]:
    """The flags of the first processor."""
    try:
        with open(os.environ.get("SHOAL_CPUINFO", "/proc/cpuinfo")) as lines:
            return next((frozenset(line.split()) for line in lines if line.startswith("flags")), frozenset())
    except OSError:
        return frozenset()
