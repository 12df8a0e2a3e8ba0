"""The engine's whole state, as arrays: a compiled step reads and writes them, and a snapshot saves them.

Names of arguments in kernels
-----------------------------
All files of `blocks` and `algorithms` use these names. Kernels have no annotations; the types are given here, those of fields
in the class of each named tuple. A docstring says what a kernel does and, after the semicolon, what it returns. A *slot*
(int64) is the index of a tuple in the window's arrays; it is valid until a tuple leaves, since tuples then move. A *row*
(int64) is the index of a group in the arrays of `Groups`; beside `batch` it is the index of a tuple in the batch. A *pattern*
(uint64) has bit q set if a tuple has quasi-identifier q; quasi-identifiers are numbered in the policy's order.

============ ========================================================================================================
s            `State`, or `Core`, the part of it that all algorithms have in common (`blocks.core`)
domain       `Domain`: what the policy says about the quasi-identifiers
w            `Window`: the tuples that wait; arrays of one entry per slot, `w.values` of slots x quasi-identifiers
c, clock     `w.clock`: a record of times and counts (`blocks.window.CLOCK`)
g            `Groups`: the generalizations; arrays of one row per group, `g.low` of groups x quasi-identifiers
r            `Reuse`: the groups that later tuples may reuse, e the index of one; in `blocks.roster` a `Roster`
d            `Diversity`: the demands on sensitive values; `demand` (int64): the index of one
m            `s.memory`: the algorithm's own arrays, a named tuple; in searches, a number of tuples (int64)
scratch      `Scratch`: work arrays, so that no kernel allocates
batch        `Batch`: the arrivals of a call; `closing` (bool): no others will follow
t, u         slots (int64): the tuple for which a group is sought, and another tuple
slot, j      a slot (int64); `slots`, `chosen`: an int64 array of slots; `size`, `members` (int64): how many are chosen
q, a, p      indices (int64): q of a quasi-identifier, a of a sensitive attribute, p of a partition (tuples of one pattern)
k, persons   int64: the fewest persons of a group; how many persons there are
row, new     rows of `g`: -1 is none; `new` is a group that is not published yet
how          how a tuple leaves (int64): `CLUSTER`, `REUSE` or `SUPPRESSED` (`blocks.release`)
match        how nulls are compared (int64): `MAYBE`, `BLURRED`, `EXTENDED` or `ROOT` (`blocks.groups`)
metric       `Metric`: how distances are measured; `alpha` (float64): the weight of values against patterns
kept, shown  patterns (uint64): the quasi-identifiers that a group shows
turn         int64; each pass over persons increments it: `scratch.seen[person] == turn` means that this pass saw the person
============ ========================================================================================================

Two algorithms have structures of their own: `v` is a `Wave` (`algorithms.tide.wave`), and `x` is `Exposures` of z-anonymity,
which holds no window (`algorithms.zanon.exposures`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.batch import HANDED_OVER, Batch
from shoal.blocks.diversity import Diversity, refilled, with_values
from shoal.blocks.domain import Domain, domain
from shoal.blocks.groups import MATCHES, Groups, groups
from shoal.blocks.handover import Handover, handover
from shoal.blocks.nearest import Scratch, scratch
from shoal.blocks.release import TALLY, Exits, exits, promise
from shoal.blocks.reuse import Reuse, refill, reuse, rows
from shoal.blocks.rows import remembered
from shoal.blocks.window import KINDS, Window, insert, window
from shoal.compiled import kernel
from shoal.policy import Policy

Arrays = dict[str, NDArray[Any]]
Grown = Callable[[Any, Any, int], Any]  # see `shoal.algorithms`

_WAITING = ("values", "pattern", "arrival", "since", "moment", "pocketed", "cluster", "payload", "sensitive")


class State(NamedTuple):
    domain: Domain
    window: Window
    groups: Groups
    reuse: Reuse
    exits: Exits
    scratch: Scratch
    rule: np.record  # k and the algorithm's own parameters
    memory: tuple[NDArray[Any], ...]  # what the algorithm keeps besides: a named tuple of arrays, or nothing
    handover: Handover


def new_state(
    policy: Policy, parameters: Mapping[str, float], deadlines: tuple[float, float], memory: tuple[NDArray[Any], ...],
    same_pattern: bool, diversity: Diversity,
) -> State:  # fmt: skip
    """An empty state without room for tuples; `shoal.algorithms` explains what an algorithm defines."""
    k, quasi, sensitive = policy.privacy.k, len(policy.quasi), len(policy.requirements)
    rule = np.zeros(1, [("k", np.int64), *((name, np.float64) for name in parameters)]).view(np.recarray)[0]
    rule.k = k
    for name, value in parameters.items():
        rule[name] = value
    privacy = policy.privacy
    people = remembered(k) if policy.one_in_k and policy.reuse.limit > 0 and policy.reuse.age > 0 else 0
    given = promise(k, *deadlines, MATCHES[privacy.nulls_match], privacy.support, policy.one_in_k)
    known = domain(policy)
    words = int(known.word[-1])
    return State(
        known,
        window(KINDS[policy.window.kind], policy.window.length, policy.stretch, quasi, sensitive, 1),
        groups(quasi, sensitive, words, 1, people),
        reuse(policy.reuse.age, policy.reuse.limit, policy.reuse.loss, same_pattern, quasi, words),
        exits(given, diversity, 1),
        scratch(1, sensitive),
        rule,
        memory,
        handover(quasi, sensitive, 1),
    )


def sharing(s: State, other: State, shared: Callable[[Any, Any], Any]) -> State:
    """The same state with the door, the groups and the reuse set of `other`; sensitive values are counted in each."""
    return s._replace(
        groups=other.groups, reuse=other.reuse, exits=other.exits._replace(diversity=s.exits.diversity),
        memory=shared(s.memory, other.memory),
    )  # fmt: skip


def with_exits(s: State, arrivals: int, elsewhere: int = 0) -> State:
    """The same state with room for all tuples that can leave while `arrivals` arrive here and `elsewhere` in other lanes."""
    s = s._replace(exits=s.exits._replace(diversity=with_values(s.exits.diversity, arrivals + elsewhere)))
    leaving = int(s.window.clock.held) + arrivals
    if leaving > len(s.exits.payload):
        larger = exits(s.exits.promise, s.exits.diversity, leaving + leaving // 4)
        _copy(s.exits.tally, larger.tally, TALLY.names or ())
        s = s._replace(exits=larger)
    if s.window.clock.half < np.inf:
        s = with_handover(s, leaving)
    k, most = int(s.rule.k), len(s.window.arrival) + arrivals  # so that the room does not depend on how many wait now
    if int(s.groups.rows[0]) + leaving // k + 2 > len(s.groups.number):
        s = s._replace(groups=_reusable(s, 4 * (most // k + 2)))
    return s


def with_handover(s: State, tuples: int) -> State:
    """The same state with room for `tuples` tuples that go to another lane."""
    if tuples <= len(s.handover.arrivals):
        return s
    return s._replace(handover=handover(len(s.domain.width), len(s.exits.diversity.total), tuples + tuples // 4))


def with_slots(s: State, arrivals: int, grown: Grown) -> State:
    """The same state with a window that has slots for `arrivals` more tuples."""
    clock, sensitive = s.window.clock, len(s.exits.diversity.total)
    slots = int(clock.held) + arrivals
    if slots <= len(s.window.arrival):
        return s
    room = slots + slots // 4
    stretch = float(clock.stretched) / float(clock.length)
    larger = window(clock.kind, clock.length, stretch, len(s.domain.width), sensitive, room)
    _fill(s.domain, larger, waiting(s.window))
    _copy(clock, larger.clock, ("arrivals", "now", "before", "row", "stop", "announced", "laned", "half"))
    larger.clock.young = _young(s.window)
    return s._replace(window=larger, scratch=scratch(room, sensitive), memory=grown(s.memory, s, room))


def waiting(w: Window) -> Arrays:
    """The tuples that wait, in order: first those in the pocket, then by arrival."""
    order = _order(w)
    whole = {name: getattr(w, name)[order] for name in _WAITING}
    return {**whole, "values": w.values[order, : len(w.code)], "person": w.persons.key[w.person[order]]}


def _order(w: Window) -> NDArray[np.int64]:
    """The slots in the order of the linked list."""
    held = int(w.clock.held)
    return np.lexsort((w.arrival[:held], w.pocketed[:held]))


def _young(w: Window) -> int:
    """The slot that `clock.young` will name once the tuples lie in order, without gaps; -1 if there is none."""
    young = int(w.clock.young)
    return int(np.flatnonzero(_order(w) == young)[0]) if young >= 0 else -1


def saved(s: State) -> Arrays:
    """Everything that a snapshot keeps."""
    entries = rows(s.reuse)
    kept = {f"group.{name}": column[entries] for name, column in _used(s.groups, entries).items()}
    records = {"clock": s.window.clock, "reuse": s.reuse.rule, "tally": s.exits.tally}
    memory, d = _kept(s.memory), s.exits.diversity
    known = int(d.values.size[0])
    return {
        "values.key": d.values.key[:known], "values.mass": d.mass[:known], "values.total": d.total,
        **{f"memory.{name}": column for name, column in memory.items()},
        **{f"tuple.{name}": column for name, column in waiting(s.window).items()}, **kept,
        **{f"{name}.{field}": np.asarray(record[field]) for name, record in records.items() for field in record.dtype.names},
        "clock.young": np.asarray(_young(s.window)),
    }  # fmt: skip


def restored(s: State, arrays: Mapping[str, NDArray[Any]], grown: Grown) -> State:
    """A new state `s` brought to where `saved` left it."""
    s = with_slots(s, len(arrays["tuple.arrival"]), grown)
    _fill(s.domain, s.window, {name: arrays[f"tuple.{name}"] for name in (*_WAITING, "person")})
    entries = len(arrays["group.number"])
    s = s._replace(groups=_empty(s, entries + 1))
    for name, column in _columns(s.groups).items():
        _put(arrays[f"group.{name}"], column)
    s.groups.rows[0] = entries
    for name, column in _kept(s.memory).items():
        column[...] = arrays[f"memory.{name}"]
    key = arrays["values.key"]
    s = s._replace(exits=s.exits._replace(diversity=refilled(s.exits.diversity, key, arrays["values.mass"], len(key) + 1)))
    s.exits.diversity.total[:] = arrays["values.total"]
    ends = ("held", "oldest", "newest", "front", "pocket")
    given = ("kind", "length", "stretched", "room", "laned", "half", "row", "stop", "announced")
    known = {"clock": (s.window.clock, (*ends, *given)), "reuse": (s.reuse.rule, ()), "tally": (s.exits.tally, ())}
    for name, (record, without) in known.items():
        for field in record.dtype.names:
            if field not in without:
                record[field] = arrays[f"{name}.{field}"][()]
    refill(s.reuse, s.groups, entries)
    return s


def _kept(memory: tuple[Any, ...]) -> Arrays:
    """What a snapshot keeps of an algorithm's memory: its arrays, but not the work arrays, which lie in a tuple inside it."""
    columns = memory._asdict() if hasattr(memory, "_asdict") else {}
    return {name: column for name, column in columns.items() if isinstance(column, np.ndarray)}


def _columns(g: Groups) -> Arrays:
    return {name: column for name, column in g._asdict().items() if name != "rows"}


def _used(g: Groups, entries: NDArray[np.int64]) -> Arrays:
    """The columns of the groups; of the remembered persons, only as many columns as these groups fill."""
    return {**_columns(g), "people": g.people[:, : int(g.rows_shown[entries].max(initial=0))]}


def _put(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Write rows into the first rows of a column, which may be wider."""
    (target[: len(source), : source.shape[1]] if source.ndim == 2 else target[: len(source)])[...] = source


def _empty(s: State, room: int) -> Groups:
    return groups(len(s.domain.width), len(s.exits.diversity.total), int(s.domain.word[-1]), room, s.groups.people.shape[1])


def _reusable(s: State, room: int) -> Groups:
    """The groups that can still be reused, moved to the front of a table with room for more."""
    entries = rows(s.reuse)
    moved = _empty(s, len(entries) + room)
    for old, new in zip(_used(s.groups, entries).values(), _columns(moved).values(), strict=True):
        _put(old[entries], new)
    moved.rows[0] = len(entries)
    refill(s.reuse, moved, len(entries))
    return moved


def _copy(source: np.record, target: np.record, fields: tuple[str, ...]) -> None:
    for field in fields:
        target[field] = source[field]


def _fill(domain: Domain, w: Window, tuples: Mapping[str, NDArray[Any]]) -> None:
    """Put tuples into an empty window, in order of arrival."""
    values = np.ascontiguousarray(tuples["values"].T)
    batch = Batch(values, tuples["pattern"], tuples["person"], tuples["since"], tuples["moment"], tuples["payload"],
                  tuples["sensitive"], tuples["arrival"], np.full(len(values.T), HANDED_OVER))  # fmt: skip
    w.clock.row = 0
    _insert_all(domain, w, batch, tuples["pocketed"], tuples["cluster"])


@kernel
def _insert_all(domain, w, batch, pocketed, cluster):
    for row in range(len(cluster)):
        slot = insert(domain, w, batch)
        w.cluster[slot] = cluster[row]
        w.pocketed[slot] = pocketed[row]
        if pocketed[row] < np.inf:
            w.clock.pocket += 1
            w.clock.front = -1  # the next tuple, if there is one, becomes the front
