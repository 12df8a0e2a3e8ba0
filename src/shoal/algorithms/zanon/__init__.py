"""z-anonymity: an item is published once z users have exposed it within the last Δt, and not before.

Every observation, a user who exposes an item at a time, is decided the moment it arrives: it leaves at once if at least z
different users, its own included, exposed the item in [t-Δt, t]; else it is withheld. Nothing is held and nothing is
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
  the two, and those count whose stored time lies in [t-Δt, t]. The user at hand counts at its own time, also where it was
  seen later already: so z = 1 withholds nothing. Older ones are rejected. The published algorithm knows none of them.
- Every node on the way from the item to the root counts users of its own, so a user who exposes two children counts once
  for their parent. The root is an ancestor like any other. An inner node may be exposed itself. An item that the hierarchy
  does not know stands alone.
- Whether an observation is too late is decided by its item. For an ancestor that is further ahead it counts as nothing.
- Entries of items that no user exposes again are swept away: after 65,536 observations, late ones included, all those from
  before two windows before the newest time seen go, and items without any; and then each time after eight times as many
  observations as items were left, but at least 65,536. So it depends on the stream alone when this happens, not on how it is
  cut into batches. An observation more than a window late can meet an item that was forgotten so: it is then taken in as its
  first instead of being rejected, which counts fewer users, never more.
- Users and items are told apart by keys. A 64-bit whole number is its own key, also as text; any other text has a keyed
  SipHash of 127 bits, several fields together too.
- A period is floor(t / Δt), exactly; under a Δt of 0 every time is a period of its own.
- A z that follows the stream is found anew after each quarter of a period, from the last Δt. Until a whole Δt was counted,
  nothing is released.

Guarantee
---------
Whatever item leaves, at least z different users, its own included, exposed it, or something below it, within the Δt
before. No observation waits.

References
----------
N. Jha, L. Vassio, M. Trevisan, E. Leonardi, M. Mellia: Practical anonymization for data streams: z-anonymity and relation
with k-anonymity. Performance Evaluation 159 (2023), 102329.
"""

from shoal.algorithms.zanon.exposures import (
    Exposures,
    census,
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
    "forget_backing", "marks", "new_exposures", "observations", "restored_exposures", "run", "saved_exposures", "sweep",
    "with_items", "with_room",
]  # fmt: skip
