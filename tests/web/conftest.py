"""A browser, if there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
    "--disable-default-apps", "--disable-domain-reliability", "--disable-dev-shm-usage", "--disable-gpu",
)  # fmt: skip

expect.set_options(timeout=30_000)  # milliseconds; machines that do other things beside are slow


@pytest.fixture(scope="module")  # while it is there, so is a running event loop, which other tests have no use for
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("there is no Chromium; install it with: apt-get install chromium")
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        except Error:
            pytest.skip("Chromium does not start; install it anew with: apt-get install --reinstall chromium")
        yield found
        found.close()
