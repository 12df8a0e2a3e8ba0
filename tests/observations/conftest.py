from __future__ import annotations

import pytest

from observations.base import SECRET


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET", SECRET)
