"""Figures and page of outputs that are wrong in every way: they are made all the same, and hold no NaN."""

import json
import math

import pytest

from shoal import Policy, run
from shoal.audit import audit
from tests.audit.base import POLICY, people


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def written(path, rows):
    with open(path, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    source = written(folder / "in.jsonl", people())
    target, trace = str(folder / "out.jsonl"), str(folder / "trace.jsonl")
    run(Policy.parse(POLICY), source, target, trace=trace)
    return source, target, trace


def dropped(rows):
    del rows[100]


def doubled(rows):
    rows.insert(5, rows[50])


def emptied(rows):
    rows.clear()


def shuffled(rows):
    rows.reverse()


def no_interval(rows):
    rows[3]["age"], rows[4]["age"], rows[5]["age"] = "x", [9, 3], [1]


def no_node(rows):
    rows[3]["city"] = "Atlantis"


def column_lost(rows):
    for row in rows:
        del row["age"], row["illness"]


def all_null(rows):
    for row in rows:
        row.update(age=None, size=None, city=None, illness=None)


def nested(rows):
    for row in rows:
        row["illness"] = {"name": [row["illness"]]}


SPOILED = [dropped, doubled, emptied, shuffled, no_interval, no_node, column_lost, all_null, nested]


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("spoil", SPOILED, ids=lambda each: each.__name__)
def test_a_wrong_output_is_measured_all_the_same(files, tmp_path, spoil, traced):
    source, target, trace = files
    rows = lines(target)
    spoil(rows)
    report = audit(Policy.parse(POLICY), source, written(tmp_path / "out.jsonl", rows), trace if traced else None)
    assert finite(json.loads(report.to_json())["figures"])
    assert report.to_html().endswith("</html>\n")


@pytest.mark.parametrize("part", ["half", "none"])
def test_a_trace_that_is_cut_is_measured_all_the_same(files, tmp_path, part):
    source, target, trace = files
    rows = lines(trace)
    cut = written(tmp_path / "trace.jsonl", rows[: len(rows) // 2] if part == "half" else [])
    report = audit(Policy.parse(POLICY), source, target, cut)
    assert finite(json.loads(report.to_json())["figures"])
    assert report.to_html().endswith("</html>\n")


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_stream_of_few_is_measured(tmp_path, count):
    source = written(tmp_path / "in.jsonl", people(count=count))
    target, trace = str(tmp_path / "out.jsonl"), str(tmp_path / "trace.jsonl")
    run(Policy.parse(POLICY), source, target, trace=trace)
    report = audit(Policy.parse(POLICY), source, target, trace)
    assert report.held
    assert finite(json.loads(report.to_json())["figures"])
    assert report.headline.colour in report.to_html()


def test_the_json_holds_every_figure(files):
    figures = json.loads(audit(Policy.parse(POLICY), *files).to_json())["figures"]
    assert set(figures) == {"risk", "diversity", "group_diversity", "utility", "attacks", "class_sizes"}
    assert set(figures["risk"]) == {"extended", "maybe"}
    assert figures["risk"]["maybe"]["prosecutor"]["highest"] <= 1 / 5
    assert set(figures["diversity"]) == {"illness", "cost"}
    assert figures["diversity"]["cost"]["ordered"] and not figures["diversity"]["illness"]["ordered"]
    assert figures["utility"]["answers"]["numbers"].keys() == {"age", "size"}


def finite(found):
    if isinstance(found, dict | list):
        return all(map(finite, found.values() if isinstance(found, dict) else found))
    return not isinstance(found, float) or math.isfinite(found)
