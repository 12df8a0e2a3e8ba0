"""The parameters that generated streams are run with."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from shoal.conformance.naive import Arrival, Demand
from shoal.conformance.streams import SEEDS, Stream, streams
from shoal.policy import parameters_of

COMMON = {
    "reuse_age": st.sampled_from([0, 1, 3, 10, 100, 100]),
    "reuse_limit": st.sampled_from([0, 1, 2, 5, 200, 200]),
    "reuse_loss": st.sampled_from([0.0, 0.2, 0.5, 1.0]),
}
OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "kvarp": {"radius": st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0])},
    "xband": {"band": st.integers(1, 6), "alpha": st.sampled_from([0.0, 0.3, 0.5, 1.0])},
    "castle": {"clusters": st.integers(1, 6), "recent": st.integers(1, 4)},
    "tide": {"effort": st.sampled_from(["quick", "thorough"])},
}
SHARES = ({"x": 0.5, "y": 0.25, "z": 0.25}, {"x": 0.375, "y": 0.5, "elsewhere": 0.125})
ROWS = ((False, None), (False, None), (False, 5.0), (True, None), (True, 0.1), (True, 1.0))
"""`one_in_k` and the grid of a published time; both leave little to be reused, so that a third of the streams has neither."""
WINDOWS = ("count", "time", "buffer")
MIXING = ("maybe", "blurred")  # the readings of nulls that show what only some members of a group have


def parameters(name: str, k: int, window: tuple[str, float]) -> st.SearchStrategy[dict[str, Any]]:
    """Any parameters that a policy may give this algorithm."""
    if name != "fast":
        return st.fixed_dictionaries({}, optional={**COMMON, **(OWN[name] if name in OWN else examples_of(name))})
    kind, length = window
    if kind == "time":
        needed = {"reuse_age": COMMON["reuse_age"], "deadline": st.sampled_from([k + 8.0, k + 30.0])}
        optional = {name: COMMON[name] for name in ("reuse_limit", "reuse_loss")}
        return st.fixed_dictionaries(needed, optional={**optional, "round": st.integers(k, k + 8)})
    deadline = st.integers(k, int(length) + 20)
    given = deadline.flatmap(lambda d: st.fixed_dictionaries({"deadline": st.just(d), "round": st.integers(k, d)}))
    common = st.fixed_dictionaries({}, optional=COMMON)
    return st.tuples(given | st.just({}), common).map(lambda both: both[0] | both[1])


def examples_of(name: str) -> dict[str, st.SearchStrategy[Any]]:
    """For each parameter of an algorithm, the examples in its class: `Field(default=…, examples=[…])`."""
    known = parameters_of(name)
    assert known is not None
    return {key: st.sampled_from(field.examples) for key, field in known.model_fields.items() if field.examples}


def generated(name: str, *kinds: str, matches: Sequence[str] = MIXING, **options: Any) -> st.SearchStrategy[Stream]:
    """Streams for an algorithm, under windows of the given kinds, or of all, and under these readings of nulls."""
    plain = streams(lambda k, window: parameters(name, k, window), kinds=kinds or WINDOWS, **options)
    return st.builds(_asked, plain, st.sampled_from(matches), st.sampled_from(ROWS))


def _asked(stream: Stream, match: str, row: tuple[bool, float | None]) -> Stream:
    one_in_k, time_grid = row
    return stream._replace(match=match, one_in_k=one_in_k, time_grid=time_grid)


def promised(name: str, *kinds: str, **options: Any) -> st.SearchStrategy[Stream]:
    """Streams for an algorithm, with stronger promises than k persons under maybe match."""
    return with_promises(generated(name, *kinds, **options))


@st.composite
def with_promises(draw: st.DrawFn, plain: st.SearchStrategy[Stream]) -> Stream:
    """Streams of which more is asked than of these; their sensitive values are few, some are missing."""
    stream = draw(plain)
    match = draw(st.sampled_from(["blurred", "extended", "root", "maybe"]))
    quasi = len(stream.attributes)
    weighs = st.tuples(*[st.sampled_from([0.5, 1.0, 2.0, 3.0])] * quasi)
    demands = [demand for i in range(draw(st.integers(0, 2))) for demand in draw(_demands(i, stream.k))]
    missing = draw(st.sampled_from([0.0, 0.1, 0.5]))
    random = Random(draw(SEEDS))
    stream = stream._replace(
        match=match,
        min_support=draw(st.none() | st.integers(1, stream.k if match in MIXING else 1)),
        weights=draw(st.one_of(st.just(()), st.just(()), weighs)),
        demands=tuple(demands),
        stretch=draw(st.sampled_from([1, 2, 4])),
    )

    def value() -> str | None:
        return None if random.random() < missing else random.choice("xxyyz")

    return stream._replace(
        events=tuple(
            event._replace(sensitive=tuple(value() for _ in stream.sensitive)) if isinstance(event, Arrival) else event
            for event in stream.events
        )
    )


def _demands(attribute: int, k: int) -> st.SearchStrategy[list[Demand]]:
    """An l, a t, or both."""
    distinct = st.tuples(st.integers(1, min(k, 3)))
    entropy = st.tuples(st.sampled_from([1.0, 1.5, 1.8, 2.0, 2.5]))
    recursive = st.tuples(st.sampled_from([0.5, 1.0, 2.0, 3.0]), st.integers(1, 3))
    diverse = st.one_of(
        distinct.map(lambda numbers: Demand(attribute, "distinct", numbers)),
        entropy.map(lambda numbers: Demand(attribute, "entropy", numbers)),
        recursive.map(lambda numbers: Demand(attribute, "recursive", numbers)),
    )
    close = st.tuples(st.sampled_from([0.1, 0.3, 0.4, 0.5, 0.7]), st.sampled_from([None, None, None, *SHARES])).map(
        lambda both: Demand(attribute, "t", both[:1], both[1])
    )
    return st.one_of(st.tuples(diverse), st.tuples(close), st.tuples(diverse, close)).map(list)
