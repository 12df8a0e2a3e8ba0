"""The lab in a real browser: from a dropped file to a policy that holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from typer.testing import CliRunner

from shoal import Policy
from shoal.cli import app
from shoal.lab import Lab, frontier, lab
from shoal.lab.upload import TEXT
from shoal.web import serve_lab
from tests.lab.base import people, returning, visits
from tests.web.test_browser import Open, violations, visit  # noqa: F401

DROP = """([name, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name));
  document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true}));
}"""
K = "k: persons a record hides among"
DONE = re.compile("tried and audited")


@pytest.fixture(autouse=True)
def patient() -> Iterator[None]:
    """The first answers of a process wait for what has to be loaded."""
    expect.set_options(timeout=30_000)
    yield
    expect.set_options(timeout=5_000)


@pytest.fixture
def bench() -> Iterator[Lab]:
    with Lab() as found:
        yield found


@pytest.fixture
def address(bench: Lab) -> Iterator[str]:
    with serve_lab(bench, port=0) as found:
        yield found


def filled(page: Page, path: Path) -> None:
    """A file has been chosen, and tried with an algorithm that is quickly there."""
    page.locator("#choose").set_input_files(path)
    page.get_by_label("Algorithm", exact=True).select_option("fads")
    page.get_by_label(K, exact=True).fill("5")
    page.get_by_label("Window: how long a record may wait", exact=True).fill("100")
    expect(page.locator("#claim-value")).to_have_text(re.compile(r"^[5-9]$"), timeout=60_000)
    expect(page.locator("#state")).to_have_text(DONE, timeout=30_000)


def test_from_a_dropped_file_to_a_policy_that_holds(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    source = people(tmp_path)
    page = visit(address)
    expect(page.locator("#drop")).to_be_visible()
    page.evaluate(DROP, ["people.csv", source.read_text()])
    expect(page.locator("#file")).to_have_text("people.csv · all 600 rows")
    page.get_by_label("Algorithm", exact=True).select_option("fads")
    page.get_by_label("Role of disease").select_option("sensitive")
    page.get_by_label(f"{K}, slider").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    expect(page.get_by_label(K, exact=True)).to_have_value("5")
    expect(page.locator("#state")).to_have_text(DONE, timeout=60_000)
    expect(page.locator("#promise")).to_have_attribute("data-holds", "open")
    expect(page.locator("#headline")).to_contain_text("△ Amber: k = 5 holds for age and city; an outsider")
    expect(page.locator("#held")).to_contain_text("promises held")
    assert page.locator("#attacks tr").count() >= 7 and page.locator("#rows tbody tr").count() == 12
    with page.expect_download() as download:
        page.get_by_role("button", name="Download policy").click()
    policy = tmp_path / download.value.suggested_filename
    download.value.save_as(policy)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download audit report").click()
    assert "k = 5 holds" in Path(download.value.path()).read_text()
    assert (Policy.load(policy).privacy.k, Policy.load(policy).kept) == (5, ("disease",))
    calls = page.get_by_label("Commands").inner_text()
    assert calls.splitlines()[1] == "shoal run policy.yaml people.csv anonymized.csv --trace private.jsonl"
    for line in calls.splitlines():
        words = [str(tmp_path / word) if "." in word else word for word in line.split()[1:]]
        told = CliRunner().invoke(app, words)
        assert told.exit_code == 0, told.output
    assert "k = 5 holds" in told.output


def test_a_wrong_policy_is_told_beside_its_field(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address)
    filled(page, people(tmp_path))
    end, age = page.get_by_label("to of age"), page.locator("[data-field=age]")
    end.fill("abc")
    message = age.locator(".said li[data-kind=problem]")
    expect(message).to_have_text("attributes.age.range: is not a number; write one, without quotes")
    expect(end).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#state")).to_have_text("one problem")
    expect(page.locator(".said li[data-kind=problem]")).to_have_count(1)
    expect(page.get_by_role("button", name="Download policy")).to_be_disabled()
    assert violations(page) == []
    end.fill("80")
    expect(message).to_have_count(0)
    page.get_by_label(K, exact=True).fill("500")
    expect(page.locator("[data-part=window] .said li, [data-part='*'] .said li")).to_contain_text("is below k=500")
    page.get_by_label(K, exact=True).fill("5")
    page.locator("[data-field=city] summary").click()
    page.get_by_role("button", name="As text").click()
    tree = page.get_by_role("textbox", name="Hierarchy of city")
    tree.fill("any\n  Paris\n Lyon")
    beside = page.locator("[data-field=city] .said li[data-kind=problem]")
    expect(beside).to_contain_text("line 3: stands beside no line above it")
    tree.fill("any\n  France\n    Paris\n    Lyon\n  Norway\n    Oslo\n    Bergen")
    expect(page.locator("#state")).to_have_text(DONE, timeout=30_000)
    expect(page.locator("#policy")).to_contain_text("France: [Paris, Lyon]")


def test_a_hierarchy_is_edited_by_dragging_and_by_keys(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address)
    filled(page, people(tmp_path))
    city = page.locator("[data-field=city]")
    city.locator("summary").click()

    def label(name: str) -> Locator:
        return city.get_by_role("treeitem", name=name, exact=True)

    label("Bergen").locator("> .label").click()
    label("Oslo").locator("> .label").click(modifiers=["Control"])
    city.get_by_role("button", name="Put a new label above those that are chosen").click()
    page.keyboard.type("Norway")
    page.keyboard.press("Enter")
    expect(page.locator("#policy")).to_contain_text("Norway: [Bergen, Oslo]")
    label("Lyon").locator("> .label").drag_to(label("Norway").locator("> .label"))
    expect(page.locator("#policy")).to_contain_text("Norway: [Bergen, Oslo, Lyon]")
    expect(label("Lyon")).to_be_focused()
    page.keyboard.press("Alt+ArrowLeft")
    expect(page.locator("#policy")).to_contain_text("Norway: [Bergen, Oslo]")
    page.keyboard.press("Delete")
    expect(label("Lyon")).to_have_count(0)
    expect(city.locator(".lacking")).to_contain_text("One value of the sample is no leaf: Lyon")
    assert violations(page) == []
    city.get_by_role("button", name="Add it").click()
    expect(page.locator("#policy")).to_contain_text("UNSORTED: [Lyon]")
    expect(page.locator("#state")).to_have_text(DONE)
    page.keyboard.press("Control+z")
    expect(label("UNSORTED")).to_have_count(0)
    city.get_by_role("button", name="By a rule").click()
    page.get_by_label("levels of city").fill("1")
    city.get_by_role("button", name="Build").click()
    expect(label("B*")).to_be_visible()
    page.get_by_label("levels of city").wait_for(state="detached")
    city.get_by_role("button", name="By a rule").click()
    page.get_by_label("Rule for city").select_option("countries")
    city.get_by_role("button", name="Build").click()
    expect(page.locator("#policy")).to_contain_text("ready: countries")


def test_a_large_file_is_sampled(visit: Open, bench: Lab, address: str, tmp_path: Path) -> None:  # noqa: F811
    source = tmp_path / "large.csv"
    lines = people(tmp_path, 1000).read_bytes().split(b"\n", 1)
    with source.open("wb") as file:
        file.write(lines[0] + b"\n")
        while file.tell() < 100_000_000:
            file.write(lines[1] * 100)
    page = visit(address)
    page.locator("#choose").set_input_files(source)
    expect(page.locator("#file")).to_have_text("large.csv · the first 20,000 rows", timeout=30_000)
    assert sum(file.stat().st_size for file in bench.folder.rglob("*") if file.is_file()) <= TEXT


def test_what_cannot_be_read_is_told(visit: Open, address: str) -> None:  # noqa: F811
    page = visit(address)
    page.evaluate(DROP, ["people.exe", "x"])
    expect(page.locator("#alert")).to_contain_text("unknown kind of file")
    expect(page.locator("#drop")).to_be_visible()


def test_a_file_that_cannot_be_read_leaves_no_old_one_behind(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address)
    page.locator("#choose").set_input_files(people(tmp_path))
    expect(page.locator("#bench")).to_be_visible()
    page.evaluate(DROP, ["people.json", "[]"])
    expect(page.locator("#alert")).to_contain_text("people.json: has no records; give another file")
    expect(page.locator("#bench")).to_be_hidden()
    expect(page.locator("#drop")).to_contain_text("CSV, JSON lines, Excel, Parquet, Arrow, ORC or Avro")


def test_how_a_file_is_written_is_corrected_in_boxes(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address)
    path = tmp_path / "guests.csv"
    path.write_text("pid;age;size\n" + "".join(f"p{n % 90};{20 + n % 40};1,{n % 90 + 10}\n" for n in range(300)))
    page.locator("#choose").set_input_files(path)
    expect(page.get_by_label("Between fields")).to_have_value(";")
    expect(page.get_by_label("Decimal mark")).to_have_value(",")
    page.get_by_label("Encoding").select_option("latin-1")
    expect(page.locator("#policy")).to_contain_text('input: {separator: ";", encoding: latin-1, decimal: ","}')
    page.get_by_label("Encoding").select_option("utf-16")
    expect(page.locator("#alert")).to_contain_text("has no mark of UTF-16")
    expect(page.get_by_label("Encoding")).to_have_value("latin-1")


def test_algorithms_are_compared_and_chosen(
    visit: Open, bench: Lab, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    monkeypatch.setattr(lab, "all_names", lambda: ("fads", "tide", "zanon"))
    page = visit(address)
    filled(page, people(tmp_path))
    page.get_by_role("button", name="Compare all algorithms").click()
    expect(page.locator(".algorithms button")).to_have_count(2, timeout=60_000)
    page.locator(".algorithms button", has_text="tide").click()
    expect(page.get_by_label("Algorithm", exact=True)).to_have_value("tide")
    expect(page.locator("#policy")).to_contain_text("algorithm: {name: tide}")


def test_a_field_in_another_role(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address)
    filled(page, people(tmp_path))
    page.get_by_label("Role of disease").select_option("categorical")
    expect(page.locator("#policy")).to_contain_text("any: [asthma, cold, flu]")
    page.get_by_label("Role of city").select_option("numeric")
    expect(page.locator("[data-field=city] .said li").first).to_contain_text("is missing; write [lowest, highest]")


def test_transactions_have_a_z_that_moves(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address)
    page.locator("#choose").set_input_files(visits(tmp_path))
    page.get_by_label("Algorithm", exact=True).select_option("zanon")
    page.get_by_label("Field of the time").select_option("t")
    page.get_by_label("Item: what users expose").select_option("site")
    page.get_by_label("Counted over").fill("10m")
    expect(page.locator("#state")).to_have_text(DONE, timeout=60_000)
    use = page.get_by_role("button", name=re.compile(r"^Use z \d+$"))
    best = use.inner_text().split()[-1]
    use.click()
    expect(page.get_by_label("z: users who must share an item", exact=True)).to_have_value(best)
    expect(page.locator("#policy")).to_contain_text(f"z: {best}")
    assert page.locator(".curve .plot").bounding_box()["height"] >= page.locator(".curve canvas").bounding_box()["height"]  # type: ignore[index]
    page.locator(".curve .plot").click(position={"x": 80, "y": 100})
    expect(page.get_by_label("z: users who must share an item", exact=True)).not_to_have_value(best)
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_anyone_can_use_it(visit: Open, address: str, tmp_path: Path, scheme: str, width: int) -> None:  # noqa: F811
    page = visit(address, color_scheme=scheme, reduced_motion="reduce", viewport={"width": width, "height": 800})
    expect(page.locator("#drop")).to_be_visible()
    assert violations(page) == []
    filled(page, people(tmp_path))
    page.locator("[data-field=city] summary").click()
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


def test_a_sweep_fills_the_frontier_and_a_dot_sets_the_policy(
    visit: Open, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    monkeypatch.setattr(frontier, "all_names", lambda: ("fads", "zanon"))
    page = visit(address)
    filled(page, people(tmp_path))
    expect(page.locator(".dot")).not_to_have_count(0)
    page.locator("#sweep").click()
    expect(page.locator("#frontier [role=status]")).to_contain_text("A click on a dot sets its policy", timeout=120_000)
    assert page.locator(".dot").count() >= 10 and page.locator(".dot.best").count() >= 2
    page.locator("#pin").click()
    other = page.locator(".dot:not(.now)", has_not_text="none").and_(page.locator("[aria-label^='k 10 · window 200']"))
    other.focus()
    expect(page.locator("#dot")).to_contain_text("over 2 quasi-identifiers")
    page.keyboard.press("Enter")
    expect(page.get_by_label(K, exact=True)).to_have_value("10")
    expect(page.locator("#policy")).to_contain_text("window: {count: 200}")
    page.locator("#pin").click()
    expect(page.locator(".pins thead th")).to_have_count(2)
    assert violations(page) == []
    page.get_by_role("button", name=re.compile("^Use k 5")).click()
    expect(page.get_by_label(K, exact=True)).to_have_value("5")


def test_a_reload_loses_nothing_and_steps_are_undone(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address)
    filled(page, people(tmp_path))
    page.get_by_label("Role of disease").select_option("sensitive")
    expect(page.locator("#policy")).to_contain_text("disease: {sensitive: true}")
    expect(page.locator("#state")).to_have_text(DONE)
    dots = page.locator(".dot").count()
    page.locator("#pin").click()
    page.reload()  # at once
    expect(page.locator("#policy")).to_contain_text("disease: {sensitive: true}")
    expect(page.get_by_label(K, exact=True)).to_have_value("5")
    expect(page.locator(".pins thead th")).to_have_count(1)
    assert page.locator(".dot").count() == dots
    page.locator("#undo").click()
    expect(page.locator("#policy")).not_to_contain_text("disease")
    page.keyboard.press("Control+Shift+z")
    expect(page.locator("#policy")).to_contain_text("disease: {sensitive: true}")
    page.get_by_label(K, exact=True).fill("7")
    page.reload()
    expect(page.get_by_label(K, exact=True)).to_have_value("7")
    page.locator("#undo").click()
    expect(page.get_by_label(K, exact=True)).to_have_value("5")


def test_an_existing_policy_and_its_controls(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address)
    filled(page, people(tmp_path))
    policy = tmp_path / "old.yaml"
    policy.write_text(
        "person: pid\nattributes:\n  age: {quasi: numeric, range: [0, 90]}\n  disease: {sensitive: true}\n"
        "privacy: {k: 4, l: 2, accept: {timing: 30%}}\nwindow: {count: 80}\nalgorithm: {name: fads}\n"
    )
    page.locator("#choose-policy").set_input_files(policy)
    expect(page.locator("#set-l")).to_have_value("2")
    expect(page.get_by_label("Success of timing that is accepted")).to_have_value("30%")
    page.get_by_label("Success of timing that is accepted").fill("x")
    expect(page.locator("[data-part='privacy.accept'] .said li")).to_contain_text("is not a share")
    page.get_by_role("button", name="Do not accept timing").click()
    page.get_by_label("What a group shows of", exact=False).first.wait_for(state="detached")
    page.locator("#set-l").fill("")
    expect(page.locator("#state")).to_have_text(DONE)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download anonymized sample").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert (lines[0], len(lines)) == ("age,disease", 601)
    page.locator("#settings button.help").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("k counts persons")
    assert violations(page) == []


HIDDEN = """() => {
    const text = document.querySelector("#across").textContent;
    const shares = [...text.matchAll(/([\\d.]+) % \\(by chance/g)].map((found) => Number(found[1]));
    return shares.length === 2 && shares[1] < 60 && shares;
}"""


def test_blocks_hide_who_comes_back(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address)
    filled(page, returning(tmp_path))
    page.get_by_label("Role of illness").select_option("sensitive")
    page.get_by_label("stable: hardly changes").check()
    page.get_by_label("How illness is published").select_option("bag")
    expect(page.locator("#rows tbody tr").first).to_contain_text("in a bag")
    page.locator("#promises > summary").click()
    page.locator("#across-switch").check()
    page.get_by_label("How illness is published").select_option("block")
    page.get_by_role("button", name="Draft blocks").click()
    shares = page.wait_for_function(HIDDEN, timeout=60_000).json_value()  # each trial writes the text anew
    assert shares[0] > 80
    assert violations(page) == []


def test_the_verdict_is_that_of_the_audit(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address)
    filled(page, returning(tmp_path))
    expect(page.locator("#promise")).to_have_attribute("data-holds", "open")
    expect(page.locator("#headline")).to_contain_text("△ Amber: k = 5 holds for age; an outsider can do more than chance")
    expect(page.locator("#attacks tr").first).to_have_attribute("data-alert", "true")
    expect(page.locator("#brief")).to_contain_text("△ ")
    assert violations(page) == []


def test_one_person_is_never_green_and_loss_says_how_many_fields(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address)
    filled(page, people(tmp_path))
    expect(page.locator("[data-figure=loss]")).to_contain_text("over 2 quasi-identifiers; 2 of 4 fields published")
    page.get_by_label(K, exact=True).fill("1")
    expect(page.locator("#verdict")).to_contain_text("k 1 hides nobody")
    expect(page.locator("#headline")).to_contain_text("△ Amber: k = 1 hides nobody")
    expect(page.locator("#promise")).to_have_attribute("data-holds", "open")


def test_wide_files_are_searched_and_edited_in_bulk(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "wide.csv"
    head = ",".join(["pid", *(f"c{n}" for n in range(499))])
    rows = "".join(f"p{n % 150},{','.join(str((n * 7 + c) % (10 + c % 5)) for c in range(499))}\n" for n in range(300))
    path.write_text(f"{head}\n{rows}")
    page = visit(address)
    page.locator("#choose").set_input_files(path)
    expect(page.locator(".field")).to_have_count(500)
    expect(page.locator("[data-field=c1] .facts")).to_contain_text("singles out")
    page.get_by_label("Algorithm", exact=True).select_option("fads")
    page.get_by_label("Search fields").fill("c49")
    expect(page.locator("#fields-shown")).to_have_text("10 of 500 fields")
    page.get_by_label("Role of all fields that are shown").select_option("numeric")
    expect(page.locator(".field[data-role=numeric]")).to_have_count(10)
    page.get_by_label("Search fields").fill("")
    page.get_by_label("Which fields are shown").select_option("quasi")
    expect(page.locator(".field:visible")).to_have_count(10)


def test_on_a_phone_the_verdict_stays_in_view(visit: Open, address: str, tmp_path: Path) -> None:  # noqa: F811
    page = visit(address, viewport={"width": 390, "height": 800})
    expect(page.locator("#brief")).to_be_hidden()
    filled(page, people(tmp_path))
    expect(page.locator("#brief")).to_be_visible()
    expect(page.locator("#brief")).to_contain_text("≥ k 5")
    page.locator("#results").scroll_into_view_if_needed()
    expect(page.locator("#brief")).to_be_hidden()
    page.locator("#takeaway").scroll_into_view_if_needed()
    expect(page.locator("#brief")).to_be_visible()
