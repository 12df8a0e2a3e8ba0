"""Generated streams, and what the engine and its naive twin make of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from shoal import Anonymizer, Policy
from shoal.conformance.naive import Algorithm, Arrival, Categorical, Demand, Doubtful, Numeric, Release, Sets, Tick
from shoal.policy import Hierarchy

TREES: dict[str, dict[str, tuple[str, ...]]] = {
    "flat": {leaf: (leaf, "any") for leaf in "abc"},
    "deep": {
        "a": ("a", "ab", "abc", "any"),
        "b": ("b", "ab", "abc", "any"),
        "c": ("c", "abc", "any"),
        "d": ("d", "only", "de", "any"),
        "e": ("e", "de", "any"),
    },
    "one": {"a": ("a", "any")},
    "single": {"a": ("a",)},
}
WIDE = {f"{i:02}": (f"{i:02}", f"of {i // 9}", "any") for i in range(70)}  # more leaves than a word has bits
SETS: dict[str, dict[str, int]] = {  # the same trees, published as sets
    "flat set": {},
    "deep set": {},
    "deep set of 2": {"most": 2},
    "deep set of 3": {"most": 3},
    "deep set with support": {"min_support": 2},
    "deep set of 2 with support": {"most": 2, "min_support": 2},
    "one set": {},
    "single set": {},
    "wide set": {},
    "wide set of 4": {"most": 4},
}
TREES |= {name: WIDE if name.startswith("wide") else TREES[name.split()[0]] for name in SETS}


Parameters = Callable[[int, tuple[str, float]], st.SearchStrategy[dict[str, Any]]]

SEEDS = st.integers(0, 2**32 - 1)
"""Of what a stream draws by itself: hypothesis, asked value by value, gives up on streams of more than some twenty tuples."""


class Stream(NamedTuple):
    attributes: tuple[Numeric | str, ...]  # a numeric domain or the name of a tree
    k: int
    window: tuple[str, float]
    parameters: dict[str, Any]
    events: tuple[Arrival | Tick, ...]
    cuts: tuple[int, ...]  # where the engine's batches end
    grids: tuple[float | None, ...] = ()  # one a quasi-identifier, or none at all
    match: str = "maybe"
    min_support: int | None = None  # None: what the reading of nulls says
    weights: tuple[float, ...] = ()  # one a quasi-identifier, or none at all
    demands: tuple[Demand, ...] = ()  # in the order of the sensitive attributes, of each l before t
    stretch: float = 1
    lanes: int = 1
    one_in_k: bool = False
    time_grid: float | None = None  # None: no time is published

    @property
    def support(self) -> int:
        """How many persons of a group must have what it shows."""
        if self.min_support is not None:
            return self.min_support
        return min(2, self.k) if self.match == "blurred" else 1

    @property
    def sensitive(self) -> range:
        """The numbers of the sensitive attributes."""
        return range(1 + max((demand.attribute for demand in self.demands), default=-1))

    @property
    def domains(self) -> list[Numeric | Categorical | Sets]:
        return [d if isinstance(d, Numeric) else categorical(d, self.k) for d in self.attributes]


def categorical(name: str, k: int) -> Categorical | Sets:
    return Sets(TREES[name], **_set(name, k)) if name in SETS else Categorical(TREES[name])


def _set(name: str, k: int) -> dict[str, int]:
    """What a set is asked for; a support above k is no policy."""
    return {key: min(value, k) if key == "min_support" else value for key, value in SETS[name].items()}


def policy_of(name: str, stream: Stream) -> Policy:
    attributes: dict[str, Any] = {}
    for i, domain in enumerate(stream.attributes):
        if isinstance(domain, Numeric):
            grid = {"grid": stream.grids[i]} if stream.grids and stream.grids[i] else {}
            attributes[f"q{i}"] = {"quasi": "numeric", "range": [domain.low, domain.high], **grid}
        else:
            sets = {"generalize": {"set": _set(domain, stream.k)}} if domain in SETS else {}
            attributes[f"q{i}"] = {"quasi": "categorical", "hierarchy": Hierarchy.of(TREES[domain].values()), **sets}
    asked = [_asked(stream, i) for i in stream.sensitive]
    shared = {key: asked[0][key] for key in ("l", "t") if asked and all(one.get(key) == asked[0].get(key, 0) for one in asked)}
    for i, one in enumerate(asked):
        attributes[f"s{i}"] = {"sensitive": True, **{key: one[key] for key in one if key not in shared}}
    kind, length = stream.window
    written: dict[str, Any] = {
        "person": "pid", "attributes": {**attributes, "note": {"publish": "keep"}},
        "privacy": {"k": stream.k, "nulls_match": stream.match, "one_in_k": stream.one_in_k, **shared},
        "window": {kind: length}, "algorithm": {"name": name, **stream.parameters},
        "suppressed": "publish",  # so that each row names its record, suppressed ones too
    }  # fmt: skip
    if stream.min_support is not None:
        written["privacy"]["min_support"] = stream.min_support
    if kind == "time" or stream.time_grid:
        written["time"] = {"field": "ts"}
    if stream.time_grid:
        written["time"] |= {"publish": "generalize", "grid": stream.time_grid}
    if stream.weights:
        written["weights"] = {f"q{i}": weight for i, weight in enumerate(stream.weights)}
    if stream.stretch > 1:
        written["sparse"] = {"stretch": stream.stretch}
    if stream.lanes > 1:
        written["lanes"] = stream.lanes
    return Policy.parse(written)


def _asked(stream: Stream, attribute: int) -> dict[str, Any]:
    """What is asked of a sensitive attribute, as it is written."""
    written: dict[str, Any] = {}
    for demand in stream.demands:
        if demand.attribute == attribute:
            written |= _written(demand)
    return written


def _written(demand: Demand) -> dict[str, Any]:
    numbers = list(demand.numbers)
    if demand.kind == "t":
        return {"t": numbers[0], **({"distribution": demand.reference} if demand.reference else {})}
    return {"l": {"distinct": numbers[0], "entropy": {"entropy": numbers[0]}, "recursive": {"recursive": numbers}}[demand.kind]}


def record(stream: Stream, arrival: Arrival, number: int) -> dict[str, Any]:
    values = {f"q{i}": value for i, value in enumerate(arrival.values) if value is not None}
    sensitive = {f"s{i}": value for i, value in enumerate(arrival.sensitive) if value is not None}
    return {"pid": arrival.person, "ts": arrival.time, "note": number, **values, **sensitive}


def released(anonymizer: Anonymizer, answer: pa.RecordBatch, stream: Stream) -> list[Release]:
    """The answer of an anonymizer in the twin's terms."""
    return paired(anonymizer, anonymizer.to_records(answer), stream)


def paired(anonymizer: Anonymizer, records: list[dict[str, Any]], stream: Stream) -> list[Release]:
    """Published records with how they left, in the twin's terms; checks that the kept value belongs to the row."""
    found = []
    for shown, how in zip(records, anonymizer.trace.to_pylist(), strict=True):
        assert shown["note"] == how["row"]
        dress = tuple(worn(shown[f"q{i}"], domain in SETS) for i, domain in enumerate(stream.attributes))
        moment = tuple(shown["ts"]) if shown.get("ts") else None
        values = tuple(shown[f"s{i}"] for i in stream.sensitive)
        found.append(Release(how["row"], how["how"], how["cluster"], dress, how["arrived"], how["released"], moment, values))
    return found


def worn(shown: Any, is_set: bool = False) -> Any:
    if isinstance(shown, dict):
        return worn(shown["value"], is_set), shown["of"], shown["had"]
    if is_set and shown is not None:
        labels = frozenset(shown) - {None}
        return Doubtful(labels) if shown[-1] is None else labels
    if isinstance(shown, list) and shown[-1] is None:
        *ends, _ = shown
        return Doubtful(tuple(ends) if len(ends) == 2 else ends[0])
    return tuple(shown) if isinstance(shown, list) else shown


def engine(anonymizer: Anonymizer, stream: Stream) -> list[Release]:
    """What the engine releases when the stream comes in batches that end at the cuts."""
    found: list[Release] = []
    number, waiting = 0, []
    for i, event in enumerate(stream.events):
        if isinstance(event, Arrival):
            waiting.append(record(stream, event, number))
            number += 1
        if waiting and (i in stream.cuts or isinstance(event, Tick)):
            found += released(anonymizer, anonymizer.push_batch(batch(waiting)), stream)
            waiting = []
        if isinstance(event, Tick):
            found += released(anonymizer, anonymizer.tick(event.now), stream)
    if waiting:
        found += released(anonymizer, anonymizer.push_batch(batch(waiting)), stream)
    return found + released(anonymizer, anonymizer.flush(), stream)


def one_by_one(anonymizer: Anonymizer, stream: Stream) -> list[Release]:
    """What the engine releases when every record comes alone, as a dictionary."""
    found: list[Release] = []
    number = 0
    for event in stream.events:
        if isinstance(event, Tick):
            found += released(anonymizer, anonymizer.tick(event.now), stream)
        else:
            found += paired(anonymizer, anonymizer.push(record(stream, event, number)), stream)
            number += 1
    return found + released(anonymizer, anonymizer.flush(), stream)


def batch(records: list[dict[str, Any]]) -> pa.RecordBatch:
    names = dict.fromkeys(itertools.chain.from_iterable(records))
    return pa.RecordBatch.from_pydict({name: [r.get(name) for r in records] for name in names})


def twin(kind: type[Algorithm], stream: Stream) -> list[Release]:
    return naive(kind, stream).run(stream.events)


def naive(kind: type[Algorithm], stream: Stream) -> Algorithm:
    """The twin, before the stream begins."""
    return kind(
        stream.domains, stream.k, stream.window, match=stream.match, min_support=stream.min_support,
        weights=stream.weights, demands=stream.demands, stretch=stream.stretch, one_in_k=stream.one_in_k,
        time_grid=stream.time_grid, **stream.parameters,
    )  # fmt: skip


@st.composite
def streams(
    draw: st.DrawFn,
    parameters: Parameters,
    kinds: Sequence[str] = ("count", "time", "buffer"),
    attributes: tuple[Numeric | str, ...] | None = None,
) -> Stream:
    """Short streams full of ties: few values, few persons, many nulls, times that stand still or run backwards."""
    numeric = st.sampled_from([Numeric(0.0, 1.0), Numeric(-3.0, 4.0), Numeric(0.0, 0.7)])
    if attributes is None:
        attributes = tuple(draw(st.lists(st.one_of(numeric, st.sampled_from(sorted(TREES))), min_size=1, max_size=4)))
    k = draw(st.integers(1, 5))
    kind = draw(st.sampled_from(kinds))
    length = draw(st.integers(k, k + 12)) if kind != "time" else draw(st.sampled_from([0.5, 3.0, 10.0]))
    persons = draw(st.sampled_from([1, 3, 6, 12, 30]))
    few = draw(st.sampled_from([2, 9]))  # values of each attribute: with two, many tuples fit into groups that have left
    value = [_values(domain)[:few] for domain in attributes]
    missing = draw(st.sampled_from([0.0, 0.3, 0.8]))
    random = Random(draw(SEEDS))
    events: list[Arrival | Tick] = []
    clock = 0.0
    for _ in range(draw(st.integers(0, 60) | st.just(60))):
        clock += random.choice([0.0, 0.0, 1.0, 0.25, 2.0, -1.5])
        if random.random() < 0.05 and kind == "time":
            events.append(Tick(clock + random.choice([0.0, 4.0])))
            continue
        values = tuple(None if random.random() < missing else random.choice(choices) for choices in value)
        events.append(Arrival(random.randrange(persons), values, clock))
    cuts = tuple(i for i in range(len(events)) if random.random() < 0.2)
    return Stream(attributes, k, (kind, length), draw(parameters(k, (kind, length))), tuple(events), cuts)


def _values(domain: Numeric | str) -> list[Any]:
    if isinstance(domain, Numeric):
        low, high = domain.low, domain.high
        return [low, high, (low + high) / 2, low + (high - low) / 3, low + 0.1, high - 0.1]
    return sorted(TREES[domain])
