"""The check of observations for z-anonymity."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.anonymizer import secret
from shoal.checks.sample import KEY, SampleCheck
from shoal.columns import ObservationEncoder, Rejection
from shoal.errors import PolicyError
from shoal.formats import Block
from shoal.policy import Policy, Zanon


class ObservationCheck(SampleCheck):
    """Counts users, to warn if they are too few."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        assert isinstance(policy.algorithm, Zanon)
        self._parameters = policy.algorithm
        self._encoder = ObservationEncoder(policy, KEY)
        self._rejected: list[Rejection] = []
        self._users: list[NDArray[np.uint64]] = []

    def _take(self, block: Block) -> None:
        found = self._encoder.encode(block.batch, block.rows)
        self._rejected += block.placed(found.rejected)
        self._users.append(np.unique(found.user, axis=0))

    def _problems(self) -> Iterator[str]:
        yield from self._reasons(self._rejected)

    def _warnings(self) -> Iterator[str]:
        try:
            secret(self._parameters)
        except PolicyError as error:
            yield from error.problems
        z = self._parameters.z
        users = len(np.unique(np.concatenate(self._users), axis=0)) if self._users else 0
        if isinstance(z, int) and 0 < users < z:
            size = "the input" if self.complete else "the sample (too short to be sure)"
            yield f"algorithm.z: {size} has only {users:,} user{'' if users == 1 else 's'}, below z={z}: nothing is released"
