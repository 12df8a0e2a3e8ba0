"""Drafts of policies, from a sample of the data."""

from shoal.infer.arx import from_arx
from shoal.infer.attribute import K
from shoal.infer.draft import WINDOW, Study, draft, input_settings, study, written
from shoal.infer.entry import Entry, rounded_range
from shoal.infer.sample import RARE, Column, person_numbers, support
from shoal.infer.schema import from_schema

__all__ = [
    "RARE", "WINDOW", "Column", "Entry", "K", "Study",
    "draft", "from_arx", "from_schema", "input_settings", "person_numbers", "rounded_range", "study",
    "support", "written",
]  # fmt: skip
