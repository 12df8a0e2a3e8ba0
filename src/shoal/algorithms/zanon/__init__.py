"""z-anonymity: an item is published once z users have exposed it within the last Δt, and not before.

An observation says that a user exposed an item at time t. It is decided the moment it arrives: it leaves at once if at least
z different users, its own included, exposed the item in [t-Δt, t]; else it is withheld. Nothing is held and nothing is
delayed. Users leave under pseudonyms that change with every Δt. With a hierarchy, a withheld item is published as its
nearest ancestor that enough users exposed.

Parameters
----------
z
    The fewest users who must have exposed an item. `{auto: {k, probability}, floor}` lets it follow the stream, so that a
    user is k-anonymous with this probability.
window (Δt)
    How far back users are counted, and how long a pseudonym lasts.
withheld (drop)
    What becomes of a withheld observation: `drop`, or `blank` to publish it without its item.
secret_file
    A file in the policy's folder that holds the secret of the pseudonyms; without one it is SHOAL_SECRET.

Examples
--------
>>> import os
>>> os.environ["SHOAL_SECRET"] = "at least sixteen bytes"
>>> from shoal import Anonymizer, Policy
>>> policy = Policy.parse('''
... person: user
... time: {field: t}
... item: {field: site, hierarchy: {web: {news: [bbc, lemonde], shops: [amazon]}}}
... algorithm: {name: zanon, z: 2, window: 10s}
... ''')
>>> anonymizer = Anonymizer(policy)
>>> for t, (user, site) in enumerate([("ann", "bbc"), ("ann", "bbc"), ("bob", "lemonde"), ("bob", "bbc"), ("cy", "amazon")]):
...     for published in anonymizer.push({"t": t, "user": user, "site": site}):
...         print(published)
{'t': 2, 'user': 'b57616f34002ce70fd1e2f0ea6ee6731', 'site': 'news'}
{'t': 3, 'user': 'b57616f34002ce70fd1e2f0ea6ee6731', 'site': 'bbc'}
{'t': 4, 'user': '139a22a9b264333a750521f656ff3e01', 'site': 'web'}
>>> del os.environ["SHOAL_SECRET"]

Decisions
---------
- Late observations, with t before the newest time of their item by at most Δt: the user's stored time becomes the later of
  the two, and users count whose stored time lies in [t-Δt, t]. The user of the observation counts at t, even if it was
  already seen later: so z = 1 withholds nothing. Older observations are rejected. The paper does not treat late ones.
- Every node on the way from the item to the root counts users of its own, so a user who exposes two children counts once
  for their parent. The root is an ancestor like any other. An inner node may be exposed itself. An item that the
  hierarchy lacks has no ancestors.
- Whether an observation is too late is decided by its item. An ancestor whose newest time is more than Δt later does not
  count it.
- A sweep removes the entries that are more than two windows older than the newest time seen, and the items without entries.
  The first sweep is after 65,536 observations, late ones included. The next is after eight times as many observations as
  items were left, but at least 65,536. So the moment of a sweep depends only on the stream, not on how it is cut into
  batches. If an observation is more than a window late and its item was removed, it is accepted as the item's first
  observation instead of being rejected. This counts fewer users, never more.
- Users and items are identified by keys. A 64-bit whole number is its own key, also if it is given as text. The key of any
  other text, and of several fields together, is a keyed SipHash of 127 bits.
- A period is floor(t / Δt), exactly; under a Δt of 0 every time is a period of its own.
- A z that follows the stream is computed again after each quarter of a period, from the last Δt. Nothing is released until
  a whole Δt was counted.

Guarantee
---------
For every item that is published, at least z different users, its own included, exposed the item or one below it within the
last Δt. No observation waits.

References
----------
N. Jha, L. Vassio, M. Trevisan, E. Leonardi, M. Mellia: Practical anonymization for data streams: z-anonymity and relation
with k-anonymity. Performance Evaluation 159 (2023), 102329.
"""

from shoal.algorithms.zanon.exposures import (
    Exposures,
    census,
    exposures_until,
    forget_backing,
    marks,
    new_exposures,
    restored_exposures,
    saved_exposures,
    sweep,
    with_items,
    with_room,
)
from shoal.algorithms.zanon.zanon import (
    DONE,
    FULL,
    GENERALIZED,
    LATE,
    OUTCOMES,
    RULE,
    TURN,
    Observations,
    observations,
    run,
)

__all__ = [
    "DONE", "FULL", "GENERALIZED", "LATE", "OUTCOMES", "RULE", "TURN", "Exposures", "Observations", "census",
    "exposures_until", "forget_backing", "marks", "new_exposures", "observations", "restored_exposures", "run",
    "saved_exposures", "sweep", "with_items", "with_room",
]  # fmt: skip
