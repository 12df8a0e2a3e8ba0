"""Public streams of real life: persons return, and values are missing as they were when they were recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from shoal.datasets import informs
from shoal.datasets.dataset import DataSet, Place, Span, check_hierarchies, read

CRAN = "https://cran.r-project.org/package={}"
DIAGNOSES = Place("informs/conditions05.csv", informs.PLACE.page)
PATIENTS, TESTS = (Place(f"nafld/{file}", CRAN.format("survival")) for file in ("nafld1.csv", "nafld2.csv"))
PUPILS = Place("star/star.csv", CRAN.format("mlmRev"))

NAFLD: Mapping[str, Span] = {
    "age": (18, 98), "male": None, "weight": (33, 182), "height": (123, 215), "bmi": (9, 85), "test": None,
}  # fmt: skip
STAR: Mapping[str, Span] = {
    "birthq": (1977, 1983), "sx": None, "eth": None, "schtype": None, "cltype": None, "hdeg": None, "exp": (0, 42),
    "read": (315, 775), "math": (288, 774),
}  # fmt: skip
_CHAPTERS = (140, 240, 280, 290, 320, 390, 460, 520, 580, 630, 680, 710, 740, 760, 780, 800)
"""The first codes of the chapters of ICD-9-CM; the first chapter starts at 1."""


def conditions(data: Path) -> DataSet:
    """INFORMS: one row per diagnosis of a person, in the order of the file; codes below zero are missing.

    The chapter of the diagnosis in ICD-9-CM is the label.
    """
    source, people = DIAGNOSES.within(data), informs.PLACE.within(data)
    _check(source.parent, informs.QUASI)
    person = "DUPERSID"
    rows = read(source, {person: pa.string(), "ICD9CODX": pa.string()}, [])
    own = read(people, {person: pa.string(), **dict.fromkeys(informs.QUASI, pa.float64())}, [])
    place = pc.index_in(rows.column(person), own.column(person).combine_chunks())
    quasi = {name: own.column(name).take(place) for name in informs.QUASI}
    known = {name: pc.if_else(pc.less(column, 0), None, column) for name, column in quasi.items()}
    label = {"diagnosis": _chapters(rows.column("ICD9CODX"))}
    table = pa.table({"pid": rows.column(person), **known, **label})
    return DataSet("MEPS conditions", "INFORMS", source.parent, informs.QUASI, table, "diagnosis")


def nafld(data: Path) -> DataSet:
    """Laboratory tests and blood pressures of patients in Minnesota, in the order of `days`; the label is whether they died."""
    people, source = PATIENTS.within(data), TESTS.within(data)
    _check(source.parent, NAFLD)
    own_types = {name: pa.float64() if span else pa.string() for name, span in NAFLD.items() if name != "test"}
    own = read(people, {"id": pa.string(), **own_types, "status": pa.string()}, ["NA"])
    rows = read(source, {"id": pa.string(), "days": pa.int64(), "test": pa.string()}, ["NA"])
    rows = rows.take(pc.sort_indices(rows, sort_keys=[("days", "ascending")]))
    place = pc.index_in(rows.column("id"), own.column("id").combine_chunks())
    quasi = {name: rows.column(name) if name == "test" else own.column(name).take(place) for name in NAFLD}
    table = pa.table({"pid": rows.column("id"), **quasi, "died": own.column("status").take(place)})
    return DataSet("NAFLD", "NAFLD", source.parent, NAFLD, table, "died")


def star(data: Path) -> DataSet:
    """Pupils of Tennessee's Project STAR, one row per school year, year by year; whether lunch was free is the label."""
    source = PUPILS.within(data)
    _check(source.parent, STAR)
    types = {name: pa.float64() if span else pa.string() for name, span in STAR.items()}
    rows = read(source, {**types, "birthq": pa.string(), "id": pa.string(), "ses": pa.string(), "gr": pa.string()}, ["NA"])
    rows = rows.append_column("year", pc.index_in(rows.column("gr"), pa.array(["K", "1", "2", "3"])))
    rows = rows.take(pc.sort_indices(rows, sort_keys=[("year", "ascending")]))
    quasi = {name: _quarters(rows.column(name)) if name == "birthq" else rows.column(name) for name in STAR}
    table = pa.table({"pid": rows.column("id"), **quasi, "lunch": rows.column("ses")})
    return DataSet("STAR", "STAR", source.parent, STAR, table, "lunch")


RETURNING: Mapping[str, tuple[Callable[[Path], DataSet], Sequence[Place]]] = {
    "conditions": (conditions, (DIAGNOSES, informs.PLACE)),
    "nafld": (nafld, (TESTS, PATIENTS)),
    "star": (star, (PUPILS,)),
}


def _check(home: Path, quasi: Mapping[str, Span]) -> None:
    check_hierarchies(home, [name for name, span in quasi.items() if span is None])


def _chapters(codes: pa.ChunkedArray) -> pa.Array:
    """The chapters of ICD-9-CM, 1 to 17, and V; codes below zero are missing.

    >>> _chapters(pa.chunked_array([["001", "460", "V68", "-1", "800"]])).to_pylist()
    ['1', '8', 'V', None, '17']
    """
    return pa.array([_chapter(code) for code in codes.to_pylist()], pa.string())


def _chapter(code: str | None) -> str | None:
    if not code or code.startswith("-"):
        return None
    if not code.isdecimal():
        return code[0]
    return str(1 + sum(int(code) >= first for first in _CHAPTERS))


def _quarters(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Quarters of years as numbers; what is none is missing.

    >>> _quarters(pa.chunked_array([["1980:1", "1979:4", "1979:NA", None]])).to_pylist()
    [1980.0, 1979.75, None, None]
    """
    found = pc.extract_regex(texts, r"^(?P<year>[0-9]{4}):(?P<quarter>[1-4])$")
    year, quarter = (pc.struct_field(found, name).cast(pa.float64()) for name in ("year", "quarter"))
    return pc.add(year, pc.divide(pc.subtract(quarter, 1.0), 4.0))
