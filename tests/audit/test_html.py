import html.parser
import json
import re
import shutil
import subprocess
from itertools import pairwise

import pytest

from shoal import Policy, run
from shoal.audit import audit
from tests.audit.base import POLICY, people

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the path; install it, on Debian by apt")
VOID = {"meta", "br", "link", "img", "input", "hr"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audited")
    source, target, trace = (str(folder / name) for name in ("in.jsonl", "out.jsonl", "trace.jsonl"))
    with open(source, "w") as file:
        for record in people():
            size = record["size"] and record["size"] + 0.000417
            file.write(json.dumps({**record, "pid": f"person <{record['pid']}>", "size": size}) + "\n")
    run(Policy.parse(POLICY), source, target, trace=trace)
    return source, target, trace


@pytest.fixture(scope="module")
def page(files):
    return audit(Policy.parse(POLICY), *files).to_html()


@pytest.fixture(scope="module")
def broken(files, tmp_path_factory):
    source, target, trace = files
    spoiled = tmp_path_factory.mktemp("spoiled") / "out.jsonl"
    with open(target) as file:
        rows = [json.loads(line) for line in file]
    rows[17]["pid"] = "person <4>"
    spoiled.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return audit(Policy.parse(POLICY), source, str(spoiled), trace).to_html()


class Reader(html.parser.HTMLParser):
    """Collects elements, and refuses what is not well nested."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.ids, self.links = [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, name, attributes):
        found = dict(attributes)
        self.seen.append((name, found))
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.seen.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop() == name


def test_the_page_is_well_formed_and_its_links_lead_somewhere(page):
    found = Reader(page)
    assert len(found.ids) == len(set(found.ids))
    assert {f"#{place}" for place in found.ids} >= set(found.links) > {"#promises", "#attacks", "#limits"}


def test_it_needs_nothing_from_elsewhere(page):
    found = Reader(page)
    assert not {name for name, _ in found.seen} & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"https?:|url\(|@import|src=", page)


def test_it_can_be_read_without_seeing_it(page):
    found = Reader(page)
    assert ("html", {"lang": "en"}) in found.seen
    levels = [int(name[1]) for name, _ in found.seen if re.fullmatch(r"h\d", name)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for name, attributes in found.seen:
        if name == "th":
            assert attributes["scope"] in ("row", "col")
        if name == "svg":
            assert attributes.get("aria-hidden") == "true" or (attributes["role"] == "img" and attributes["aria-label"])
    tables = [name for name, _ in found.seen if name == "table"]
    assert len(tables) == [name for name, _ in found.seen].count("caption") > 8


def test_the_verdict_is_on_top(page, broken):
    assert "<title>Audit: amber</title>" in page
    places = [page.index(text) for text in ("△ k = ", "1. Were the promises", "2. What can an outsider", "3. What is left of")]
    assert places == sorted(places)
    assert "<title>Audit: red</title>" in broken
    assert "✕ 1 promise broken: silent" in broken
    assert "'pid': the person's field is published" in broken


def test_without_a_trace_it_says_what_could_not_be_checked(files):
    page = audit(Policy.parse(POLICY), *files[:2]).to_html()
    assert "Not checkable from these files: one in k, once, in time, true, alike, unaltered." in page
    assert "No trace was given, so none was run." in page
    assert page.count("Not checkable: without the trace it is unknown whether a guess is right.") == 14


def test_no_person_and_no_raw_value_is_in_it(page, broken, files):
    with open(files[0]) as file:
        records = [json.loads(line) for line in file]
    for record in records:
        assert record["pid"] not in page + broken
        assert record["pid"].replace("<", "&lt;").replace(">", "&gt;") not in page + broken
        assert record["size"] is None or str(record["size"])[:7] not in page + broken
    assert not {record["city"] for record in records if record["city"]} & set(re.findall(r"\w+", page))


def test_a_name_with_markup_is_text(files, tmp_path):
    written = POLICY.replace("illness:", "'<b>ill</b>':")
    source, target, trace = (str(tmp_path / name) for name in ("in.jsonl", "out.jsonl", "trace.jsonl"))
    with open(files[0]) as file:
        records = [json.loads(line) for line in file]
    with open(source, "w") as file:
        file.writelines(json.dumps({**record, "<b>ill</b>": record["illness"]}) + "\n" for record in records)
    run(Policy.parse(written), source, target, trace=trace)
    page = audit(Policy.parse(written), source, target, trace).to_html()
    assert "<b>ill" not in page
    assert "&lt;b&gt;ill&lt;/b&gt;" in page


def test_a_notebook_gets_it_in_a_frame(files):
    framed = audit(Policy.parse(POLICY), *files)._repr_html_()
    assert framed.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert framed.count("<") == 2


def opened(page, folder):
    """The document that a browser makes of a page, and what it complains about."""
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/user"]
    command += ["--enable-logging=stderr", "--disable-background-networking", "--disable-component-update"]
    done = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.browser
@needs_browser
def test_a_browser_shows_it_without_complaint(page, tmp_path):
    shown, complaints = opened(page, tmp_path)
    assert "△ k = " in shown
    assert shown.count("<svg") == page.count("<svg") > 10
    assert complaints == []


@pytest.mark.browser
@needs_browser
def test_a_browser_would_complain_of_something_from_elsewhere(page, tmp_path):
    planted = page.replace("<main>", '<main><img src="http://localhost:9/x.png">')
    assert opened(planted, tmp_path)[1]
