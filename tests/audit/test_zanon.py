"""The judge of z-anonymity: good outputs pass, and what is planted is named, nothing else with it."""

from __future__ import annotations

import json
from random import Random

import pyarrow as pa
import pyarrow.parquet
import pytest

from shoal import InputError, run
from shoal.audit import Verdict, audit
from tests.audit.stream import Case, broken, write
from tests.audit.test_html import Reader
from tests.audit.visits import SECRET, Z, case, policy, visits

ANCESTORS = {"news.bbc": ["bbc", "news", "any"], "sport.bbc": ["bbc", "news", "any"], "lemonde": ["press", "news", "any"]}
PROMISES = ["z users", "exact", "once", "in order", "true", "unaltered", "pseudonyms", "silent"]


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("SHOAL_SECRET", SECRET)


def named(sample: Case, traced: bool = True) -> list[str]:
    """Every violation with its promise."""
    report = sample.report(traced)
    assert report.held == (not broken(report))
    return [f"{finding.promise}: {each}" for finding in report.promises for each in finding.violations]


def place(sample: Case, row: int) -> str:
    return f"output row {row + 1}, input row {sample.trace[row]['row'] + 1}"


def at(sample: Case, how: str, after: int = 0) -> int:
    return next(row for row, line in enumerate(sample.trace) if row >= after and line["how"] == how)


AUTO = {"z": {"auto": {"k": 2, "probability": 0.6}, "floor": 2}}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"algorithm": {"withheld": "drop"}},
        {"algorithm": {"window": 0, "z": 2}},
        {"algorithm": {"z": 1}},
        {"algorithm": AUTO},
        {"algorithm": {**AUTO, "withheld": "drop"}},
        {"item": {"field": "site"}},
        {"item": {"fields": ["site", "note"]}, "attributes": {"lang": {"publish": "keep"}}},
    ],
    ids=str,
)
def test_a_good_output_passes(tmp_path, more, seed):
    sample = case(tmp_path, policy(**more), list(visits(seed=seed)))
    report = sample.report()
    assert {finding.promise: finding.verdict for finding in report.promises} == dict.fromkeys(PROMISES, Verdict.HELD)
    assert any(line["site"] for line in sample.output)
    assert sample.report(traced=False).held


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_every_format(tmp_path, kind):
    sample = case(tmp_path)
    target, trace = tmp_path / f"out.{kind}", tmp_path / f"trace.{kind}"
    run(sample.policy, sample.source, target, trace=trace)
    assert broken(audit(sample.policy, sample.source, target, trace)) == []


def test_users_are_counted_by_their_text(tmp_path):
    lines = [{"user": user, "t": 0.0, "site": "amazon", "note": 0} for user in ("ann", " ann ", "bob")]
    sample = case(tmp_path, policy(algorithm={"z": 2}), lines)
    assert [line["how"] for line in sample.trace] == ["withheld", "withheld", "released"]
    assert sample.report().held
    sample.output[1]["site"], sample.trace[1]["how"] = "amazon", "released"
    assert named(sample) == ["z users: output row 2, input row 2: fewer than z=2 users had exposed what is published"]


def test_a_release_with_too_few_users(tmp_path):
    sample = case(tmp_path)
    row = at(sample, "withheld", 5)
    sample.output[row]["site"] = json.loads(sample.source.read_text().splitlines()[sample.trace[row]["row"]])["site"].strip()
    sample.trace[row]["how"] = "released"
    assert named(sample) == [f"z users: {place(sample, row)}: fewer than z={Z} users had exposed what is published"]


def test_one_user_too_few_at_that_moment_though_enough_come_later(tmp_path):
    lines = [{"user": f"u{i}", "t": float(i), "site": "amazon", "note": 0} for i in range(6)]
    sample = case(tmp_path, policy(item={"field": "site"}), lines)
    assert [line["how"] for line in sample.trace] == ["withheld"] * 2 + ["released"] * 4
    sample.output[1]["site"], sample.trace[1]["how"] = "amazon", "released"
    few = "fewer than z=3 users had exposed what is published"
    assert named(sample) == [f"z users: output row 2, input row 2: {few}"]
    assert named(sample, traced=False) == [
        f"z users: output row 2: {few}",
        "exact: output row 2: is not what the input and the policy lead to",
        "exact: input row 2: should have left, but is not in the output",
    ]


def test_a_farther_ancestor_than_needed(tmp_path):
    sample = case(tmp_path)
    row = next(row for row, line in enumerate(sample.output) if line["site"] in ANCESTORS)
    sample.output[row]["site"], sample.trace[row]["how"] = ANCESTORS[sample.output[row]["site"]][0], "generalized"
    assert named(sample) == [f"exact: {place(sample, row)}: the item or a nearer ancestor had z users"]


def test_no_ancestor_at_all(tmp_path):
    sample = case(tmp_path)
    row = next(row for row, line in enumerate(sample.output) if line["site"] in ANCESTORS)
    sample.output[row]["site"] = "shops"
    assert named(sample) == [f"true: {place(sample, row)}, 'site': what is published is not the item, nor an ancestor of it"]


def test_another_way_of_leaving_than_the_trace_tells(tmp_path):
    sample = case(tmp_path)
    row = at(sample, "released")
    sample.trace[row]["how"] = "generalized"
    assert named(sample) == [f"true: {place(sample, row)}, 'site': the trace has another way of leaving than the row shows"]


def test_left_blank_without_need(tmp_path):
    sample = case(tmp_path)
    row = at(sample, "released")
    sample.output[row]["site"], sample.trace[row]["how"] = None, "withheld"
    assert named(sample) == [f"exact: {place(sample, row)}: left blank, but the item or an ancestor had z users"]


def test_a_raw_user(tmp_path):
    sample = case(tmp_path)
    source = [json.loads(line) for line in sample.source.read_text().splitlines()]
    sample.output[9]["user"] = source[sample.trace[9]["row"]]["user"]
    what = "holds a user of the input instead of a pseudonym"
    assert named(sample) == [f"silent: {place(sample, 9)}, 'user': {what}"]
    assert named(sample, traced=False) == named(sample)


def test_what_is_no_pseudonym(tmp_path):
    sample = case(tmp_path)
    sample.output[9]["user"] = "somebody"
    assert named(sample) == [f"silent: {place(sample, 9)}, 'user': is not a pseudonym of 32 hexadecimal digits"]


def users(sample: Case) -> list[tuple[str, int]]:
    """The user and the period of each row."""
    source = [json.loads(line) for line in sample.source.read_text().splitlines()]
    return [(source[line["row"]]["user"], int(source[line["row"]]["t"] // 50)) for line in sample.trace]


@pytest.mark.parametrize("odd", [False, True])
def test_a_pseudonym_that_does_not_rotate(tmp_path, odd):
    sample = case(tmp_path)
    owner = users(sample)
    first, (user, period) = next((row, each) for row, each in enumerate(owner) if each[1] % 2 == odd)
    again = [row for row, each in enumerate(owner) if each == (user, period + 1)]
    assert again
    for row in again:
        sample.output[row]["user"] = sample.output[first]["user"]
    what = "'user': has a pseudonym of another period"
    assert named(sample) == [f"pseudonyms: {place(sample, row)}, {what}" for row in again]
    assert named(sample, traced=False) == named(sample)
    sample.output[40]["t"] += 0.25
    unlinked = [each for each in named(sample, traced=False) if each.startswith("pseudonyms")]
    assert unlinked == [f"pseudonyms: output row {row + 1}, {what}" for row in again]


def test_a_pseudonym_of_two_users(tmp_path):
    sample = case(tmp_path)
    owner = users(sample)
    row = next(row for row, each in enumerate(owner) if each[1] == owner[0][1] and each[0] != owner[0][0])
    sample.output[row]["user"] = sample.output[0]["user"]
    assert named(sample) == [f"pseudonyms: {place(sample, row)}, 'user': has a pseudonym of another user"]


def test_two_pseudonyms_in_a_period(tmp_path):
    sample = case(tmp_path)
    owner = users(sample)
    row = next(row for row, each in enumerate(owner) if row and each in owner[:row])
    sample.output[row]["user"] = f"{Random(3).getrandbits(128):032x}"
    assert named(sample) == [f"pseudonyms: {place(sample, row)}, 'user': has another pseudonym than before in its period"]


def test_an_altered_time(tmp_path):
    sample = case(tmp_path)
    sample.output[40]["t"] += 0.25
    assert named(sample) == [f"unaltered: {place(sample, 40)}, 't': the value is not the one that came"]
    assert named(sample, traced=False) == ["unaltered: output row 41, 't': no observation has this time"]


def test_an_altered_kept_value(tmp_path):
    sample = case(tmp_path)
    sample.output[40]["note"] = 99
    assert named(sample) == [f"unaltered: {place(sample, 40)}, 'note': the value is not the one that came"]


def test_an_observation_twice(tmp_path):
    sample = case(tmp_path)
    sample.output.append(sample.output[40])
    sample.trace.append(sample.trace[40])
    assert named(sample) == [f"once: {place(sample, len(sample.trace) - 1)}: left before"]


def test_a_row_without_a_line_in_the_trace(tmp_path):
    sample = case(tmp_path)
    sample.output.insert(41, sample.output[40])
    assert named(sample) == ["once: output row 42: the trace has no line for it"]


def test_an_input_without_a_readable_observation(tmp_path):
    sample = case(tmp_path)
    write(sample.source, [{"user": None, "t": None, "site": None}])
    report = sample.report()
    assert broken(report) == ["once"]
    assert report["once"].broken == len(sample.trace)


def test_one_missing_in_the_output(tmp_path):
    sample = case(tmp_path)
    del sample.output[40]
    assert named(sample) == [f"once: input row {sample.trace[40]['row'] + 1}: left by the trace, but is not in the output"]


@pytest.mark.parametrize("withheld", ["blank", "drop"])
@pytest.mark.parametrize("least", [True, False])
def test_one_missing_everywhere(tmp_path, withheld, least):
    """Of the first that leaves, without a hierarchy, z users and no more had exposed the item."""
    more = {"item": {"field": "site"}} if least else {}
    sample = case(tmp_path, policy(algorithm={"withheld": withheld}, **more))
    row = at(sample, "released", 0 if least else 40)
    missing = sample.trace[row]["row"]
    del sample.output[row], sample.trace[row]
    what = {"blank": "once: {}: never left", "drop": "exact: {}: withheld, but the item or an ancestor had z users"}
    assert named(sample) == [what[withheld].format(f"input row {missing + 1}")]


def test_blank_where_it_should_be_dropped(tmp_path):
    sample = case(tmp_path)
    sample.policy = policy(algorithm={"withheld": "drop"})
    report = sample.report()
    blank = sum(line["site"] is None for line in sample.output)
    assert blank > 0
    assert (broken(report), report["true"].broken) == (["true"], blank)


def test_out_of_order(tmp_path):
    sample = case(tmp_path)
    for lines in (sample.output, sample.trace):
        lines[40], lines[41] = lines[41], lines[40]
    assert named(sample) == [f"in order: {place(sample, 41)}: left after one that came later"]


def test_an_unlisted_field(tmp_path):
    sample = case(tmp_path)
    sample.output[3]["shoe"] = 42
    assert named(sample) == ["silent: 'shoe': the policy does not list this field"]


@pytest.mark.parametrize(("field", "promise"), [("site", "true"), ("t", "unaltered"), ("user", "silent")])
def test_a_field_that_is_not_there(tmp_path, field, promise):
    sample = case(tmp_path)
    for line in sample.output:
        del line[field]
    assert named(sample) == [f"{promise}: '{field}': the output does not have this field"]


def test_one_far_behind_the_stream_needs_z_users_too(tmp_path):
    lines = [{"user": f"u{i}", "t": 10.0 * i, "site": "amazon", "note": 0} for i in range(2)]
    lines += [{"user": "u9", "t": 900.0, "site": "lemonde", "note": 0}]
    lines += [{"user": f"u{i}", "t": 20.0, "site": "amazon", "note": 0} for i in (0, 5)]
    sample = case(tmp_path, policy(item={"field": "site"}), lines)
    report = sample.report()
    assert report.held
    assert report["exact"].note == "2 observations more than a window behind the stream are not judged"
    sample.output[3]["site"], sample.trace[3]["how"] = "amazon", "released"
    few = "fewer than z=3 users had exposed what is published"
    assert named(sample) == [f"z users: output row 4, input row 4: {few}"]


def test_a_withheld_item_in_the_dictionary(tmp_path):
    sample = case(tmp_path)
    table = pa.Table.from_pylist(sample.output)
    sites = pa.array(sample.output and [line["site"] for line in sample.output]).dictionary_encode()
    sites = pa.DictionaryArray.from_arrays(sites.indices, pa.concat_arrays([sites.dictionary, pa.array(["zalando"])]))
    write(sample.trace_file, sample.trace)
    report = audit(
        sample.policy, sample.source, table.set_column(table.schema.get_field_index("site"), "site", sites), sample.trace_file
    )
    assert [str(each) for each in report["silent"].violations] == [
        "'site': the file holds values in its dictionary that no row shows"
    ]
    assert broken(report) == ["silent"]


def test_a_z_that_is_not_the_policys(tmp_path):
    sample = case(tmp_path)
    sample.trace[7]["z"] = 2
    assert named(sample) == [f"z users: {place(sample, 7)}: the trace has another z than the policy"]


def test_a_z_that_follows_the_stream_is_held_against_its_floor(tmp_path):
    sample = case(tmp_path, policy(algorithm=AUTO))
    row = at(sample, "released")
    sample.trace[row]["z"] = 1
    assert named(sample) == [f"z users: {place(sample, row)}: the z of the trace is below the floor of 2"]
    note = "z follows the stream and is not in the files: counts are compared with its floor of 2"
    assert sample.report(traced=False)["z users"].note.startswith(note)


PLAIN = {"field": "site"}
LEADS = "is not what the input and the policy lead to"
GONE = "should have left, but is not in the output"


def untraced(folder, withheld, hierarchy, lags=(0, 0, 5, 30)):
    """A good run with observations that are late, but not too late."""
    item = {} if hierarchy else {"item": PLAIN}
    return case(folder, policy(algorithm={"withheld": withheld}, **item), list(visits(lags=lags)))


@pytest.mark.parametrize("hierarchy", [True, False])
@pytest.mark.parametrize("withheld", ["drop", "blank"])
def test_every_release_is_recounted_without_a_trace(tmp_path, withheld, hierarchy):
    sample = untraced(tmp_path, withheld, hierarchy)
    report = sample.report(traced=False)
    assert {finding.promise: finding.verdict for finding in report.promises} == dict.fromkeys(PROMISES, Verdict.HELD)
    assert report["z users"].figures["smallest"] == Z
    assert report["z users"].checked == sum(line["site"] is not None for line in sample.output) > 100


def exactly(sample: Case) -> list[str]:
    return [each for each in named(sample, traced=False) if each.startswith("exact")]


@pytest.mark.parametrize("hierarchy", [True, False])
def test_too_few_users_without_a_trace(tmp_path, hierarchy):
    """A withheld observation is published: under `blank` its item is filled in, under `drop` a row is added."""
    sample = untraced(tmp_path, "blank", hierarchy)
    row = at(sample, "withheld", 5)
    source = [json.loads(line) for line in sample.source.read_text().splitlines()]
    record = sample.trace[row]["row"]
    sample.output[row]["site"] = source[record]["site"].strip()
    assert exactly(sample) == [f"exact: output row {row + 1}: {LEADS}", f"exact: input row {record + 1}: {GONE}"]
    dropped = untraced(tmp_path, "drop", hierarchy)
    row = next(row for row, line in enumerate(dropped.trace) if line["row"] > record)
    dropped.output.insert(row, {"t": source[record]["t"], "user": 32 * "a", "site": source[record]["site"].strip(), "note": 0})
    dropped.output[row]["note"] = source[record]["note"]
    assert exactly(dropped) == [f"exact: output row {row + 1}: {LEADS}"]


def test_a_farther_ancestor_without_a_trace(tmp_path):
    sample = untraced(tmp_path, "drop", hierarchy=True)
    row = next(row for row, line in enumerate(sample.output) if line["site"] in ANCESTORS)
    sample.output[row]["site"] = ANCESTORS[sample.output[row]["site"]][0]
    assert exactly(sample) == [
        f"exact: output row {row + 1}: {LEADS}",
        f"exact: input row {sample.trace[row]['row'] + 1}: {GONE}",
    ]


@pytest.mark.parametrize("hierarchy", [True, False])
@pytest.mark.parametrize("withheld", ["drop", "blank"])
def test_a_late_one_withheld_without_need_and_without_a_trace(tmp_path, withheld, hierarchy):
    sample = untraced(tmp_path, withheld, hierarchy)
    times = [json.loads(line)["t"] for line in sample.source.read_text().splitlines()]
    late = [time < max(times[: i + 1]) - 20 for i, time in enumerate(times)]
    row = next(row for row, line in enumerate(sample.trace) if line["how"] == "released" and late[line["row"]])
    record = sample.trace[row]["row"]
    expected = [f"exact: input row {record + 1}: {GONE}"]
    if withheld == "drop":
        del sample.output[row]
    else:
        sample.output[row]["site"] = None
        expected.insert(0, f"exact: output row {row + 1}: {LEADS}")
    assert exactly(sample) == expected


def test_what_is_far_behind_cannot_be_predicted(tmp_path):
    sample = untraced(tmp_path, "drop", hierarchy=True, lags=(0, 0, 5, 80))
    assert sample.report(traced=False)["exact"].verdict == Verdict.HELD
    del sample.output[40]
    found = sample.report(traced=False)["exact"]
    assert found.verdict == Verdict.NOT_CHECKABLE
    assert found.note.endswith("observations more than a window behind the stream cannot be predicted")


def test_no_value_is_told(tmp_path):
    sample = case(tmp_path)
    for row in range(40, 60):
        sample.output[row].update(site="secret-site", user="u3", note="secret-note", t=77.125)
    report = sample.report()
    assert not report.held
    for text in (report.to_json(), report.to_html()):
        assert not any(value in text for value in ("secret-", "77.125", SECRET, "news.bbc"))


def test_a_trace_of_another_kind(tmp_path):
    sample = case(tmp_path)
    sample.trace = [{"row": 0, "how": "cluster", "cluster": 0, "arrived": 0, "released": 0}]
    with pytest.raises(InputError) as caught:
        sample.report()
    assert str(caught.value) == f"{sample.trace_file}: has no field 'z'; give the trace of the run that wrote the output"


def habits(rows: int = 3000, regular: bool = True):
    """Users who come back to sites of their own, each of which a few others visit too; or to any."""
    random = Random(5)
    for row in range(rows):
        user = random.randrange(60)
        site = (user + random.choice((0, 7, 19, 31))) % 60 if regular else random.randrange(60)
        yield {"user": f"u{user}", "t": row / 4, "site": f"site{site}", "note": user if regular else row % 5}


def test_habits_link_the_pseudonyms_of_two_periods(tmp_path):
    chosen = policy(item={"field": "site"}, algorithm={"z": 2, "window": 150, "withheld": "drop"})
    found, verdicts = {}, {}
    for regular in (True, False):
        sample = case(tmp_path, chosen, list(habits(regular=regular)))
        report = sample.report()
        assert report.held
        found[regular] = {attack.name: attack for attack in report.figures.attacks}
        verdicts[regular] = report.headline
        assert sample.report().figures == report.figures
    items, session, kept = ("rotation, by items", "rotation, by sessions", "rotation, by kept values")
    assert list(found[True]) == [items, session, kept]
    assert found[True][kept].success == 1
    assert found[True][items].success > 0.9
    assert found[True][session].success > 0.2
    for attack in found[False].values():
        assert attack.success < 0.08
        assert 1 / 60 <= attack.baseline < 1 / 55
    assert (verdicts[True].colour, verdicts[False].colour) == ("amber", "green")
    assert verdicts[True].text.startswith(
        "every promise was kept; they bound the users of an item, and nothing else that is published; "
        "an outsider can do more than chance: rotation, by items 9"
    )
    assert "rotation, by kept values 100.0 % (chance 1.7 %)" in verdicts[True].text


def test_a_z_of_one_is_never_green(tmp_path):
    chosen = policy(item={"field": "site"}, algorithm={"z": 1, "window": 150, "withheld": "drop"})
    report = case(tmp_path, chosen, list(habits(rows=400, regular=False))).report()
    assert (report.held, report.headline.colour) == (True, "amber")
    assert "z = 1 withholds nothing: an item of a single user is published" in report.headline.text


def test_where_rows_cannot_be_linked_no_attack_is_run(tmp_path):
    sample = case(tmp_path)
    assert sample.report(traced=False).figures == sample.report().figures
    sample.output[40]["t"] += 0.25
    report = sample.report(traced=False)
    assert {attack.obstacle for attack in report.figures.attacks} == {
        "not checkable: without the trace it is unknown whether a guess is right"
    }
    assert report.figures.crowds == sample.report().figures.crowds


def test_the_report_in_json_and_on_a_page(tmp_path):
    report = case(tmp_path).report()
    sample = json.loads(report.to_json())
    assert list(sample) == [
        "verdict", "held", "record", "about", "in_words", "recommendations", "fields", "not_protected",
        "assessment", "policy", "rows", "promises", "figures",
    ]  # fmt: skip
    assert sample["policy"] | {"fingerprint": ""} == {
        "fingerprint": "", "item": ["site"], "z": 3, "window": 50.0, "withheld": "blank", "algorithm": "zanon",
    }  # fmt: skip
    page = report.to_html()
    found = Reader(page)
    assert {f"#{place}" for place in found.ids} >= set(found.links)
    assert "✓ Every promise was kept; they bound the users of an item, and nothing else that is published." in page
    places = ["summary", "judged", "promises", "users", "crowds", "attacks", "method", "limits", "policy", "sign"]
    for place in places:
        assert f'href="#{place}"' in page and f'<section id="{place}"' in page
    assert page.count("<section") == len(places)
    assert "iframe" in report._repr_html_()


def test_the_impact_assessment_says_that_the_output_is_personal_data(tmp_path):
    report = case(tmp_path).report()
    entries = {each.topic: each.text for part in report.assessment for each in part.entries}
    assert entries["What is done"].endswith("The output is pseudonymous, and so personal data.")
    assert "(person): under a pseudonym that changes" in entries["Fields that are published"]
    likely = entries["How likely: somebody connects the pseudonyms of one user (pseudonyms)"]
    assert "by chance in" in likely or "Not measured" in likely
    assert likely in report.to_assessment().replace("\u00a0", " ")
