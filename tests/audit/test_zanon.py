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


def named(told: Case, traced: bool = True) -> list[str]:
    """Every violation with its promise."""
    report = told.report(traced)
    assert report.held == (not broken(report))
    return [f"{finding.promise}: {each}" for finding in report.promises for each in finding.violations]


def place(told: Case, row: int) -> str:
    return f"output row {row}, input row {told.trace[row]['row']}"


def at(told: Case, how: str, after: int = 0) -> int:
    return next(row for row, line in enumerate(told.trace) if row >= after and line["how"] == how)


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
    told = case(tmp_path, policy(**more), list(visits(seed=seed)))
    report = told.report()
    assert {finding.promise: finding.verdict for finding in report.promises} == dict.fromkeys(PROMISES, Verdict.HELD)
    assert any(line["site"] for line in told.output)
    assert told.report(traced=False).held


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_every_format(tmp_path, kind):
    told = case(tmp_path)
    target, trace = tmp_path / f"out.{kind}", tmp_path / f"trace.{kind}"
    run(told.policy, told.source, target, trace=trace)
    assert broken(audit(told.policy, told.source, target, trace)) == []


def test_users_are_counted_by_their_text(tmp_path):
    lines = [{"user": user, "t": 0.0, "site": "amazon", "note": 0} for user in ("ann", " ann ", "bob")]
    told = case(tmp_path, policy(algorithm={"z": 2}), lines)
    assert [line["how"] for line in told.trace] == ["withheld", "withheld", "released"]
    assert told.report().held
    told.output[1]["site"], told.trace[1]["how"] = "amazon", "released"
    assert named(told) == ["z users: output row 1, input row 1: fewer than z=2 users had exposed what is published"]


def test_a_release_with_too_few_users(tmp_path):
    told = case(tmp_path)
    row = at(told, "withheld", 5)
    told.output[row]["site"] = json.loads(told.source.read_text().splitlines()[told.trace[row]["row"]])["site"].strip()
    told.trace[row]["how"] = "released"
    assert named(told) == [f"z users: {place(told, row)}: fewer than z={Z} users had exposed what is published"]


def test_one_user_too_few_at_that_moment_though_enough_come_later(tmp_path):
    lines = [{"user": f"u{i}", "t": float(i), "site": "amazon", "note": 0} for i in range(6)]
    told = case(tmp_path, policy(item={"field": "site"}), lines)
    assert [line["how"] for line in told.trace] == ["withheld"] * 2 + ["released"] * 4
    told.output[1]["site"], told.trace[1]["how"] = "amazon", "released"
    few = "fewer than z=3 users had exposed what is published"
    assert named(told) == [f"z users: output row 1, input row 1: {few}"]
    assert named(told, traced=False) == [
        f"z users: output row 1: {few}",
        "exact: output row 1: is not what the input and the policy lead to",
        "exact: input row 1: should have left, but is not in the output",
    ]


def test_a_farther_ancestor_than_needed(tmp_path):
    told = case(tmp_path)
    row = next(row for row, line in enumerate(told.output) if line["site"] in ANCESTORS)
    told.output[row]["site"], told.trace[row]["how"] = ANCESTORS[told.output[row]["site"]][0], "generalized"
    assert named(told) == [f"exact: {place(told, row)}: the item or a nearer ancestor had z users"]


def test_no_ancestor_at_all(tmp_path):
    told = case(tmp_path)
    row = next(row for row, line in enumerate(told.output) if line["site"] in ANCESTORS)
    told.output[row]["site"] = "shops"
    assert named(told) == [f"true: {place(told, row)}, 'site': what is published is not the item, nor an ancestor of it"]


def test_another_way_of_leaving_than_the_trace_tells(tmp_path):
    told = case(tmp_path)
    row = at(told, "released")
    told.trace[row]["how"] = "generalized"
    assert named(told) == [f"true: {place(told, row)}, 'site': the trace tells another way of leaving than the row shows"]


def test_left_blank_without_need(tmp_path):
    told = case(tmp_path)
    row = at(told, "released")
    told.output[row]["site"], told.trace[row]["how"] = None, "withheld"
    assert named(told) == [f"exact: {place(told, row)}: left blank, but the item or an ancestor had z users"]


def test_a_raw_user(tmp_path):
    told = case(tmp_path)
    source = [json.loads(line) for line in told.source.read_text().splitlines()]
    told.output[9]["user"] = source[told.trace[9]["row"]]["user"]
    what = "holds a user of the input instead of a pseudonym"
    assert named(told) == [f"silent: {place(told, 9)}, 'user': {what}"]
    assert named(told, traced=False) == named(told)


def test_what_is_no_pseudonym(tmp_path):
    told = case(tmp_path)
    told.output[9]["user"] = "somebody"
    assert named(told) == [f"silent: {place(told, 9)}, 'user': is no pseudonym of 32 hexadecimal digits"]


def users(told: Case) -> list[tuple[str, int]]:
    """The user and the period of each row."""
    source = [json.loads(line) for line in told.source.read_text().splitlines()]
    return [(source[line["row"]]["user"], int(source[line["row"]]["t"] // 50)) for line in told.trace]


@pytest.mark.parametrize("odd", [False, True])
def test_a_pseudonym_that_does_not_rotate(tmp_path, odd):
    told = case(tmp_path)
    owner = users(told)
    first, (user, period) = next((row, each) for row, each in enumerate(owner) if each[1] % 2 == odd)
    again = [row for row, each in enumerate(owner) if each == (user, period + 1)]
    assert again
    for row in again:
        told.output[row]["user"] = told.output[first]["user"]
    what = "'user': bears a pseudonym of another period"
    assert named(told) == [f"pseudonyms: {place(told, row)}, {what}" for row in again]
    assert named(told, traced=False) == named(told)
    told.output[40]["t"] += 0.25
    unlinked = [each for each in named(told, traced=False) if each.startswith("pseudonyms")]
    assert unlinked == [f"pseudonyms: output row {row}, {what}" for row in again]


def test_a_pseudonym_of_two_users(tmp_path):
    told = case(tmp_path)
    owner = users(told)
    row = next(row for row, each in enumerate(owner) if each[1] == owner[0][1] and each[0] != owner[0][0])
    told.output[row]["user"] = told.output[0]["user"]
    assert named(told) == [f"pseudonyms: {place(told, row)}, 'user': bears a pseudonym of another user"]


def test_two_pseudonyms_in_a_period(tmp_path):
    told = case(tmp_path)
    owner = users(told)
    row = next(row for row, each in enumerate(owner) if row and each in owner[:row])
    told.output[row]["user"] = f"{Random(3).getrandbits(128):032x}"
    assert named(told) == [f"pseudonyms: {place(told, row)}, 'user': bears another pseudonym than before in its period"]


def test_an_altered_time(tmp_path):
    told = case(tmp_path)
    told.output[40]["t"] += 0.25
    assert named(told) == [f"unaltered: {place(told, 40)}, 't': the value is not the one that came"]
    assert named(told, traced=False) == ["unaltered: output row 40, 't': no observation has this time"]


def test_an_altered_kept_value(tmp_path):
    told = case(tmp_path)
    told.output[40]["note"] = 99
    assert named(told) == [f"unaltered: {place(told, 40)}, 'note': the value is not the one that came"]


def test_an_observation_twice(tmp_path):
    told = case(tmp_path)
    told.output.append(told.output[40])
    told.trace.append(told.trace[40])
    assert named(told) == [f"once: {place(told, len(told.trace) - 1)}: left before"]


def test_a_row_that_the_trace_does_not_tell_of(tmp_path):
    told = case(tmp_path)
    told.output.insert(41, told.output[40])
    assert named(told) == ["once: output row 41: the trace does not tell of it"]


def test_one_missing_in_the_output(tmp_path):
    told = case(tmp_path)
    del told.output[40]
    assert named(told) == [f"once: input row {told.trace[40]['row']}: left by the trace, but is not in the output"]


@pytest.mark.parametrize("withheld", ["blank", "drop"])
@pytest.mark.parametrize("least", [True, False])
def test_one_missing_everywhere(tmp_path, withheld, least):
    """Of the first that leaves, without a hierarchy, z users and no more had exposed the item."""
    more = {"item": {"field": "site"}} if least else {}
    told = case(tmp_path, policy(algorithm={"withheld": withheld}, **more))
    row = at(told, "released", 0 if least else 40)
    missing = told.trace[row]["row"]
    del told.output[row], told.trace[row]
    what = {"blank": "once: {}: never left", "drop": "exact: {}: withheld, but the item or an ancestor had z users"}
    assert named(told) == [what[withheld].format(f"input row {missing}")]


def test_blank_where_it_should_be_dropped(tmp_path):
    told = case(tmp_path)
    told.policy = policy(algorithm={"withheld": "drop"})
    report = told.report()
    blank = sum(line["site"] is None for line in told.output)
    assert blank > 0
    assert (broken(report), report["true"].broken) == (["true"], blank)


def test_out_of_order(tmp_path):
    told = case(tmp_path)
    for lines in (told.output, told.trace):
        lines[40], lines[41] = lines[41], lines[40]
    assert named(told) == [f"in order: {place(told, 41)}: left after one that came later"]


def test_an_unlisted_field(tmp_path):
    told = case(tmp_path)
    told.output[3]["shoe"] = 42
    assert named(told) == ["silent: 'shoe': the policy does not list this field"]


@pytest.mark.parametrize(("field", "promise"), [("site", "true"), ("t", "unaltered"), ("user", "silent")])
def test_a_field_that_is_not_there(tmp_path, field, promise):
    told = case(tmp_path)
    for line in told.output:
        del line[field]
    assert named(told) == [f"{promise}: '{field}': the output does not have this field"]


def test_one_far_behind_the_stream_needs_z_users_too(tmp_path):
    lines = [{"user": f"u{i}", "t": 10.0 * i, "site": "amazon", "note": 0} for i in range(2)]
    lines += [{"user": "u9", "t": 900.0, "site": "lemonde", "note": 0}]
    lines += [{"user": f"u{i}", "t": 20.0, "site": "amazon", "note": 0} for i in (0, 5)]
    told = case(tmp_path, policy(item={"field": "site"}), lines)
    report = told.report()
    assert report.held
    assert report["exact"].note == "2 observations more than a window behind the stream are not judged"
    told.output[3]["site"], told.trace[3]["how"] = "amazon", "released"
    few = "fewer than z=3 users had exposed what is published"
    assert named(told) == [f"z users: output row 3, input row 3: {few}"]


def test_a_withheld_item_in_the_dictionary(tmp_path):
    told = case(tmp_path)
    table = pa.Table.from_pylist(told.output)
    sites = pa.array(told.output and [line["site"] for line in told.output]).dictionary_encode()
    sites = pa.DictionaryArray.from_arrays(sites.indices, pa.concat_arrays([sites.dictionary, pa.array(["zalando"])]))
    write(told.told, told.trace)
    report = audit(told.policy, told.source, table.set_column(table.schema.get_field_index("site"), "site", sites), told.told)
    assert [str(each) for each in report["silent"].violations] == [
        "'site': the file holds values in its dictionary that no row shows"
    ]
    assert broken(report) == ["silent"]


def test_a_z_that_is_not_the_policys(tmp_path):
    told = case(tmp_path)
    told.trace[7]["z"] = 2
    assert named(told) == [f"z users: {place(told, 7)}: the trace tells another z than the policy"]


def test_a_z_that_follows_the_stream_is_held_against_its_floor(tmp_path):
    told = case(tmp_path, policy(algorithm=AUTO))
    row = at(told, "released")
    told.trace[row]["z"] = 1
    assert named(told) == [f"z users: {place(told, row)}: the z of the trace is below the floor of 2"]
    note = "z follows the stream and stands in no file: counts are held against its floor of 2"
    assert told.report(traced=False)["z users"].note.startswith(note)


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
    told = untraced(tmp_path, withheld, hierarchy)
    report = told.report(traced=False)
    assert {finding.promise: finding.verdict for finding in report.promises} == dict.fromkeys(PROMISES, Verdict.HELD)
    assert report["z users"].figures["smallest"] == Z
    assert report["z users"].checked == sum(line["site"] is not None for line in told.output) > 100


def exactly(told: Case) -> list[str]:
    return [each for each in named(told, traced=False) if each.startswith("exact")]


@pytest.mark.parametrize("hierarchy", [True, False])
def test_too_few_users_without_a_trace(tmp_path, hierarchy):
    """A withheld observation is published: under `blank` its item is filled in, under `drop` a row is added."""
    told = untraced(tmp_path, "blank", hierarchy)
    row = at(told, "withheld", 5)
    source = [json.loads(line) for line in told.source.read_text().splitlines()]
    record = told.trace[row]["row"]
    told.output[row]["site"] = source[record]["site"].strip()
    assert exactly(told) == [f"exact: output row {row}: {LEADS}", f"exact: input row {record}: {GONE}"]
    dropped = untraced(tmp_path, "drop", hierarchy)
    row = next(row for row, line in enumerate(dropped.trace) if line["row"] > record)
    dropped.output.insert(row, {"t": source[record]["t"], "user": 32 * "a", "site": source[record]["site"].strip(), "note": 0})
    dropped.output[row]["note"] = source[record]["note"]
    assert exactly(dropped) == [f"exact: output row {row}: {LEADS}"]


def test_a_farther_ancestor_without_a_trace(tmp_path):
    told = untraced(tmp_path, "drop", hierarchy=True)
    row = next(row for row, line in enumerate(told.output) if line["site"] in ANCESTORS)
    told.output[row]["site"] = ANCESTORS[told.output[row]["site"]][0]
    assert exactly(told) == [f"exact: output row {row}: {LEADS}", f"exact: input row {told.trace[row]['row']}: {GONE}"]


@pytest.mark.parametrize("hierarchy", [True, False])
@pytest.mark.parametrize("withheld", ["drop", "blank"])
def test_a_late_one_withheld_without_need_and_without_a_trace(tmp_path, withheld, hierarchy):
    told = untraced(tmp_path, withheld, hierarchy)
    times = [json.loads(line)["t"] for line in told.source.read_text().splitlines()]
    late = [time < max(times[: i + 1]) - 20 for i, time in enumerate(times)]
    row = next(row for row, line in enumerate(told.trace) if line["how"] == "released" and late[line["row"]])
    record = told.trace[row]["row"]
    expected = [f"exact: input row {record}: {GONE}"]
    if withheld == "drop":
        del told.output[row]
    else:
        told.output[row]["site"] = None
        expected.insert(0, f"exact: output row {row}: {LEADS}")
    assert exactly(told) == expected


def test_what_is_far_behind_cannot_be_foretold(tmp_path):
    told = untraced(tmp_path, "drop", hierarchy=True, lags=(0, 0, 5, 80))
    assert told.report(traced=False)["exact"].verdict == Verdict.HELD
    del told.output[40]
    found = told.report(traced=False)["exact"]
    assert found.verdict == Verdict.NOT_CHECKABLE
    assert found.note.endswith("observations more than a window behind the stream it cannot be foretold what left")


def test_no_value_is_told(tmp_path):
    told = case(tmp_path)
    for row in range(40, 60):
        told.output[row].update(site="secret-site", user="u3", note="secret-note", t=77.125)
    report = told.report()
    assert not report.held
    for text in (report.to_json(), report.to_html()):
        assert not any(value in text for value in ("secret-", "77.125", SECRET, "news.bbc"))


def test_a_trace_of_another_kind(tmp_path):
    told = case(tmp_path)
    told.trace = [{"row": 0, "how": "cluster", "cluster": 0, "arrived": 0, "released": 0}]
    with pytest.raises(InputError) as caught:
        told.report()
    assert str(caught.value) == f"{told.told}: has no field 'z'; give the trace of the run that wrote the output"


def habits(rows: int = 3000, regular: bool = True):
    """Users who come back to sites of their own, each of which a few others visit too; or to any."""
    random = Random(5)
    for row in range(rows):
        user = random.randrange(60)
        site = (user + random.choice((0, 7, 19, 31))) % 60 if regular else random.randrange(60)
        yield {"user": f"u{user}", "t": row / 4, "site": f"site{site}", "note": user if regular else row % 5}


def test_habits_link_the_pseudonyms_of_two_periods(tmp_path):
    chosen = policy(item={"field": "site"}, algorithm={"z": 2, "window": 150, "withheld": "drop"})
    found = {}
    for regular in (True, False):
        told = case(tmp_path, chosen, list(habits(regular=regular)))
        report = told.report()
        assert report.held
        found[regular] = {attack.name: attack for attack in report.figures.attacks}
        assert told.report().figures == report.figures
    items, session, kept = ("rotation, by items", "rotation, by sessions", "rotation, by kept values")
    assert list(found[True]) == [items, session, kept]
    assert found[True][kept].success == 1
    assert found[True][items].success > 0.9
    assert found[True][session].success > 0.2
    for attack in found[False].values():
        assert attack.success < 0.08
        assert 1 / 60 <= attack.baseline < 1 / 55


def test_where_rows_cannot_be_linked_no_attack_is_run(tmp_path):
    told = case(tmp_path)
    assert told.report(traced=False).figures == told.report().figures
    told.output[40]["t"] += 0.25
    report = told.report(traced=False)
    assert {attack.obstacle for attack in report.figures.attacks} == {
        "not checkable: without the trace nobody can tell whether a guess is right"
    }
    assert report.figures.crowds == told.report().figures.crowds


def test_the_report_in_json_and_on_a_page(tmp_path):
    report = case(tmp_path).report()
    told = json.loads(report.to_json())
    assert list(told) == ["held", "policy", "rows", "promises", "figures"]
    assert told["policy"] | {"fingerprint": ""} == {
        "fingerprint": "", "item": ["site"], "z": 3, "window": 50.0, "withheld": "blank", "algorithm": "zanon",
    }  # fmt: skip
    page = report.to_html()
    found = Reader(page)
    assert {f"#{place}" for place in found.ids} >= set(found.links)
    assert "✓ Every promise held" in page
    places = ["promises", "users", "crowds", "attacks", "method", "limits", "policy"]
    for place in places:
        assert f'href="#{place}"' in page and f'<section id="{place}"' in page
    assert page.count("<section") == len(places)
    assert "iframe" in report._repr_html_()
