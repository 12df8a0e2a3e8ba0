"""Fields of a policy that never appear in the input, which is an error at once."""

from __future__ import annotations

import pyarrow as pa

from shoal.errors import InputError
from shoal.formats import Block, differs, kind
from shoal.path import head, in_batch
from shoal.policy import Policy

PATIENCE = 10_000  # records of JSON lines, whose keys may differ, in which a field must appear
_REMEDY = "correct its name in the policy, or list it under input.optional"


class Expected:
    """Looks for the fields of a policy in the blocks of a file; a field that is not there is an InputError."""

    def __init__(self, source: str, policy: Policy) -> None:
        self._source = source
        self._policy = policy
        self._missing = [name for name in policy.fields if name not in policy.input.optional]
        self._is_fixed = kind(source) != "jsonl"  # whether all records have the same fields
        self._rows = 0

    def see(self, block: Block) -> None:
        """Look at a block; raises as soon as a field should have been there."""
        if not self._missing or not block.batch.num_rows:
            return
        self._missing = [name for name in self._missing if not _is_there(block, name)]
        self._rows += block.batch.num_rows
        if self._missing and (self._is_fixed or self._rows >= PATIENCE):
            raise InputError(self._said())

    def done(self) -> None:
        """Raise if the input is over, had records, and a field never appeared."""
        if self._missing and self._rows:
            raise InputError(self._said())

    def _said(self) -> str:
        names = ", ".join(f"'{name}'" for name in self._missing)
        if not self._is_fixed:
            some = f"{'first ' * (self._rows >= PATIENCE)}{self._rows:,} records"
            return f"{self._source}: none of its {some} has {names}; {_REMEDY}"
        seen = differs(self._source, self._policy.input.dialect)
        return f"{self._source}: has no field {names}; {_REMEDY}{'. ' if seen else ''}{seen}"


def _is_there(block: Block, name: str) -> bool:
    if name in block.names:
        return True
    array = in_batch(block.batch, name)
    return head(name) in block.names and array is not None and not pa.types.is_null(array.type)
