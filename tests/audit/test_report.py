"""What is asked of values, nulls and windows stands in every form of the report."""

from __future__ import annotations

import json
import re
from io import StringIO

import pytest
from rich.console import Console

from shoal.audit import Report
from shoal.cli.judgement import in_lines, in_tables
from tests.audit.stage import said, stage

STRETCHED = "4 tuples were held past the window: fewer than k persons were there"


def judged(nulls_match: str = "extended", **privacy: object) -> Report:
    scene = stage(
        ["zqflu", "zqcold"] * 4,
        {"k": 3, "l": 2, "nulls_match": nulls_match, "one_in_k": False, **privacy},
        {"t": 0.2, "distribution": {"zqflu": 0.5, "zqcold": 0.4, "zqgout": 0.1}},
        weights={"age": 2},
        sparse={"stretch": 4},
        window={"count": 3},
    )
    for line in scene.people[:-2]:
        line["pid"] = 1
    scene.leave(range(8), 7, pulse=None if nulls_match == "extended" else [60, 80])
    report = scene.report()
    assert said(report) == {}
    return report


def test_the_json_holds_what_is_asked_and_found() -> None:
    found = json.loads(judged().to_json())
    policy = found["policy"]
    assert {name: policy[name] for name in ("nulls_match", "min_support", "sensitive", "weights", "stretch")} == {
        "nulls_match": "extended",
        "min_support": 1,
        "sensitive": {"illness": {"l": {"kind": "distinct", "l": 2, "c": 0.0}, "t": 0.2, "reference": "distribution"}},
        "weights": {"age": 2},
        "stretch": 4,
    }
    figures = {each["promise"]: each["figures"] for each in found["promises"]}
    assert figures["diversity"] == {"illness": {"kind": "distinct", "l": 2, "c": 0.0, "least": 2, "withheld": 0}}
    assert figures["closeness"]["illness"]["largest"] == pytest.approx(0.1)
    assert (figures["in time"]["stretched"], figures["in time"]["deadline"]) == (4, 12)
    assert figures["true"]["blanked"] == 8


def test_the_lines_for_a_pipe_tell_it() -> None:
    written = StringIO()
    in_lines(judged(), "out.jsonl", Console(file=written, width=200))
    told = written.getvalue().splitlines()
    assert told[0].startswith("amber: out.jsonl: k = 3 holds") or told[0].startswith("green: out.jsonl: k = 3 holds")
    assert told[1:12] == [
        "0 of 8 rows are outside k.",
        "1. Were the promises of the policy kept? Yes: 9 held",
        "held: k persons: smallest group of 3 persons, k = 3",
        "held: diversity: 8 values checked; illness: at least 2, l=2",
        "held: closeness: 8 values checked; illness: at most 0.1 from the distribution, t=0.2",
        "held: once: 8 accepted, 8 released",
        f"held: in time: longest wait 7 arrivals, deadline 12 arrivals; {STRETCHED}",
        "held: true: 8 rows checked; 8 values were blanked, for the rows of a group to look alike",
        "held: alike: 8 rows checked",
        "held: unaltered: 8 values checked",
        "held: silent: 16 values checked",
    ]
    assert told[12].startswith("2. What can an outsider still do? ")
    assert "nulls: basic match: smallest class 1 person, 8 (100 %) rows below k" in told
    assert "nulls: extended match, as promised: smallest class 3 persons, 0 rows below k" in told
    assert "inferring: end points: right in 50.0 %, by chance in 50.0 %: no worse; no more often than by chance" in told
    assert [line for line in told if not line.startswith("recommended: ")][-1].startswith(
        "3. What is left of the data? mean loss 0."
    )


def test_the_tables_of_a_terminal_tell_it() -> None:
    written = StringIO()
    in_tables(judged("maybe", min_support=2), "out.jsonl", Console(file=written, width=200))
    assert re.search(
        r"support +held +8 rows checked; 0 of 1 groups have a value that fewer than 2 of their persons", written.getvalue()
    )
    told = written.getvalue().splitlines()
    assert told[0].startswith(("GREEN  out.jsonl: k = 3 holds for age and pulse; ", "AMBER  out.jsonl: k = 3 holds"))
    assert len(told) < 45
    places = [next(n for n, line in enumerate(told) if line.startswith(start)) for start in ("1. Were", "2. What", "3. What")]
    assert places == sorted(places)


def test_the_page_tells_it() -> None:
    page = re.sub(r"<[^>]+>", " ", judged().to_html())
    for text in (
        "Promised at every release: illness: l=2, t=0.2 from the policy's distribution.",
        "as it came, l=2, t=0.2 from the policy's distribution",
        "least at a release: 2",
        "largest at a release: 0.1",
        "3, nulls match: extended",
        "up to 4 times as long while fewer than k persons are there",
        "age: 2",
        f"{STRETCHED}.",
        "and neither should an attacker who also knows which values a person lacks",
        "Ends of intervals.",
    ):
        assert text in page.replace("\u00a0", " ").replace("&#x27;", "'"), text
    assert "zq" not in page
    assert "Shared values." not in page and "Nulls." not in page
    maybe = judged("maybe", min_support=2).to_html()
    assert "the root for a value that fewer than 2 persons of a group have" in maybe
    assert "Nulls." in maybe
