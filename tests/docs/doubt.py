"""What the page on policies tells to ask about values in doubt, and a file of which it can be asked."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tests.docs.base import blocks, read
from tests.formats.base import blurred_intervals, write

ASKED = {"surely": 2, "possibly": 6, "missing": 1, "possibly_missing": 3}


def snippet(before: str) -> str:
    """The snippet that follows a line that begins like this."""
    return next(block.text for block in blocks(read("docs/policy.md")) if block.before.startswith(before))


def write_doubt(path: Path) -> Path:
    certain = (60, 85, False), (65, 70, False), (50, 60, False), (85, 90, False), (86, 90, False)
    pulse = blurred_intervals(int, *certain, (60, 85, True), (70, 70, True), None)
    return write(path, pa.record_batch({"pulse": pulse}))
