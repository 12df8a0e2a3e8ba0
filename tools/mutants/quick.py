"""A plugin of pytest: as many examples as `make test` draws, but no search for a smaller one once hypothesis has found one."""

from __future__ import annotations

from hypothesis import Phase, settings


def pytest_configure() -> None:
    settings.register_profile("found", settings.get_profile("test"), phases=[Phase.explicit, Phase.generate])
    settings.load_profile("found")
