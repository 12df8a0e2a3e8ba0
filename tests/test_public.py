"""What `import shoal` offers is a promise: a change here is a change of the interface."""

from __future__ import annotations

import shoal


def test_the_public_names() -> None:
    assert sorted(shoal.__all__) == [
        "Anonymizer", "FilterStats", "InputError", "Policy", "PolicyError", "RecordError", "Rejection", "ShoalError",
        "SnapshotError", "Stats", "WorkerError", "anonymize", "check", "run",
    ]  # fmt: skip
    assert all(hasattr(shoal, name) for name in shoal.__all__)
