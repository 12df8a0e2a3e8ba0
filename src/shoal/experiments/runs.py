"""The papers' streams through the engine: what was lost, how long it took, and what output and trace say tuple by tuple."""

from __future__ import annotations

import atexit
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import Anonymizer, Policy, Stats
from shoal.datasets import DataSet, Span, adult, informs, merged, weather
from shoal.experiments.paper import Job, Outcome

SEED = 0
CITIES = weather.CITIES

_FAST = (
    "age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week", "education", "marital-status",
    "workclass", "native-country",
)  # fmt: skip
_IDEA: Mapping[str, Span] = {
    "age": (0, 100), "education-num": (0, 20), "hours-per-week": (0, 100), "workclass": None, "education": None,
    "marital-status": None, "occupation": None, "relationship": None, "race": None, "sex": None,
}  # fmt: skip


def _adult(data: Path) -> DataSet:
    return adult.dataset(adult.folder(data))


def _adult_of_idea(data: Path) -> DataSet:
    return _adult(data).of(_IDEA)


def _adult_of_fast(data: Path) -> DataSet:
    """A tenth of the rows comes twice, by the same persons."""
    found = _adult(data)
    return found.of({name: found.quasi[name] for name in _FAST}).ordered("a tenth twice", SEED)


def _city(city: str) -> Callable[[Path], DataSet]:
    return lambda data: weather.within(data, city, complete=False)


def _cities(data: Path) -> DataSet:
    """The complete rows of all five, one city after the other."""
    return merged([weather.within(data, city) for city in CITIES], "PM2.5")


SOURCES: Mapping[str, Callable[[Path], DataSet]] = {
    "Adult": _adult, "Adult (IDEA)": _adult_of_idea, "Adult (FAST)": _adult_of_fast, "INFORMS": informs.within,
    "PM2.5": _cities, **{city: _city(city) for city in CITIES},
}  # fmt: skip


@lru_cache(maxsize=4)
def source(data: Path, name: str) -> DataSet:
    return SOURCES[name](data)


@lru_cache(maxsize=4)
def stream(
    data: Path, name: str, tuples: int | None, missing: int | None, quasi: int | None = None, reading: str = "{}"
) -> DataSet:
    """The first tuples of a source, if asked for with its first quasi-identifiers, and with up to so many values taken away.

    `reading` has, as JSON, what `shoal.experiments.readings` does in another way.
    """
    other = json.loads(reading)
    found = source(data, name)
    if other.get("shuffled"):
        found = found.ordered("shuffled", SEED)
    if tuples is not None:
        found = found.head(tuples)
    if quasi is not None:
        found = found.of(dict(list(found.quasi.items())[:quasi]))
    if missing is not None:
        found = _lost(found, missing, other)
    if other.get("trees"):
        found = replace(found, folder=_regrown(found, other["trees"]))
    return replace(found, rows=found.rows.combine_chunks())


def _lost(found: DataSet, missing: int, other: Mapping[str, Any]) -> DataSet:
    """Values are taken from the columns that a reading names: numbers, categories, or all."""
    kind = other.get("lost")
    some = {name: span for name, span in found.quasi.items() if kind is None or (kind == "numbers") == (span is not None)}
    own = replace(found, quasi=some).missing(min(missing, len(some)), other.get("seed", SEED))
    columns = {name: (own if name in some else found).rows.column(name) for name in found.rows.column_names}
    return replace(found, rows=pa.table(columns))


def _regrown(found: DataSet, shape: str) -> Path:
    """A folder with the leaves of each hierarchy under trees of another shape; it is removed with the process."""
    home = Path(mkdtemp(prefix="shoal-"))
    atexit.register(rmtree, home, ignore_errors=True)
    (home / "hierarchies").mkdir()
    for name, span in found.quasi.items():
        if span is None:
            lines = (found.folder / "hierarchies" / f"{name}.csv").read_text(encoding="utf-8").splitlines()
            leaves = [line.split(";")[0].strip() for line in lines if line]
            paths = [[leaf, "Any"] for leaf in leaves] if shape == "flat" else binary(leaves)
            (home / "hierarchies" / f"{name}.csv").write_text("".join(f"{';'.join(path)}\n" for path in paths), "utf-8")
    return home


def binary(leaves: Sequence[str], node: str = "Any") -> list[list[str]]:
    """The paths from each leaf to the root of a binary tree.

    >>> binary(["a", "b", "c"])
    [['a', 'Any.0', 'Any'], ['b', 'Any.1', 'Any'], ['c', 'Any.1', 'Any']]
    """
    if len(leaves) <= 2:
        return [[leaf, node] for leaf in leaves]
    half = len(leaves) // 2
    sides = (leaves[:half], leaves[half:])
    return [[*path, node] for side, own in enumerate(sides) for path in binary(own, f"{node}.{side}")]


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BINS = 20  # of purity
_POINTS = 200  # of a curve over time


def stream_job(
    data: str,
    algorithm: Mapping[str, Any],
    k: int,
    window: Mapping[str, int],
    *,
    tuples: int | None,
    missing: int | None = None,
    quasi: int | None = None,
    nulls_match: str = "maybe",
    passes: int = 1,
    extras: Sequence[str] = (),
) -> Job:
    """One algorithm on one stream. `extras` names measures of `_EXTRAS`; of several timed passes the quickest counts."""
    return Job.of(
        "stream", data=data, algorithm=dict(algorithm), k=k, window=dict(window), tuples=tuples, missing=missing, quasi=quasi,
        nulls_match=nulls_match, extras=list(extras), passes=passes,
    )  # fmt: skip


def run_stream(data: Path, settings: Mapping[str, Any]) -> Outcome:
    """What comes of the stream, and how long it took."""
    other = settings.get("reading", {})
    found = stream(
        data, settings["data"], settings["tuples"], settings["missing"], settings["quasi"], json.dumps(other, sort_keys=True)
    )
    policy = found.policy(settings["algorithm"], settings["k"], settings["window"], nulls_match=settings["nulls_match"])
    batches = found.rows.to_batches()
    stats, output = anonymized(policy, found, batches)
    times = [_times(policy, batches) for _ in range(settings["passes"])]
    seconds, elapsed = (min(column) for column in zip(*times, strict=True))
    loss = output.whole_loss if other.get("missing_is_lost") else stats.loss
    usual = {
        "tuples": stats.released, "loss": loss, "groups": stats.groups, "clustered": stats.clustered,
        "reused": stats.reused, "suppressed": stats.suppressed, "longest": stats.longest_wait,
        "wait": float(output.waits.mean()), "within": int(output.alike.sum()),
        "seconds": seconds, "elapsed": elapsed,
    }  # fmt: skip
    return {**usual, **{name: _EXTRAS[name](output, settings) for name in settings["extras"]}}


def anonymized(policy: Policy, data: DataSet, batches: Sequence[pa.RecordBatch]) -> tuple[Stats, Output]:
    anonymizer = Anonymizer(policy)
    outputs, traces = [], []
    for batch in [*batches, None]:
        outputs.append(anonymizer.flush() if batch is None else anonymizer.push_batch(batch))
        traces.append(anonymizer.trace)
    stats = anonymizer.stats
    assert isinstance(stats, Stats)
    table = pa.Table.from_batches(outputs).unify_dictionaries().combine_chunks()
    return stats, Output(data, table, pa.Table.from_batches(traces))


def _times(policy: Policy, batches: Sequence[pa.RecordBatch]) -> tuple[float, float]:
    """Arrow in, Arrow out: seconds of the processor, in which others on the machine do not count, and by the clock."""
    anonymizer = Anonymizer(policy)
    start, begin = process_time(), perf_counter()
    for batch in batches:
        anonymizer.push_batch(batch)
    anonymizer.flush()
    return process_time() - start, perf_counter() - begin


def node_losses(hierarchy: Path) -> dict[str, float]:
    """The loss of each label of a hierarchy: (leaves under it - 1) / (all leaves - 1).

    Labels are distinguished by name, as the policy demands.
    """
    leaves: dict[str, int] = {}
    lines = [line.split(";") for line in hierarchy.read_text(encoding="utf-8").splitlines() if line]
    for path in lines:
        for label in dict.fromkeys(part.strip() for part in path):
            leaves[label] = leaves.get(label, 0) + 1
    whole = max(len(lines) - 1, 1)
    return {label: (number - 1) / whole for label, number in leaves.items()}


def patterns(data: DataSet) -> Ints:
    """Which quasi-identifiers each row has, as bits."""
    found = np.zeros(data.rows.num_rows, np.int64)
    for q, name in enumerate(data.quasi):
        there = pc.is_valid(data.rows.column(name)).to_numpy(zero_copy_only=False)
        found |= there.astype(np.int64) << q
    return found


@dataclass(frozen=True)
class Output:
    """What a run released: all tuples in the order in which they left, and their trace."""

    data: DataSet
    table: pa.Table
    trace: pa.Table

    @cached_property
    def rows(self) -> Ints:
        """The row of the data behind each."""
        return self._trace("row")

    @cached_property
    def how(self) -> NDArray[np.object_]:
        return self.trace.column("how").to_numpy()

    @cached_property
    def released(self) -> Ints:
        return self._trace("released")

    @cached_property
    def waits(self) -> Ints:
        return self.released - self._trace("arrived")

    @cached_property
    def groups(self) -> Ints:
        """The number of the group; -1 if suppressed."""
        return self.trace.column("cluster").fill_null(-1).to_numpy().astype(np.int64)

    @cached_property
    def losses(self) -> Floats:
        """The mean loss over what each tuple shows; 0 if that is nothing."""
        total, shown = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        for name, span in self.data.quasi.items():
            column = self.table.column(name).combine_chunks()
            found = _interval(column, span) if span else _nodes(column, self.data.folder / "hierarchies" / f"{name}.csv")
            there = ~np.isnan(found)
            total[there] += found[there]
            shown += there
        return np.divide(total, shown, out=np.zeros_like(total), where=shown > 0)

    @cached_property
    def whole_loss(self) -> float:
        """The mean loss if a missing value counts as lost."""
        quasi = len(self.data.quasi)
        there = np.array([int(pattern).bit_count() for pattern in patterns(self.data)[self.rows]])
        lost = np.where(self.how == "suppressed", quasi, self.losses * there + quasi - there)
        return float(lost.mean() / quasi)

    @cached_property
    def clusters(self) -> list[Ints]:
        """Positions of the members of each group that left together, in the order of leaving."""
        own = np.flatnonzero(self.how == "cluster")
        if not len(own):
            return []
        order = own[np.argsort(self.groups[own], kind="stable")]
        return np.split(order, np.flatnonzero(np.diff(self.groups[order])) + 1)

    @cached_property
    def alike(self) -> NDArray[np.bool_]:
        """Whether the members of each group have the same quasi-identifiers: it was formed within a partition."""
        have = patterns(self.data)[self.rows]
        return np.array([len(np.unique(have[members])) == 1 for members in self.clusters], bool)

    def purity(self) -> list[int]:
        """How many groups have so many of their values: a histogram from 0 to 100 % in `BINS` steps."""
        have = patterns(self.data)[self.rows]
        valid = np.array([int(pattern).bit_count() for pattern in have])
        shares = [valid[members].sum() / (len(members) * len(self.data.quasi)) for members in self.clusters]
        return np.histogram(shares, BINS, (0, 1))[0].tolist()

    def pollution(self) -> float:
        """IDEA's MPR, equation 5: how many more cells are missing than before; without suppressed tuples."""
        kept = self.how != "suppressed"
        before = after = 0
        for name in self.data.quasi:
            there = pc.is_valid(self.data.rows.column(name)).to_numpy(zero_copy_only=False)
            shown = pc.is_valid(self.table.column(name)).to_numpy(zero_copy_only=False)
            before += int((~there[self.rows[kept]]).sum())
            after += int((~shown[kept]).sum())
        return (after - before) / (len(self.rows) * len(self.data.quasi))

    def cost(self, alpha: float) -> float:
        """FAST's cost, equation 8: the mean of loss · (1 + α)^(time published - time arrived)."""
        return float((self.losses * (1 + alpha) ** self.waits).mean())

    def reusable(self, age: float, renewed: bool) -> Ints:
        """How many groups can be reused at each arrival: those younger than `age`, by their last use if that renews them."""
        born: Mapping[int, int] = {int(self.groups[each[0]]): int(self.released[each[0]]) for each in self.clusters}
        last = dict(born)
        if renewed:
            for position in np.flatnonzero(self.how == "reuse"):
                last[int(self.groups[position])] = int(self.released[position])
        end = int(self.released.max()) + 1
        change = np.zeros(end + 1, np.int64)
        for group, time in born.items():
            change[time] += 1
            change[min(int(last[group] + age), end)] -= 1
        return np.cumsum(change)[:end]

    def rounds(self) -> Ints:
        """In how many rounds each tuple took part, its own included: groups, reuses and suppressions while it was held."""
        starts = np.zeros(len(self.rows), bool)
        starts[self.how != "cluster"] = True
        for members in self.clusters:
            starts[members[0]] = True
        number = np.cumsum(starts)
        times = self.released[starts]
        before = np.searchsorted(times, self._trace("arrived"), side="right")
        return np.maximum(number - before, 1)

    def _trace(self, name: str) -> Ints:
        return self.trace.column(name).to_numpy().astype(np.int64)


def _interval(column: pa.Array, span: tuple[float, float]) -> Floats:
    if "value" in {field.name for field in column.type}:
        column = pc.struct_field(column, "value")
    lo, hi = (pc.struct_field(column, end).cast(pa.float64()).to_numpy(zero_copy_only=False) for end in ("lo", "hi"))
    return (hi - lo) / (span[1] - span[0])


def _nodes(column: pa.Array, hierarchy: Path) -> Floats:
    if pa.types.is_struct(column.type):
        column = pc.struct_field(column, "value")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    known = node_losses(hierarchy)
    losses = np.array([*(known[label] for label in column.dictionary.to_pylist()), np.nan])
    codes = column.indices.fill_null(len(losses) - 1).to_numpy(zero_copy_only=False)
    return losses[codes]


def _added(output: Output, settings: Mapping[str, Any]) -> int:
    """Groups that enter the reuse set: those below `reuse_loss`; of IoT Anonymization those formed within a partition."""
    most = settings["algorithm"].get("reuse_loss", np.inf)
    fit = np.array([output.losses[members].mean() < most for members in output.clusters], bool)
    return int((fit & output.alike).sum() if settings["algorithm"]["name"] == "iot" else fit.sum())


def _reusable(output: Output, settings: Mapping[str, Any]) -> dict[str, Any]:
    algorithm = settings["algorithm"]
    sizes = output.reusable(algorithm["reuse_age"], algorithm["name"] == "fast")
    every = max(1, len(sizes) // _POINTS)
    seen = np.bincount(sizes[output.released])
    return {"every": every, "sizes": sizes[::every].tolist(), "published": seen.tolist(), "largest": int(sizes.max())}


_EXTRAS: Mapping[str, Callable[[Output, Mapping[str, Any]], Any]] = {
    "purity": lambda output, settings: output.purity(),
    "pollution": lambda output, settings: output.pollution(),
    "added": _added,
    "cost": lambda output, settings: output.cost(0.02),
    "reusable": _reusable,
    "rounds": lambda output, settings: np.bincount(output.rounds()).tolist(),
}
