"""A run on real data, judged from its files alone: input, output and trace, a column at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet
from numpy.typing import NDArray

from tests.data.real import Real


class Published:
    """The output and the trace of a run, tuple by tuple in the order of release."""

    def __init__(self, real: Real, output: Path, trace: Path) -> None:
        self.real = real
        self.output = pa.parquet.read_table(output).combine_chunks()
        table = pa.json.read_json(trace)
        self.row, self.arrived = table.column("row").to_numpy(), table.column("arrived").to_numpy()
        self.released = table.column("released").to_numpy()
        self.how = np.array(table.column("how").to_pylist())
        self.cluster = table.column("cluster").fill_null(-1).to_numpy()
        self.imputed = np.zeros(len(self.row), bool)
        self.groups = int(self.cluster.max(initial=-1)) + 1

    def leaves_once(self) -> None:
        assert self.output.num_rows == len(self.row)
        assert np.array_equal(np.sort(self.row), np.arange(len(self.real.rows)))

    def leaves_in_time(self, length: float) -> None:
        assert np.array_equal(self.arrived, self.row)
        assert (self.released - self.arrived).min() >= 0
        assert (self.released - self.arrived).max() <= length

    def has_k_persons(self, k: int) -> None:
        """Every group leaves in one go, at one moment, with k persons; a tuple that reuses it comes later."""
        at = np.flatnonzero(self.how == "cluster")
        number, person = self.cluster[at], np.array(self.real.persons)[self.row[at]]
        starts = at[np.flatnonzero(np.diff(number, prepend=-1))]
        assert np.array_equal(self.cluster[starts], np.arange(self.groups)), "one run of tuples per group, numbered in order"
        assert (np.diff(at)[np.diff(number) == 0] == 1).all(), "nobody else in between"
        moments = self.released[starts][number]
        assert np.array_equal(self.released[at], moments)
        pairs = np.unique(np.stack([number, np.unique(person, return_inverse=True)[1]]), axis=1)
        assert np.bincount(pairs[0], minlength=self.groups).min(initial=k) >= k
        reused = np.flatnonzero(self.how == "reuse")
        assert (starts[self.cluster[reused]] < reused).all()

    def is_true(self) -> None:
        """Every value lies inside what is shown, nulls stay, the suppressed show the root, a group shows the same."""
        assert np.array_equal(self.how == "suppressed", self.cluster < 0)
        for q, (name, domain) in enumerate(self.real.quasi.items()):
            texts = [self.real.rows[row][q] for row in self.row]
            has = np.array([text is not None for text in texts])
            shown = self._plain(name, has)
            suppressed = self.how == "suppressed"
            valid = shown.is_valid().to_numpy(zero_copy_only=False)
            assert np.array_equal(valid, has | suppressed | self.imputed & valid)
            values = [self.real.value(q, text) for text in texts]
            if isinstance(domain, tuple):
                low, high = (shown.field(i).to_numpy(zero_copy_only=False) for i in (0, 1))
                numbers = np.array([np.nan if value is None else value for value in values])
                assert (low[has] <= numbers[has]).all() and (numbers[has] <= high[has]).all()
                assert (low[suppressed] == domain[0]).all() and (high[suppressed] == domain[1]).all()
                dresses = [low, high]
            else:
                labels = np.array(shown.to_pylist(), object)
                above = {line[0]: set(line) for line in domain}
                pairs = {(value, label) for value, label in zip(values, labels, strict=True) if value is not None}
                assert all(label in above[value] for value, label in pairs)
                assert set(labels[suppressed]) <= {domain[0][-1]}
                known = {label: i for i, label in enumerate({label for line in domain for label in line})}
                dresses = [np.array([known.get(label, -1) for label in labels])]
            for dress in dresses:
                self._is_one_a_group(dress, valid & ~suppressed)

    def _is_one_a_group(self, dress: NDArray[Any], worn: NDArray[np.bool_]) -> None:
        most, least = np.full(self.groups, -np.inf), np.full(self.groups, np.inf)
        np.maximum.at(most, self.cluster[worn], dress[worn])
        np.minimum.at(least, self.cluster[worn], dress[worn])
        assert np.array_equal(most[most >= least], least[most >= least])

    def _plain(self, name: str, has: NDArray[np.bool_]) -> pa.Array:
        """The published values without the counts of imputed groups, which are checked on the way."""
        column = self.output.column(name).combine_chunks()
        if not pa.types.is_struct(column.type) or column.type.num_fields != 3:
            return column
        value, of, had = (pa.compute.struct_field(column, i) for i in (0, 1, 2))
        self.imputed = of.is_valid().to_numpy(zero_copy_only=False)
        group = self.cluster[self.imputed]
        assert np.array_equal(of.drop_null().to_numpy(), np.bincount(self.cluster[self.how == "cluster"])[group])
        members = self.how == "cluster"
        counts = np.bincount(self.cluster[members & has], minlength=self.groups)
        assert np.array_equal(had.drop_null().to_numpy(), counts[group])
        return value
