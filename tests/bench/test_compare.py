"""`shoal compare`: equal waits, repetitions, statistics, files."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from typer.testing import CliRunner

from shoal import extras
from shoal.algorithms import algorithm
from shoal.audit import Evidence, gather
from shoal.bench import Comparison, Plan, add_rows, compare, contenders, of_policy, subjects, write_comparison
from shoal.bench.comparison import comparison as runner
from shoal.bench.comparison.measures import MEASURES, accuracies, originals, publications
from shoal.bench.comparison.statistics import holm, mean_and_half, paired, quantile
from shoal.bench.sets import traced
from shoal.cli import app
from shoal.datasets import ORDERS
from shoal.errors import InputError, PolicyError
from shoal.policy import WINDOWED

SMALL = {"ks": (3,), "waits": (40,), "seeds": range(3), "tuples": 120}


@pytest.fixture(scope="module")
def compared(data: Path) -> Comparison:
    found = subjects(["wearables", "adult-3"], data)
    return compare(Plan(subjects=found, variants=contenders(["fads", "xband:band=4", "fast:round=25%"]), **SMALL))


@pytest.mark.parametrize("text", [*WINDOWED, "fast:round=25%", "xband:reuse_age=25%"])
def test_no_algorithm_promises_a_longer_wait_and_all_use_it(text: str, data: Path) -> None:
    (subject,) = subjects(["adult"], data)
    for variant in contenders([text]):
        for wait in (40, 41, 200):
            policy = runner.fitted(subject, variant, 3, wait, "blurred")
            promised = algorithm(policy).deadline
            assert wait - 1 <= promised <= wait
            assert policy.window.length <= wait


def test_by_default_all_are_compared() -> None:
    labels = [variant.label for variant in contenders()]
    assert {label.split()[0].split(":")[0] for label in labels} >= {*WINDOWED}
    assert "fast:round=25%" in labels


def test_a_wait_that_an_algorithm_cannot_promise_is_an_obstacle(data: Path) -> None:
    (subject,) = subjects(["adult"], data)
    (variant,) = contenders(["xband:reuse_age=38"])
    with pytest.raises(PolicyError, match="can promise no wait of 40 with k 3; allow a longer wait"):
        runner.fitted(subject, variant, 3, 40, "blurred")
    plan = Plan(subjects=[subject], variants=[*contenders(["fads"]), variant], **SMALL)
    found = compare(plan)
    assert {each.algorithm for each in found.obstacles} == {variant.label}
    assert found.summary("loss")[variant.label]["mean"] is None
    assert found.summary("loss")["fads"]["mean"] is not None


def test_longest_waits_are_kept_and_every_promise_holds(compared: Comparison) -> None:
    assert len(compared.runs) == 2 * 3 * 3
    assert all(run["longest_wait"] <= run["promised_wait"] <= 40 for run in compared.runs)
    assert all(run["held"] for run in compared.runs)
    assert not compared.obstacles


def test_all_algorithms_see_the_same_rows_and_seeds_differ(data: Path) -> None:
    for name in ("wearables", "adult-3"):
        (subject,) = subjects([name], data)
        first, again, other = (subject.repetition(seed, ORDERS[0], 50) for seed in (1, 1, 2))
        assert first.equals(again) and not first.equals(other)
        assert first.num_rows == 50


def test_the_loss_is_that_of_the_run_itself(data: Path) -> None:
    (subject,) = subjects(["adult-3"], data)
    (variant,) = contenders(["fads"])
    found = compare(Plan(subjects=[subject], variants=[variant], **SMALL))
    policy = subject.policy(3, 40, "blurred", variant.algorithm)
    own, _, _ = traced(policy, subject.repetition(1, ORDERS[0], 120))
    assert found.values("fads", "loss")[1] == pytest.approx(own.loss)  # type: ignore[index]


def test_orders_of_rows_with_a_time_are_refused(data: Path) -> None:
    plan = Plan(subjects=subjects(["wearables"], data), variants=contenders(["fads"]), orders=["sorted"], **SMALL)
    with pytest.raises(InputError, match=r"^wearables: cannot be ordered as 'sorted'; possible are as it comes$"):
        compare(plan)


@pytest.mark.parametrize("order", ORDERS)
def test_data_sets_come_in_every_order(order: str, data: Path) -> None:
    (subject,) = subjects(["adult-3"], data)
    assert subject.repetition(1, order, 60).num_rows == (66 if order == "a tenth twice" else 60)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 9, 30, 101])
def test_quantiles_are_those_of_student(freedom: int) -> None:
    assert quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-6)


def test_intervals_are_those_of_student() -> None:
    values = np.random.default_rng(1).normal(size=9)
    low, high = stats.t.interval(0.95, 8, values.mean(), stats.sem(values))
    mean, half = mean_and_half(values.tolist())
    assert half is not None
    assert (mean - half, mean + half) == pytest.approx((low, high))


@pytest.mark.parametrize("pairs", [5, 40])
def test_the_paired_test_is_a_permutation_test(pairs: int) -> None:
    values = np.random.default_rng(2).normal(0.4, 1, pairs)
    theirs = stats.permutation_test(
        (values,),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(3),
    )
    assert paired(values.tolist()) == pytest.approx(theirs.pvalue, abs=1e-12 if pairs < 14 else 0.02)


def test_corrected_values_rise_with_their_order() -> None:
    found = holm({"a": 0.03, "b": 0.02, "c": 0.9})
    assert found == {"b": 0.06, "a": 0.06, "c": 0.9}
    assert all(x is not None and y is not None and x <= y for x, y in pairwise(found[name] for name in "bac"))


def test_a_model_learns_from_the_output_what_the_input_says() -> None:
    """A label that follows from one attribute is learned from both; k 1 publishes what came."""
    draw = np.random.default_rng(0)
    age = draw.integers(0, 100, 600)
    rows = pa.table({"pid": range(600), "age": age, "old": np.where(age > 50, "yes", "no")})
    document = {
        "person": "pid", "attributes": {"age": {"quasi": "numeric", "range": [0, 100]}, "old": {"sensitive": True}},
        "suppressed": "publish",
    }  # fmt: skip
    subject = runner.Subject("ages", document, None, rows, "old", {})
    found = {}
    for k in (2, 150):
        policy = subject.policy(k, 300, "blurred", {"name": "fads"})
        _, published, trace = traced(policy, rows)
        evidence = gather(policy, rows, published, trace)
        assert isinstance(evidence, Evidence)
        found[k] = accuracies(evidence, rows, "old", 0)
        assert originals(evidence).shape == (600, 1) and publications(evidence).shape == (600, 1)
    assert found[2][1] == found[150][1] > 0.95
    assert found[2][0] > 0.95  # type: ignore[operator]
    assert found[150][0] <= found[2][0]  # type: ignore[operator]


def test_every_file_says_where_its_figures_come_from(compared: Comparison, tmp_path: Path) -> None:
    files = {path.name: path for path in write_comparison(compared, tmp_path / "out")}
    told = json.loads(files["provenance.json"].read_text())
    assert told["seeds"] == [0, 1, 2]
    assert set(told["digests"]) >= {"adult.data", "education.csv"}
    for name in ("runs.csv", "summary.csv", "tables.tex", "tables.md", "comparison.html"):
        text = files[name].read_text()
        for each in (told["version"], told["commit"], told["digests"]["adult.data"]):
            assert each in text, name
    runs = list(csv.DictReader(files["runs.csv"].open()))
    assert len(runs) == len(compared.runs) and {run["seed"] for run in runs} == {"0", "1", "2"}
    assert set(MEASURES) <= set(runs[0])
    header = files["runs.csv"].read_text().split("\n", 1)[0].split(",")
    assert len(set(header)) == len(header)
    assert {float(run["wait"]) for run in runs} == {40}  # the setting, not the mean that was measured
    summary = list(csv.DictReader(files["summary.csv"].open()))
    loss = next(row for row in summary if (row["measure"], row["algorithm"], row["data"]) == ("loss", "fads", "adult-3"))
    own = [float(run["loss"]) for run in runs if (run["algorithm"], run["data"]) == ("fads", "adult-3")]
    assert float(loss["mean"]) == pytest.approx(np.mean(own))
    assert files["measures.png"].read_bytes().startswith(b"\x89PNG")
    page = files["comparison.html"].read_text()
    assert '<svg role="img" aria-label="measures, as in the tables below"' in page
    assert page.count("<div class=scroll tabindex=0 role=region aria-label=") == page.count("<table>") and "<main>" in page


def test_tables_have_a_column_per_algorithm(compared: Comparison, tmp_path: Path) -> None:
    write_comparison(compared, tmp_path)
    text = (tmp_path / "tables.md").read_text()
    assert "| setting | fads | xband:band=4 | fast:round=25% |" in text
    tex = (tmp_path / "tables.tex").read_text()
    assert r"setting & fads & xband:band=4 & fast:round=25\% \\" in tex
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") == text.count("|---|")


def test_without_scikit_learn_accuracy_is_left_out_and_it_says_so(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "has", lambda package: False)
    found = compare(Plan(subjects=subjects(["adult"], data), variants=contenders(["fads"]), **{**SMALL, "seeds": [0]}))
    assert found.runs[0]["accuracy"] is None
    write_comparison(found, tmp_path)
    assert "Accuracy was not measured: pip install 'shoal-stream[sklearn]'." in (tmp_path / "tables.md").read_text()
    assert not (tmp_path / "measures.png").exists()


def command(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["compare", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_a_policy_and_a_file_with_windows_of_seconds(tmp_path: Path) -> None:
    from shoal.demo import prepare

    demo = prepare(tmp_path / "demo", 3000)
    options = ("--policy", str(demo.policy), "--input", str(demo.source), "--seeds", "2", "--tuples", "1500", "--k", "5")
    status, told, said = command(
        *options, "--algorithms", "fads,xband:reuse_age=1,fast", "--wait", "4s", "--out", str(tmp_path / "out")
    )
    assert status == 0, said
    assert "Against fads" in told
    runs = list(csv.DictReader((tmp_path / "out" / "runs.csv").open()))
    assert {run["algorithm"] for run in runs} == {"fads", "xband:reuse_age=1"}
    assert all(float(run["longest_wait"]) <= float(run["promised_wait"]) <= 4 for run in runs)
    assert "fast was not run (fast promises no longest wait under this window)" in (tmp_path / "out" / "tables.md").read_text()
    assert of_policy(str(demo.policy), str(demo.source)).label == "illness"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("moon",), "data 'moon' is none; known are wearables, adult, informs, beijing, chengdu, guangzhou, shanghai, "
         "shenyang, conditions, nafld, star, each but wearables also with a number of values that are taken away at most, such "
         "as adult-3; for your own name a policy and a file\n"),
        (("--algorithms", "fads", "--against", "tide"), "against 'tide': is not compared; possible are fads\n"),
        (("--k", "1"), "--k: is not a whole number of at least 2; write it like 10, or 10,50\n"),
        (("--wait", "5"), "wait 5 is below k 10: no group could ever fill; use at least 10\n"),
        (("--tuples", "49"), "tuples 49 are fewer than k 50: no group could ever fill; use at least 50\n"),
        (("--policy", "policy.yaml"), "--policy and --input belong together; give both, or none\n"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    assert command(*arguments, "--out", str(tmp_path / "out")) == (2, "", said)


def test_a_reading_of_nulls_that_is_none_is_refused(data: Path) -> None:
    plan = Plan(subjects=subjects(["adult"], data), variants=contenders(["fads"]), nulls=["never"], **SMALL)
    with pytest.raises(InputError, match=r"^nothing could be compared: fads: privacy\.nulls_match"):
        compare(plan)


def test_one_repetition_has_no_interval(compared: Comparison) -> None:
    alone = replace(compared, runs=[run for run in compared.runs if run["seed"] == 0])
    assert alone.summary("loss")["fads"] == {"mean": alone.values("fads", "loss")[0], "half": None, "p": None}  # type: ignore[index]


def test_rows_are_added_to_a_leaderboard(compared: Comparison, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n<!-- rows -->\n<!-- end of rows -->\n\nText.\n")
    first = replace(compared, labels=["fads"])
    add_rows(page, first)
    add_rows(page, replace(compared, labels=["xband:band=4", "fast:round=25%"]))
    text = page.read_text()
    assert text.startswith(
        "# Title\n\n<!-- rows -->\nSettings: wearables, k 3, wait 40, blurred; adult-3, k 3, wait 40, blurred. 120 "
    )
    assert text.endswith("\n<!-- end of rows -->\n\nText.\n")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    assert {row[0] for row in rows} == {"| fads", "| xband:band=4", "| fast:round=25%"}
    losses = [float(row[1].split()[0]) for row in rows]
    assert losses == sorted(losses)
    add_rows(page, first)
    assert page.read_text() == text


def test_rows_with_other_settings_are_not_mixed(compared: Comparison, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- rows --><!-- end of rows -->")
    add_rows(page, compared)
    other = replace(compared, runs=[run for run in compared.runs if run["data"] == "wearables"])
    with pytest.raises(InputError, match=r"page\.md: its rows have other settings; use those that the page names"):
        add_rows(page, other)
    page.write_text("no place")
    with pytest.raises(InputError, match=r"is no page with <!-- rows --> and <!-- end of rows -->"):
        add_rows(page, compared)
