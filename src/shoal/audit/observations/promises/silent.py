"""Nothing is published that the policy does not list, and no user."""

from __future__ import annotations

import numpy as np

from shoal.audit.finding import Docket, Finding
from shoal.audit.observations.evidence import Observed

NAME = "silent"
SAYS = "no identity, no field that the policy does not list, no value that no row shows"


def check(evidence: Observed) -> Finding:
    """Look at the names of the output's fields, at their dictionaries, and at the form of every pseudonym."""
    docket, person = Docket(evidence), evidence.policy.person
    for name in evidence.unlisted:
        docket.add("the policy does not list this field", field=name)
    for name in evidence.spare:
        docket.add("the file holds values in its dictionary that no row shows", field=name)
    if person in evidence.absent:
        docket.add("the output does not have this field", field=person)
    else:
        docket.rows(np.flatnonzero(evidence.raw), "holds a user of the input instead of a pseudonym", person)
        odd = ~evidence.formed & ~evidence.raw
        docket.rows(np.flatnonzero(odd), "is no pseudonym of 32 hexadecimal digits", person)
    return docket.finding(NAME, SAYS, checked=evidence.released, note="" if evidence.released else "the output has no rows")
