"""UCI Adult."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from shoal.datasets.dataset import DataSet, found, with_persons
from shoal.errors import InputError

QUASI: Mapping[str, tuple[int, int] | None] = {
    "age": (17, 90),
    "workclass": None,
    "fnlwgt": (13769, 1484705),
    "education": None,
    "education-num": (1, 16),
    "marital-status": None,
    "occupation": None,
    "relationship": None,
    "race": None,
    "sex": None,
    "capital-gain": (0, 99999),
    "capital-loss": (0, 4356),
    "hours-per-week": (1, 99),
    "native-country": None,
}
SENSITIVE = "income"
NEAR = (Path("data"), Path("../shared/data"))
"""Where the data is looked for if nobody names a folder: here, or in a folder that several projects share."""

_FILE = "adult.data"
_MISSING = "?"
_REMEDY = (
    "download adult.data from https://archive.ics.uci.edu/dataset/2/adult, run `shoal datasets prepare adult adult.data "
    "--data DATA`, and name DATA by --data or SHOAL_DATA"
)


def home_of_data(named: str | os.PathLike[str] | None = None) -> Path:
    """The folder of all data: the one that is named, else by SHOAL_DATA, else near."""
    given = named or os.environ.get("SHOAL_DATA")
    return Path(given) if given else next((place for place in NEAR if place.is_dir()), NEAR[0])


def folder(named: str | os.PathLike[str] | None = None) -> Path:
    """The folder of Adult, among the data."""
    data = home_of_data(named)
    home = data / "adult"
    if found(home / _FILE) and all((home / hierarchy(name)).is_file() for name, span in QUASI.items() if span is None):
        return home
    raise InputError(f"no Adult data in {data}: {_REMEDY}")


def hierarchy(name: str) -> str:
    """The file of an attribute's hierarchy, within the folder of Adult."""
    return f"hierarchies/{name}.csv"


def source(home: Path) -> Path:
    """The file of Adult in its folder."""
    place = found(home / _FILE)
    if place is None:
        raise InputError(f"no Adult data in {home.parent}: {_REMEDY}")
    return place


def rows(home: Path) -> pa.Table:
    """The rows of `adult.data` that miss nothing, income included; labels as dictionaries."""
    place = source(home)
    names = [*QUASI, SENSITIVE]
    try:
        table = pyarrow.csv.read_csv(
            place,
            read_options=pyarrow.csv.ReadOptions(column_names=names),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
        table = pa.table({name: pc.ascii_trim_whitespace(table.column(name)) for name in names})
        for name in names:
            table = table.filter(pc.not_equal(table.column(name), _MISSING))
        table = pa.table({name: _encoded(name, table.column(name).combine_chunks()) for name in names})
    except (pa.ArrowException, OSError):
        raise InputError(f"{place}: cannot be read as Adult; download it again") from None
    if not table.num_rows:
        raise InputError(f"{place}: has no complete row; download it again")
    return table


def dataset(home: Path, label: str | None = None) -> DataSet:
    """All columns but income are quasi-identifiers; income can be the label."""
    names = [*QUASI, *([label] if label else [])]
    return DataSet("Adult", "Adult", home, QUASI, with_persons(rows(home).select(names)), label)


def _encoded(name: str, column: pa.Array) -> pa.Array:
    return column.cast(pa.int64()) if QUASI.get(name) else column.dictionary_encode()
