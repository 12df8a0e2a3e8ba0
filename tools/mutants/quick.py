"""A plugin of pytest: hypothesis does not look for a smaller example once it has found one."""

from __future__ import annotations

from hypothesis import Phase, settings


def pytest_configure() -> None:
    settings.register_profile("found", phases=[Phase.explicit, Phase.generate])
    settings.load_profile("found")
