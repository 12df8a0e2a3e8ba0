"""Tide: the whole window leaves at once, in groups that are chosen together, the tightest first.

The other algorithms build one group at a time around the tuple that is due. Tide waits until the oldest tuple is due,
and then partitions everything that is held. Candidates grow from seeds all over the window; each takes the tuple with
which it costs least. The cheapest candidate becomes a group, then the next. Then tuples move between the groups wherever
that lowers the total cost. A tuple that an earlier group covers at less cost leaves by reuse. All of them leave in
one wave.

Parameters
----------
effort (quick)
    How much work is put into a wave. `quick`: 2 seeds for every k tuples and one round of repair. `thorough`: 8 seeds and
    up to 3 rounds.
reuse_age (twice the window's length)
    From this age on, a published generalization is no longer reused; 0 disables reuse.
reuse_limit (1,000), reuse_loss (unbounded)
    The most generalizations kept for reuse, and the loss below which a new group is kept.

Examples
--------
>>> from shoal import Anonymizer, Policy
>>> policy = Policy.parse('''
... person: pid
... attributes: {age: {quasi: numeric, range: [0, 100]}}
... privacy: {k: 2}
... window: {count: 4}
... algorithm: {name: tide}
... ''')
>>> anonymizer = Anonymizer(policy)
>>> for pid, age in enumerate([30, 60, 34, 61, 31]):
...     for published in anonymizer.push({"pid": pid, "age": age}):
...         print(published)
{'age': [30, 34]}
{'age': [30, 34]}
{'age': [60, 61]}
{'age': [60, 61]}

31 came too late for the first wave. At the end of the stream there is no second person, but the first group covers it.

>>> anonymizer.to_records(anonymizer.flush())
[{'age': [30, 34]}]

Decisions
---------
n is the number of tuples in the wave. "Older" is earlier in order of arrival; groups and candidates are numbered in
the order in which they came to be.

- Closing. A wave is closed when the oldest tuple has used up all but a 32nd of the window and k persons are held; at the
  latest when the oldest is due. The window is counted in arrivals, in seconds, or under `buffer` in tuples held; the 32nd
  is rounded down, except in seconds. The test is made when the clock has moved, before the arrival that moved it is
  inserted, and again after that. The wave is all tuples held at that moment, or the oldest 8,192 if more than 16,384 are
  held; a tuple that arrives later waits for the next wave. The wave leaves when its oldest tuple is due. At the end of the
  stream a wave that has not left is closed again, over all that is held.
- Between closing and leaving the work is done in steps, so that no arrival waits for all of it. The moment of a
  step changes nothing: the outcome depends only on the wave, and on the reuse set and the clock at the moment of closing.
- All this is under `nulls_match: maybe`, without `one_in_k`. docs/stronger.md says what other rules for nulls, weights,
  diversity and the rows of one person change.
- Units. What decides is counted in whole numbers. A numeric value is at place floor((v - low) / width * 65,536 + 1/2), in
  float64; the loss of a box is the difference of its outermost places. The loss of a node is floor(loss * 65,536 + 1/2). A
  quasi-identifier that no member has loses nothing. A tuple weighs floor(4,096 / |Q_t| + 1/2), or nothing if Q_t is empty.
  The cost of a group is the sum, over its members t and over Q_t, of the weight of t times the loss of the box.
- Cover. The best cover of t at the moment of closing, as for FADS; it costs the weight of t times the sum over Q_t of
  floor(loss * 65,536 + 1/2). Without a cover that cost is infinite.
- Parts. A wave of more than 2,000 and more than 200 * k tuples is cut in two, and so is each part, the lower one first. What
  follows is done for each part alone, n being the number of its tuples. The sample of a part are its tuples number
  floor((2i + 1) * n / 128), for i from 0 to 63.
  For each quasi-identifier, sort the places of the m tuples of the sample that have it; leaves are numbered depth first. Of the
  indices at which another place begins, i is the one nearest to floor(m / 2), ties the lower. With s(a, b) the loss of the box
  over places a + floor((b - a) / 8) to b - 1 - floor((b - a) / 8) of the sorted ones, the cut saves
  m * s(0, m) - i * s(0, i) - (m - i) * s(i, m), times min(i, m - i). The quasi-identifier that saves most, ties the first, is
  used: tuples at place i of the sample or above it are the higher part, all others the lower one. A part stays whole if
  nothing is saved, or if one side would count fewer than k persons.
- Seeds. There are m = min(n, ceil(e * n / k)), where e is 2 or 8. Seed i is tuple number floor((2i + 1) * n / 2m) of the
  part; i and the tuples are numbered from 0. Each seed is the first member of a candidate, which grows at once.
- Growth. The shortlist holds 2k tuples that are in no group and whose persons are not in the candidate: those that add
  least to the sum of the box's losses, ties the older. A quasi-identifier that the tuple or every member lacks adds
  nothing. What is added is counted in coarse units: places, and losses of nodes, are divided by 2^s and rounded down; s is
  the smallest whole number for which the widths of all ranges and hierarchies, so divided, sum up to less than 65,535. The
  tuple of the shortlist with which the candidate costs least joins, ties the older; this tuple and all tuples
  of its person are removed from the shortlist. An empty shortlist is built again. With k persons the candidate is complete;
  its price is its cost.
- Groups. While k persons have tuples in no group, the candidate with the lowest price, ties the lower number, is looked at.
  If no member is in a group, it becomes one. If all are, it is dropped. Else its members that are in no group grow again to
  k persons, from a new shortlist, and the candidate gets a new price. When no candidate is left, the oldest tuple in no
  group is the seed of one more.
- Settling. Each tuple that is left, the oldest first, joins the group whose cost it raises least, ties the lower
  number; or no group, if its cover costs less than that.
- Repair. A round dissolves, then exchanges; `quick` makes one, `thorough` up to three, until one changes nothing.
- Dissolving, the last group first. For each member, take the cost of its cover or the least by which it would raise the
  cost of another group, whichever is smaller. If the sum over the members is below the cost of the group, the members
  settle elsewhere, one after the other, the oldest first. If that costs less than the group did, it stays so; if not, it is
  undone.
- Exchanging, every tuple that is in a group then, the oldest first. Its gain is by how much its group would cost less
  without it; its least is the least by which it would raise the cost of another group, ties the lower number. If its group
  counts k persons without it, it goes to the other group, or to its cover if that costs less than the least; but only if
  that cost is below the gain. If its group does not, and the least is below the gain, it is exchanged with a member of the
  other group: the one with which both groups together cost least, ties the older, if that is less than they cost now. Its
  person must not be in the other group, nor that member's person in its own.
- Leaving. First the tuples in no group leave by their covers, the oldest first; then the group of the oldest remaining
  tuple, until none is left. New groups enter the reuse set as they leave.
- With fewer than k persons in the window, or in the wave, the oldest alone leaves, by its best cover or suppressed.
- The window may be `count`, `time` or `buffer`.

Guarantee
---------
Each group counts at least k persons at the moment it leaves, and a tuple that reuses it later lies inside it. A missing value
stays missing. Under `count` and `time` no tuple waits longer than the window. A tuple is suppressed only when fewer than k
persons are held and no earlier group covers it.

References
----------
None: it was made for shoal, on the experience with FADS, CASTLE and IDEA; docs/algorithms/tide.md says what was tried.
"""

from shoal.algorithms.tide.tide import grown, memory, run

__all__ = ["grown", "memory", "run"]
