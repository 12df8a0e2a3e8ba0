"""Drafts of policies, from a sample of the data."""

from shoal.infer.arx import from_arx
from shoal.infer.attribute import K
from shoal.infer.block_draft import BlockDraft, block_entry, draft_blocks, shares_of
from shoal.infer.draft import WINDOW, Study, draft, input_settings, study, written
from shoal.infer.entry import Entry, rounded_range
from shoal.infer.sample import RARE, Column, person_numbers, support
from shoal.infer.schema import from_schema

__all__ = [
    "RARE", "WINDOW", "BlockDraft", "Column", "Entry", "K", "Study",
    "block_entry", "draft", "draft_blocks", "from_arx", "from_schema", "input_settings", "person_numbers", "rounded_range",
    "shares_of", "study", "support", "written",
]  # fmt: skip
