"""The page in a real browser: what it shows is what the stream does."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pyarrow as pa
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from shoal import Anonymizer, Policy
from shoal.telemetry import Telemetry, sample
from shoal.web import serve
from tests.web.base import FILTER, Clock, Stage, people, playing, policy, telling
from tests.web.test_server import TOKEN, metrics

Open = Callable[..., Page]
RECEIVED = "Number(document.querySelector('[data-figure=received]').dataset.value)"


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Opens a page; every complaint of the browser, and every request elsewhere, fails the test."""
    contexts, complaints = [], []

    def opened(address: str, **options: object) -> Page:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(address) else complaints.append(request.url))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    expected = re.compile(r"ERR_|status of 40[01] ")
    unexpected = [complaint for complaint in complaints if not expected.search(complaint)]
    assert unexpected == []


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples appear without a wait."""
    monkeypatch.setattr(sample, "EPOCH", 0.5)


@pytest.fixture
def stage() -> Iterator[Stage]:
    with playing() as found:
        yield found


@pytest.fixture
def address(stage: Stage) -> Iterator[str]:
    with serve(stage.telemetry, port=0) as found:
        yield found


def shown(page: Page, figure: str) -> float:
    """The number behind a figure on the page."""
    return float(page.locator(f"[data-figure={figure}]").get_attribute("data-value") or "nan")


def scraped(address: str) -> dict[str, float]:
    return metrics(httpx.get(f"{address}metrics").text)


def test_the_numbers_move_and_are_those_of_the_metrics(visit: Open, stage: Stage, address: str) -> None:
    page = visit(address)
    expect(page.locator("#state")).to_have_text("running")
    expect(page.locator("[data-figure=received]")).to_have_attribute("data-value", re.compile(r"\d{3,}"))
    before = scraped(address)["shoal_received_total"]
    first = shown(page, "received")
    page.wait_for_function(f"most => {RECEIVED} > most", arg=max(first, before))
    assert before <= shown(page, "received") <= scraped(address)["shoal_received_total"]
    stage.stop()
    expect(page.locator("#state")).to_have_text("stopped")
    told = scraped(address)
    released = sum(told[f"shoal_released_total|{how}"] for how in ("cluster", "reuse", "suppressed"))
    rejected = sum(value for name, value in told.items() if name.startswith("shoal_rejected_total|"))
    assert rejected > 0
    figures = {
        "received": told["shoal_received_total"], "released": released, "rejected": rejected,
        "suppressed": told["shoal_released_total|suppressed"],
    }  # fmt: skip
    assert {name: shown(page, name) for name in figures} == figures
    assert shown(page, "loss") == pytest.approx(told["shoal_loss_sum"] / told["shoal_loss_count"])
    assert page.locator("#claim-value").inner_text() == f"{told['shoal_smallest_group']:.0f}"
    assert page.locator("#claim-bound").inner_text() == f"k {told['shoal_k']:.0f}"
    assert page.locator("#promise").get_attribute("data-holds") == "yes"


def test_the_page_says_that_the_pipeline_has_stopped(visit: Open) -> None:
    with playing() as stage:
        with serve(stage.telemetry, port=0) as address:
            page = visit(address)
            expect(page.locator("#state")).to_have_text("running")
            expect(page.locator("#alert")).to_be_hidden()
            stage.stop("the source closed")
            expect(page.locator("#alert")).to_contain_text("The pipeline has stopped. Reason: the source closed.")
        page.wait_for_timeout(1500)  # the server is gone, too
        expect(page.locator("#alert")).to_contain_text("The pipeline has stopped. Reason: the source closed.")


def test_the_page_says_that_the_connection_is_lost_and_finds_it_again(visit: Open, stage: Stage) -> None:
    with serve(stage.telemetry, port=0) as address:
        page = visit(address)
        expect(page.locator("#state")).to_have_text("running")
        stage.telemetry.stopped = lambda reason: None  # type: ignore[method-assign]  # it goes on behind the page's back
    expect(page.locator("#alert")).to_contain_text("No connection to the pipeline.")
    with serve(stage.telemetry, port=int(address.rsplit(":", 1)[1].strip("/"))):
        expect(page.locator("#state")).to_have_text("running", timeout=15_000)
        expect(page.locator("#alert")).to_be_hidden()


def test_a_promise_that_does_not_hold_is_red(visit: Open) -> None:
    anonymizer, telemetry = Anonymizer(policy()), Telemetry(policy())
    published = anonymizer.push_batch(people(600))
    telemetry.note(published, anonymizer.trace, replace(anonymizer.stats, smallest_group=3), anonymizer.sizes)  # type: ignore[type-var]
    with serve(telemetry, port=0) as address:
        page = visit(address)
        expect(page.locator("#promise")).to_have_attribute("data-holds", "no")
        assert page.locator(".claim").inner_text().split() == ["3", "<", "k", "5"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_anyone_can_use_it(visit: Open, stage: Stage, address: str, scheme: str, width: int) -> None:
    """axe finds nothing in any state, nothing hangs over at a phone's width, and both schemes are followed."""
    page = visit(address, color_scheme=scheme, viewport={"width": width, "height": 800})
    expect(page.locator("#sample-body tr").nth(3)).to_be_visible(timeout=15_000)
    expect(page.locator("html")).to_have_attribute("data-theme", scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    assert violations(page) == []
    stage.stop()
    expect(page.locator("#alert")).to_be_visible()
    assert violations(page) == []


def violations(page: Page) -> list[str]:
    found = Axe().run(page).response
    assert found["passes"]
    return [f"{each['id']}: {node['html'][:120]}" for each in found["violations"] for node in each["nodes"]]


def test_by_keyboard(visit: Open, address: str) -> None:
    page = visit(address, color_scheme="light")
    expect(page.locator("#state")).to_have_text("running")
    page.keyboard.press("Tab")
    expect(page.locator("#pause")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#pause")).to_have_attribute("aria-pressed", "true")
    still = shown(page, "received")
    page.wait_for_timeout(700)
    assert shown(page, "received") == still
    page.keyboard.press("Space")
    page.wait_for_function(f"most => {RECEIVED} > most", arg=still)
    page.keyboard.press("Tab")
    for theme, name in (("light", "light"), ("dark", "dark"), ("system", "light")):
        page.keyboard.press("Enter")
        expect(page.locator("#theme")).to_have_text(f"Theme: {theme}")
        expect(page.locator("html")).to_have_attribute("data-theme", name)


def test_the_token_is_asked_for_once(visit: Open, stage: Stage) -> None:
    with serve(stage.telemetry, port=0, token=TOKEN) as address:
        page = visit(address)
        assert violations(page) == []
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Open the page").click()
        expect(page.locator("#state")).to_have_text("running")
        page.reload()
        expect(page.locator("#state")).to_have_text("running")


def value(page: Page, card: str, place: int = 0) -> str:
    """A value at the head of a chart."""
    return page.locator("figure.card", has=page.locator(f"h2:text('{card}')")).locator(".legend b").nth(place).inner_text()


def aged(day: Telemetry, clock: Clock, seconds: int) -> None:
    """A stream of as many records a second as seconds have passed."""
    anonymizer = Anonymizer(policy())
    for second in range(seconds):
        day.after(anonymizer, anonymizer.push_batch(people(second + 1, second)))
        clock.now += 1
        day.advance()


def test_the_pointer_and_the_keyboard_read_all_charts_at_one_moment(visit: Open) -> None:
    clock = Clock()
    telemetry = telling(clock, policy())
    aged(telemetry, clock, 60)
    with serve(telemetry, port=0) as address:
        page = visit(address, viewport={"width": 1280, "height": 900})
        expect(page.locator("#moment")).to_have_attribute("max", "59")
        assert value(page, "Tuples") == "60"
        page.locator(".plot").first.hover(position={"x": 200, "y": 80})
        page.wait_for_function("document.querySelector('#moment-said').textContent !== 'now'")
        found = int(value(page, "Tuples"))
        assert 0 < found < 60
        held = telemetry.snapshot()["history"]["rows"][found - 1][3]
        assert value(page, "Window") == f"{held:.0f}"
        page.mouse.move(2, 2)
        expect(page.locator("#moment-said")).to_have_text("now")
        assert value(page, "Tuples") == "60"
        page.locator("#moment").focus()
        for _ in range(4):
            page.keyboard.press("ArrowLeft")
        assert (value(page, "Tuples"), value(page, "Window")) == ("56", f"{telemetry.snapshot()['history']['rows'][55][3]:.0f}")
        page.keyboard.press("End")
        assert value(page, "Tuples") == "60"


def test_hour_and_day_by_keyboard(visit: Open) -> None:
    clock = Clock()
    telemetry = telling(clock, policy())
    aged(telemetry, clock, 60)
    with serve(telemetry, port=0) as address:
        page = visit(address)
        expect(page.locator("#moment")).to_have_attribute("max", "59")
        page.locator("#span-minutes").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#moment")).to_have_attribute("max", "5")
        assert value(page, "Tuples") == "56"  # 51 to 60, on average
        page.keyboard.press("ArrowRight")
        expect(page.locator("#moment")).to_have_attribute("max", "0")
        assert value(page, "Tuples") == "31"
        assert violations(page) == []


def test_amber_and_red_are_said_and_logged(visit: Open) -> None:
    clock, links = Clock(), {"source": True, "sink": True}
    about = {"pipeline": "wearables.yaml", "source": "kafka raw", "sink": "kafka clean"}
    telemetry = Telemetry(policy(), clock=clock, about=about, links=lambda: links)
    telemetry.started()
    aged(telemetry, clock, 30)
    with serve(telemetry, port=0) as address:
        page = visit(address)
        expect(page.locator("#policy")).to_contain_text("wearables.yaml")
        expect(page.locator("#flow")).to_have_text("kafka raw → kafka clean")
        expect(page.locator(".safety")).to_contain_text("kafka raw, connected")
        expect(page.locator("#standing li")).to_have_count(0)
        anonymizer = Anonymizer(policy())
        telemetry.after(anonymizer, anonymizer.push_batch(people(1000, age=[300] * 40 + [1] * 960)))
        links["sink"] = False
        clock.now += 1
        expect(page.locator("#standing")).to_contain_text("red: The sink has lost its connection.")
        expect(page.locator("#standing")).to_contain_text("of the last minute's records were rejected.")
        expect(page.locator("[data-figure=rejected]")).to_have_attribute("data-mood", "amber")
        expect(page.locator(".log li.red")).to_contain_text("The sink has lost its connection.")
        expect(page.locator(".log li.amber")).to_contain_text("were rejected.")
        expect(page.locator(".safety")).to_contain_text("kafka clean, no connection")
        expect(page.locator(".log")).to_contain_text("The pipeline has started.")
        assert violations(page) == []


def test_a_pause_looks_paused_and_what_is_old_is_grey(visit: Open, stage: Stage, address: str) -> None:
    page = visit(address)
    expect(page.locator("#state")).to_have_text("running")
    grey = "getComputedStyle(document.querySelector('.card')).filter"
    assert page.evaluate(grey) == "none"
    page.locator("#pause").click()
    expect(page.locator("#pause")).to_have_text(re.compile(r"^Paused at \d\d:\d\d:\d\d · resume$"))
    expect(page.locator("#state")).to_have_text("paused")
    assert "grayscale" in page.evaluate(grey)
    assert violations(page) == []
    page.locator("#pause").click()
    expect(page.locator("#pause")).to_have_text("Pause")
    assert page.evaluate(grey) == "none"
    stage.stop()
    expect(page.locator("body")).to_have_attribute("data-stale", "stopped")
    assert page.evaluate(grey) == "grayscale(1)"


GROUP = {"number": 0, "left": 0.0, "shown": ["25 – 45", "sitting", "South"]}


def test_the_shoal_moves_or_stands_still(visit: Open) -> None:
    """With generated data only; by the pixels of the picture."""
    members = [{"waited": n / 2, "values": [str(25 + n), "sitting", None]} for n in range(20)]
    telemetry = Telemetry(policy(), about={"pipeline": "shoal demo", "source": "a", "sink": "b"})
    telemetry.started()
    begun = time.monotonic()

    def shoal(since: int) -> dict[str, Any]:
        now = time.monotonic() - begun
        return {"now": now, "groups": [{**GROUP, "left": now - 10, "members": members}][since:]}

    drawn = "document.querySelector('#shoal-picture').toDataURL()"
    with serve(telemetry, port=0, shoal=shoal) as address:
        page = visit(address)
        expect(page.locator("#shoal")).to_be_visible()
        first = page.evaluate(drawn)
        page.wait_for_function(f"first => {drawn} !== first", arg=first)
        page.locator("#pause").click()
        page.wait_for_timeout(400)
        rested = page.evaluate(drawn)
        page.wait_for_timeout(600)
        assert page.evaluate(drawn) == rested
        assert violations(page) == []
        still = visit(address, reduced_motion="reduce")
        expect(still.locator("#shoal")).to_be_visible()
        still.wait_for_timeout(2500)
        rested = still.evaluate(drawn)
        assert len(rested) > 5000
        still.wait_for_timeout(600)
        assert still.evaluate(drawn) == rested
    with serve(Telemetry(policy()), port=0) as address:
        expect(visit(address).locator("#shoal")).to_be_hidden()


def test_nothing_moves_by_itself(visit: Open, address: str) -> None:
    """An animation without end takes a fifth of a core."""
    page = visit(address)
    expect(page.locator("#sample-body tr").nth(3)).to_be_visible(timeout=15_000)
    for _ in range(5):
        assert page.evaluate("document.getAnimations().length") == 0
        page.wait_for_timeout(150)


def test_z_anonymity(visit: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET", "sixteen bytes or more")
    filtered = Policy.parse(FILTER)
    anonymizer, telemetry = Anonymizer(filtered), Telemetry(filtered)
    rows = range(400)
    columns = {"t": [float(n) for n in rows], "user": [f"u{n % 40}" for n in rows], "site": [f"s{n % 7}" for n in rows]}
    telemetry.after(anonymizer, anonymizer.push_batch(pa.record_batch({**columns, "note": ["n"] * 400})))
    with serve(telemetry, port=0) as address:
        page = visit(address)
        expect(page.locator(".claim")).to_contain_text("≥ 3")
        told = scraped(address)
        assert shown(page, "released") == told["shoal_observations_total|released"] == anonymizer.stats.released
        assert shown(page, "withheld") == told["shoal_observations_total|withheld"]
        assert shown(page, "p_kanon") == told["shoal_p_kanon"]
        assert violations(page) == []


def test_hours_take_no_more_of_the_browser_than_minutes(visit: Open) -> None:
    """A clock that runs fast: the page draws as many seconds as hours of running have."""
    clock = Clock()
    anonymizer, telemetry = Anonymizer(policy()), telling(clock, policy())

    def run(seconds: int) -> None:
        for second in range(seconds):
            if second % 20 == 0:
                telemetry.after(anonymizer, anonymizer.push_batch(people(60, second)))
            clock.now += 1
            if second % 400 == 0:
                page.wait_for_timeout(280)

    def used() -> tuple[int, float]:
        page.wait_for_timeout(600)
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        nodes = page.evaluate("document.querySelectorAll('*:not(#sample-body *)').length")
        return nodes, page.evaluate("performance.memory.usedJSHeapSize") / 1e6

    with serve(telemetry, port=0) as address:
        page = visit(address)
        run(800)
        nodes, heap = used()
        run(4000)
        later = used()
        assert (later[0], page.locator("#sample-body tr").count()) == (nodes, 12)
        assert later[1] < heap + 1
