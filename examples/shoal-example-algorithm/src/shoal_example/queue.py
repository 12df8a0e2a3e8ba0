"""Queue, as a compiled kernel.

Nothing is compared: the groups say nothing about the values, and much is lost. A floor to measure others by.

- Of one person's tuples the oldest is taken.
- With fewer than k persons in the window: the best cover; if there is none, the tuple is suppressed.
"""

from __future__ import annotations

from shoal.blocks import CLUSTER, REUSE, SUPPRESSED, best_cover, completed, generalize, next_due, release_chosen
from shoal.compiled import inlined, kernel


@kernel
def run(s, batch, closing):
    """Queue."""
    while next_due(s, batch, closing):
        publish(s)


@inlined
def publish(s):
    t, chosen = s.window.clock.due, s.scratch.chosen
    size = first_in_line(s.window, s.scratch, s.rule.k) if s.window.persons.size[0] >= s.rule.k else 0
    if size > 0:
        size = completed(s, t, size, 1.0)
    failed, size = size < 0, abs(size)
    row = best_cover(s, t) if failed or size == 0 else -1
    if size > 0 and row < 0:
        release_chosen(s, size, generalize(s, chosen[:size]), CLUSTER, True, failed)
    else:
        chosen[0] = t
        release_chosen(s, 1, row, REUSE if row >= 0 else SUPPRESSED)


@inlined
def first_in_line(w, scratch, k):
    """Choose the oldest tuples of the first k persons; how many they are."""
    scratch.turn[0] += 1
    size, slot = 0, w.clock.oldest
    while size < k:
        if scratch.seen[w.person[slot]] != scratch.turn[0]:
            scratch.seen[w.person[slot]] = scratch.turn[0]
            scratch.chosen[size] = slot
            size += 1
        slot = w.newer[slot]
    return size
