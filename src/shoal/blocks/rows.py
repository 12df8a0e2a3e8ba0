"""The rows of a group: which persons have shown it, so that none has more than 1/k of its rows; and the time that all show.

A person is remembered by a word made of its fingerprint. Two persons with the same word, a chance of 2^-64, count as one,
which can only make the rule stricter. `blocks.state` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks.domain import multiple_above, multiple_below
from shoal.compiled import inlined, inner

FEWEST, TIMES_K = 512, 16


def remembered(k: int) -> int:
    """How many rows of a group are remembered; a group with as many serves no further tuple."""
    return max(FEWEST, TIMES_K * k)


@inlined
def _word(w, slot):
    """The person of a tuple as one word."""
    person = w.person[slot]
    return w.persons.key[person, 0] ^ (w.persons.key[person, 1] * np.uint64(0x9E3779B97F4A7C15))


@inlined
def show_row(g, row, w, slot):
    """Count one more row of a group, and remember its person."""
    if g.rows_shown[row] < g.people.shape[1]:
        g.people[row, g.rows_shown[row]] = _word(w, slot)
    g.rows_shown[row] += 1


@inlined
def hide_row(g, row):
    """Undo `show_row`: forget the last row of a group."""
    g.rows_shown[row] -= 1


@inlined
def has_share(g, row, w, slot, k):
    """Whether a person with one more row has at most 1/k of the rows of a group: (its rows + 1) * k <= rows + 1."""
    rows = g.rows_shown[row]
    if rows >= g.people.shape[1]:
        return False
    word, people = _word(w, slot), g.people[row, :rows]
    own = np.int64(0)
    for i in range(rows):
        own += people[i] == word
    return (own + 1) * k <= rows + 1


@inner
def most_of_one(w, slots, scratch):
    """The most tuples that one person has in `slots`."""
    scratch.turn[0] += 1
    most = 0
    for slot in slots:
        person = w.person[slot]
        if scratch.seen[person] != scratch.turn[0]:
            scratch.seen[person] = scratch.turn[0]
            scratch.best[person] = 0
        scratch.best[person] += 1
        most = max(most, scratch.best[person])
    return most


@inlined
def one_of_each(w, slots, scratch):
    """Move the oldest tuple of each person to the front; how many they are. The slots must be in order of arrival."""
    scratch.turn[0] += 1
    kept = 0
    for slot in slots:
        person = w.person[slot]
        if scratch.seen[person] != scratch.turn[0]:
            scratch.seen[person] = scratch.turn[0]
            slots[kept] = slot
            kept += 1
    return kept


@inlined
def is_timed(domain):
    """Whether rows show their time."""
    return domain.grid[len(domain.width)] > 0


@inlined
def fix_time(domain, g, row, w, slots):
    """Fix the time that all rows of a new group show: its members' own times, rounded outward to the grid."""
    if not is_timed(domain):
        return
    early, late = np.inf, -np.inf
    for slot in slots:
        early, late = min(early, w.moment[slot]), max(late, w.moment[slot])
    g.early[row] = multiple_below(domain, len(domain.width), early)
    g.late[row] = multiple_above(domain, len(domain.width), late)


@inlined
def is_in_time(domain, g, row, w, slot):
    """Whether the time of a tuple lies inside what a group shows."""
    return not is_timed(domain) or g.early[row] <= w.moment[slot] <= g.late[row]
