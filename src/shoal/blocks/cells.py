"""Cells: the tuples around a group, cut into pieces of k persons before any sensitive value of theirs is read.

A group that is not diverse enough takes in whole cells. So which tuples join depends on what a cell shows as a whole, and not
on which of its tuples has which value. docs/stronger.md has the rule; `blocks.state` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks.distance import by_shared, by_values, distance, rough_distances
from shoal.blocks.diversity import count_shown, help_together, is_diverse, unmet
from shoal.blocks.groups import EXTENDED
from shoal.blocks.nearest import count_persons, nearest_included
from shoal.compiled import inlined, inner


@inner
def complete(s, t, size, alpha):
    """Add the nearest cells that help to the first `size` chosen until all demands hold; how many are chosen then.

    If that is impossible, the result is `-size`, and the first `size` chosen are as they were. Cells are laid when they are
    needed: how they lie depends on no value.
    """
    w, d, scratch, k = s.window, s.exits.diversity, s.scratch, s.exits.promise.k
    chosen, formed = scratch.chosen, size
    if is_diverse(d, w, chosen[:size], scratch):
        return size
    metric = metric_of(s, chosen[:size], alpha)
    left, laid = _measure_outside(s, t, chosen[:size], metric), 0
    while True:
        demand = unmet(d, scratch)
        if demand < 0:
            return size
        found = -1
        for i in range(laid):
            if not scratch.joins[i] and help_together(d, demand, w, scratch.cell[i * k : i * k + k], scratch):
                found = i
                break
        while found < 0 and left >= k:
            _lay_cell(s, metric, scratch.cell[laid * k : laid * k + k])
            scratch.joins[laid] = False
            if help_together(d, demand, w, scratch.cell[laid * k : laid * k + k], scratch):
                found = laid
            laid += 1
            left -= k
        if found < 0:
            return -formed
        scratch.joins[found] = True
        for i in range(found * k, found * k + k):
            chosen[size] = scratch.cell[i]
            size += 1
            count_shown(w, scratch.cell[i], scratch)


@inlined
def metric_of(s, slots, alpha):
    """How distances to a group with the tuples in `slots` are measured."""
    shown = ~np.uint64(0)
    for slot in slots:
        shown &= s.window.pattern[slot]
    return by_shared(alpha, shown) if s.exits.promise.match == EXTENDED else by_values(alpha)


@inlined
def _measure_outside(s, t, slots, metric):
    """scratch.away[j] = the distance of `t` from slot j, for the nearest tuple of each person who has none in `slots`; how many
    these are. It is infinite for all other slots."""
    w, scratch = s.window, s.scratch
    away, best = scratch.away, scratch.best
    count_persons(w, slots, scratch)
    turn, left = scratch.turn[0], 0
    for slot in slots:
        best[w.person[slot]] = -1
    for j in range(w.clock.held):
        person = w.person[j]
        away[j] = np.inf
        if scratch.seen[person] != turn:
            scratch.seen[person] = turn
            best[person] = j
            away[j] = distance(s.domain, w, t, j, metric)
            left += 1
        elif best[person] >= 0:
            other, far = best[person], distance(s.domain, w, t, j, metric)
            if far < away[other] or (far == away[other] and w.arrival[j] < w.arrival[other]):
                away[other] = np.inf
                away[j] = far
                best[person] = j
    return left


@inlined
def _lay_cell(s, metric, cell):
    """Fill `cell` with the nearest tuple that is left, and those left that are nearest to it; they are then left no more."""
    w, scratch = s.window, s.scratch
    away, held, first = scratch.away, s.window.clock.held, -1
    for j in range(held):
        if away[j] < np.inf and (
            first < 0 or away[j] < away[first] or (away[j] == away[first] and w.arrival[j] < w.arrival[first])
        ):
            first = j
    cell[0] = first
    away[first] = np.inf
    rough_distances(s.domain, w, first, metric, scratch)
    for j in range(held):
        scratch.distance[j] = scratch.distance[j] if away[j] < np.inf else np.float32(np.inf)
    nearest_included(s.domain, w, first, len(cell) - 1, metric, scratch, cell[1:])
    for slot in cell[1:]:
        away[slot] = np.inf
