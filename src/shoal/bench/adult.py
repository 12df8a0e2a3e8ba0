"""UCI Adult as a stream of any length, with missing values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from shoal.bench.settings import Contender, Settings
from shoal.errors import InputError
from shoal.policy import Policy

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
PLACES = ("../shared/data", "data")
_FILES = ("adult.data.gz", "adult.data")
_MISSING = "?"
_REMEDY = (
    "download adult.data from https://archive.ics.uci.edu/dataset/2/adult into DATA/adult, put its hierarchies "
    "(after Fung, Wang and Yu, 2005; a line a leaf, leaf first, root last, ';' between) as DATA/adult/hierarchies/"
    "education.csv and so on, and name DATA by --data or SHOAL_DATA"
)


def folder(named: str | os.PathLike[str] | None = None) -> Path:
    """The folder of Adult: under the one that is named, under SHOAL_DATA, or near by.

    Raises:
        InputError: it is not there; says what to download.
    """
    given = named or os.environ.get("SHOAL_DATA")
    places = [Path(given)] if given else [Path(place) for place in PLACES]
    for place in places:
        home = place / "adult"
        if _source(home) and all((home / _hierarchy(name)).is_file() for name, span in QUASI.items() if span is None):
            return home
    looked = " or ".join(str(place) for place in places)
    raise InputError(f"no Adult data in {looked}: {_REMEDY}")


def _source(home: Path) -> Path | None:
    return next((home / name for name in _FILES if (home / name).is_file()), None)


def _hierarchy(name: str) -> str:
    return f"hierarchies/{name}.csv"


@dataclass(frozen=True)
class Adult:
    """The rows of `adult.data` that miss nothing, and the streams and policies made of them."""

    folder: Path

    def policy(self, contender: Contender, settings: Settings) -> Policy:
        return Policy.parse(self.written(contender, settings), self.folder)

    def written(self, contender: Contender, settings: Settings) -> dict[str, Any]:
        """The policy as a document beside the folder of hierarchies: every row is a person, the first columns quasi."""
        names = list(QUASI)[: settings.quasi]
        attributes: dict[str, Any] = {name: _attribute(name) for name in names}
        return {
            "person": "none",
            "attributes": {**attributes, SENSITIVE: {"sensitive": True}},
            "privacy": {"k": settings.k, "nulls_match": settings.nulls_match},
            "window": {"count": settings.window},
            "algorithm": {"name": contender.name, **contender.parameters},
        }

    def stream(self, tuples: int, settings: Settings) -> list[pa.RecordBatch]:
        """So many tuples in batches, labels as dictionaries: the rows again and again, each time in another order."""
        random = np.random.default_rng(settings.seed)
        rows = self.rows.num_rows
        order = np.concatenate([random.permutation(rows) for _ in range(-(-tuples // rows))])[:tuples]
        lost = losses(tuples, settings.quasi, min(settings.missing, settings.quasi - 1), random)
        columns = {
            name: self.rows.column(name).chunk(0).take(pa.array(order, mask=lost[q]))
            for q, name in enumerate(list(QUASI)[: settings.quasi])
        }
        columns[SENSITIVE] = self.rows.column(SENSITIVE).chunk(0).take(pa.array(order))
        return pa.table(columns).to_batches(max_chunksize=settings.batch)

    @cached_property
    def rows(self) -> pa.Table:
        source = _source(self.folder)
        assert source is not None
        names = [*QUASI, SENSITIVE]
        try:
            table = pyarrow.csv.read_csv(
                source,
                read_options=pyarrow.csv.ReadOptions(column_names=names),
                convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
            )
        except (pa.ArrowException, OSError):
            raise InputError(f"{source}: cannot be read as Adult; download it again") from None
        table = pa.table({name: pc.ascii_trim_whitespace(table.column(name)) for name in names})
        for name in names:
            table = table.filter(pc.not_equal(table.column(name), _MISSING))
        if not table.num_rows:
            raise InputError(f"{source}: has no complete row; download it again")
        return pa.table({name: _encoded(name, table.column(name).combine_chunks()) for name in names})


def losses(tuples: int, quasi: int, most: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Which quasi-identifiers, a row each, each tuple loses: 0 to `most` equally often, which ones by chance."""
    count = random.permutation(np.arange(tuples, dtype=np.int64) % (most + 1))
    every = np.arange(tuples)
    order = np.tile(np.arange(quasi, dtype=np.uint8), (tuples, 1))
    lost = np.zeros((quasi, tuples), bool)
    for turn in range(most):
        swapped = random.integers(turn, quasi, tuples)
        drawn = order[every, swapped]
        order[every, swapped] = order[:, turn]
        unlucky = count > turn
        lost[drawn[unlucky], every[unlucky]] = True
    return lost


def _attribute(name: str) -> dict[str, Any]:
    span = QUASI[name]
    if span is None:
        return {"quasi": "categorical", "hierarchy": _hierarchy(name)}
    return {"quasi": "numeric", "range": list(span)}


def _encoded(name: str, column: pa.Array) -> pa.Array:
    return column.cast(pa.int64()) if QUASI.get(name) else column.dictionary_encode()


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same batch with its labels as strings."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
