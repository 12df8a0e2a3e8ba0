"""All defects of a file with kernels at once, each behind a number, so that the kernels compile once for all of them.

A statement with a defect becomes `if planted() == 7: … else: …`. The number is an environment variable; compiled code reads it
from memory at an address that is the same in every process, so that machine code can be kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from tools.mutants.defect import Defect

VARIABLE = "SHOAL_PLANTED"

CELL = 0x5A0000000000

READING = f'''

@intrinsic
def planted(typing_context: Any) -> Any:
    """The number of the planted defect."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(ir.IntType(64)({CELL}), ir.IntType(64).as_pointer()))

    return types.int64(), build
'''
"""What is appended to the file with single machine instructions for kernels."""

OFFERING = f'''

def _planted() -> int:
    """Put the number of the planted defect where kernels read it."""
    import ctypes
    import os

    map_memory = ctypes.CDLL(None, use_errno=True).mmap
    map_memory.restype = ctypes.c_void_p
    map_memory.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    assert map_memory({CELL}, 4096, 3, 0x100022, -1, 0) == {CELL}
    number = int(os.environ.get("{VARIABLE}", "0"))
    ctypes.c_int64.from_address({CELL}).value = number
    return number


PLANTED = _planted()
planted = Instruction(_INTRINSICS, "planted")
'''
"""What is appended to the `__init__` of its folder."""

_IMPORT = "from shoal.compiled import PLANTED, planted\n"
_COMPILED = {"kernel", "inner", "inlined", "spelled_out"}


def switched(text: str, some: Mapping[int, Defect]) -> tuple[str, set[int]]:
    """A file's text with these defects behind their numbers; and the numbers of those that cannot be, outside functions.

    >>> defect = Defect("door", "few", "too few pass", "a.py", "n >= k", "n > k", "tests")
    >>> print(switched("def fits(n, k):\\n    return n >= k\\n", {7: defect})[0])
    from shoal.compiled import PLANTED, planted
    def fits(n, k):
        if PLANTED == 7:
            return n > k
        else:
            return n >= k
    <BLANKLINE>
    """
    places = {number: _place(text, defect.planted(text)) for number, defect in some.items()}
    lines = text.splitlines()
    for first, last, asked in reversed(_merged([place for place in places.values() if place])):
        here = [number for number, place in places.items() if place and first <= place[0] and place[1] <= last]
        indent = " " * (len(lines[first]) - len(lines[first].lstrip()))
        new: list[str] = []
        for number in here:
            changed = some[number].planted(text).splitlines()
            more = len(changed) - len(text.splitlines())
            new += [
                f"{indent}{'elif' if new else 'if'} {asked} == {number}:",
                *_inside(changed[first : last + 1 + more], indent),
            ]
        lines[first : last + 1] = [*new, f"{indent}else:", *_inside(lines[first : last + 1], indent)]
    top = next((i + 1 for i, line in enumerate(lines) if line.startswith("from __future__")), 0)
    lines.insert(top, _IMPORT.rstrip())
    return "\n".join(lines) + "\n", {number for number, place in places.items() if not place}


Place = tuple[int, int, str]
"""The first and the last line of statements that follow each other, from 0, and what tells the number there."""


def _place(text: str, changed: str) -> Place | None:
    """The fewest statements in which two versions of a file differ; None outside functions."""
    return _differing(ast.parse(text).body, ast.parse(changed).body, text.splitlines(), "")


def _differing(old: Sequence[ast.stmt], new: Sequence[ast.stmt], lines: Sequence[str], asked: str) -> Place | None:
    same = [ast.dump(a) == ast.dump(b) for a, b in zip(old, new, strict=False)]
    first = next((i for i, is_same in enumerate(same) if not is_same), min(len(old), len(new)))
    end = 0
    while end < min(len(old), len(new)) - first and ast.dump(old[-1 - end]) == ast.dump(new[-1 - end]):
        end += 1
    rest, others = old[first : len(old) - end], new[first : len(new) - end]
    if len(rest) == len(others) == 1:
        for a, b in _parts(rest[0], others[0]):
            inner = _differing(a, b, lines, _asked(rest[0]) or asked)
            return inner or ((_lines(rest)[0], _lines(rest)[1], asked) if asked else None)
    if not asked:
        return None
    first, last = _lines(rest or old[max(first - 1, 0) :][:1])
    return None if lines[first].lstrip().startswith(("elif", "else", "case")) else (first, last, asked)


def _lines(some: Sequence[ast.stmt]) -> tuple[int, int]:
    return some[0].lineno - 1, (some[-1].end_lineno or some[-1].lineno) - 1


def _parts(one: ast.stmt, other: ast.stmt) -> Iterator[tuple[Sequence[ast.stmt], Sequence[ast.stmt]]]:
    """The one list of statements inside in which two statements differ, if all else is the same."""
    if type(one) is not type(other):
        return
    differing = [field for field in one._fields if _dumped(one, field) != _dumped(other, field)]
    if len(differing) == 1 and differing[0] in ("body", "orelse") and isinstance(getattr(one, differing[0]), list):
        yield getattr(one, differing[0]), getattr(other, differing[0])


def _dumped(statement: ast.stmt, field: str) -> str:
    value = getattr(statement, field)
    return str(
        [ast.dump(each) if isinstance(each, ast.AST) else each for each in (value if isinstance(value, list) else [value])]
    )


def _asked(statement: ast.stmt) -> str:
    """What tells the number inside of a function; nothing where the statement is none."""
    if not isinstance(statement, ast.FunctionDef):
        return ""
    return "planted()" if {ast.unparse(each) for each in statement.decorator_list} & _COMPILED else "PLANTED"


def _merged(places: Sequence[Place]) -> list[Place]:
    """The same in order, those that overlap as one."""
    found: list[Place] = []
    for first, last, asked in sorted(places):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1]), asked
        else:
            found.append((first, last, asked))
    return found


def _inside(lines: Sequence[str], indent: str) -> list[str]:
    """Statements one level deeper; `pass` for none."""
    return [f"    {line}" if line else line for line in lines] if any(map(str.strip, lines)) else [f"{indent}    pass"]
