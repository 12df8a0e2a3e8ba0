"""`shoal audit` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.base import Shoal

pytestmark = pytest.mark.slow

FILES = ("policy.yaml", "people.jsonl", "out.jsonl")


@pytest.fixture(autouse=True)
def output(shoal: Shoal, folder: Path) -> None:
    policy = folder / "policy.yaml"
    policy.write_text(policy.read_text().replace("privacy: {k: 3}", "privacy: {k: 3, nulls_match: maybe}"))
    assert shoal("run", *FILES, "--trace", "trace.jsonl").returncode == 0


def test_every_promise_held(shoal: Shoal) -> None:
    done = shoal("audit", *FILES, "--trace", "trace.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()
    assert told[0].startswith("amber: out.jsonl: k = 3 holds")
    assert told[1].endswith("of 100 rows are outside k.") or " of 100 rows (" in told[1]
    assert told[2] == "1. Were the promises of the policy kept? Yes: 8 held"
    assert told[3:11] == [
        "held: k persons: smallest group of 3 persons, k = 3",
        "held: one in k",
        "held: once: 100 accepted, 100 released",
        "held: in time: longest wait 20 arrivals, deadline 20 arrivals",
        "held: true: 100 rows checked",
        "held: alike: 100 rows checked",
        "held: unaltered: 100 values checked",
        "held: silent: 200 values checked",
    ]
    assert told[11].startswith("2. What can an outsider still do? ")
    kinds = {line.split(":")[0] for line in told[12:]}
    assert {"singling out", "linking", "inferring"} <= kinds
    assert [line.split(":")[1] for line in done.stdout.splitlines() if line.startswith("nulls: ")] == [
        " basic match", " extended match", " maybe match, as promised",
    ]  # fmt: skip
    assert [line for line in told if not line.startswith("recommended: ")][-1].startswith(
        "3. What is left of the data? mean loss "
    )


def test_what_is_worse_than_accepted_ends_with_status_1(shoal: Shoal, folder: Path) -> None:
    policy = folder / "policy.yaml"
    policy.write_text(policy.read_text().replace("nulls_match: maybe", "nulls_match: maybe, accept: {linkage: 0%}"))
    done = shoal("audit", *FILES, "--trace", "trace.jsonl")
    assert done.returncode == 1
    assert "an outsider can do more than accepted: linkage " in done.stdout.splitlines()[0]


@pytest.mark.parametrize("option", ["--since", "--until"])
def test_a_span_needs_a_manifest(shoal: Shoal, option: str) -> None:
    """It is not passed over: the whole stream would be judged instead."""
    done = shoal("audit", *FILES, "--trace", "trace.jsonl", option, "now")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{option}: needs the pipeline's manifest; add --manifest FILE\n"


def test_without_a_trace_it_says_what_it_cannot_check(shoal: Shoal) -> None:
    done = shoal("audit", *FILES)
    assert done.returncode == 0
    once = "not checkable: once: 100 accepted, 100 released; needs a trace; without one only the numbers of records"
    assert f"{once} can be compared" in done.stdout.splitlines()
    first = done.stdout.splitlines()[0]
    assert first.startswith("amber: out.jsonl: ")
    assert "not checkable: one in k, once, in time, true, alike, unaltered" in first
    assert "attacks could not be tried" in first


def test_a_broken_promise(shoal: Shoal, folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    for line in lines:
        line["shoe"] = 7731
    lines[4]["disease"] = "zq7731"
    (folder / "out.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    row = json.loads((folder / "trace.jsonl").read_text().splitlines()[4])["row"]
    done = shoal("audit", *FILES, "--trace", "trace.jsonl", "--json", "report.json")
    assert (done.returncode, done.stderr) == (1, "")
    told = done.stdout.splitlines()
    assert "broken: unaltered: 1 violation, 100 values checked" in told
    assert f"unaltered: output row 5, input row {row + 1}, 'disease': the value is not the one that came" in told
    assert "broken: silent: 1 violation, 200 values checked" in told
    assert "silent: 'shoe': the policy does not list this field" in told
    assert told[0].startswith("red: out.jsonl: 2 promises broken: unaltered, silent")
    report = (folder / "report.json").read_text()
    assert "7731" not in done.stdout + report
    found = json.loads(report)
    assert found["held"] is False
    assert {each["promise"]: each["verdict"] for each in found["promises"]}["silent"] == "broken"


def test_json_on_standard_output_is_alone_there(shoal: Shoal) -> None:
    done = shoal("audit", *FILES, "--json", "-")
    assert json.loads(done.stdout)["held"] is True
    assert done.stderr.startswith("amber: out.jsonl: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("absent.yaml", *FILES[1:]), "absent.yaml: does not exist; correct the path"),
        (("policy.yaml", "absent.csv", "out.jsonl"), "absent.csv: does not exist; correct the path"),
        (
            ("policy.yaml", "people.jsonl", "out.txt"),
            "out.txt: the kind of file is not known; use one of .jsonl, .ndjson, .json, .csv, .tsv (each also .gz, .zst, "
            ".bz2, .xz), .parquet, .arrow, .feather, .orc, .avro, .xlsx, .xls, .xlsb, .ods",
        ),
        (
            ("policy.yaml", "people.jsonl", "broken.parquet"),
            "broken.parquet: cannot be read; check that it is complete and of the kind that its suffix says",
        ),
        (
            (*FILES, "--trace", "people.jsonl"),
            "people.jsonl: has no field 'row'; give the trace of the run that wrote the output",
        ),
        (
            (*FILES, "--json", "no/where.json"),
            "no/where.json: cannot be written (no such file or directory); name another place",
        ),
    ],
)
def test_bad_input(arguments: tuple[str, ...], said: str, shoal: Shoal, folder: Path) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 not really")
    done = shoal("audit", *arguments)
    assert done.returncode == 2
    assert done.stderr == f"{said}\n"


Z_POLICY = """
person: pid
time: {field: t}
item: {field: city}
algorithm: {name: zanon, z: 3, window: 60, secret_file: secret.txt}
"""


def test_z_anonymity(shoal: Shoal, folder: Path) -> None:
    (folder / "z.yaml").write_text(Z_POLICY)
    (folder / "secret.txt").write_text("sixteen bytes or more")
    visits = [{"pid": f"p{i % 17}", "t": i, "city": ("Paris", "Lyon", "Oslo")[i % 3]} for i in range(100)]
    (folder / "visits.jsonl").write_text("".join(json.dumps(visit) + "\n" for visit in visits))
    files = ("z.yaml", "visits.jsonl", "z.jsonl")
    assert shoal("run", *files, "--trace", "z-trace.jsonl").returncode == 0
    done = shoal("audit", *files, "--trace", "z-trace.jsonl", "--json", "z.json", "--html", "z.html")
    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()
    assert told[0].startswith("green: z.jsonl: every promise was kept; ")
    assert told[2:10] == [
        "held: z users: at least 3 users at a release, z = 3",
        "held: exact: 100 observations checked",
        "held: once: 100 accepted, 94 released",
        "held: in order: 94 rows checked",
        "held: true: 94 rows checked",
        "held: unaltered: 94 values checked",
        "held: pseudonyms: 94 rows checked; whether they are made with the secret is not judged",
        "held: silent: 94 values checked",
    ]
    attacks = [line.split(": right in")[0] for line in told[11:]]
    assert attacks == ["attack: rotation, by items", "attack: rotation, by sessions"]
    assert "withheld" in json.loads((folder / "z.json").read_text())["rows"]
    lines = (folder / "z.jsonl").read_text().splitlines(keepends=True)
    (folder / "z.jsonl").write_text("".join(lines[:50] + lines[51:]))
    done = shoal("audit", *files, "--trace", "z-trace.jsonl")
    assert done.returncode == 1
    assert "once: input row 57: left by the trace, but is not in the output" in done.stdout.splitlines()
    assert done.stdout.splitlines()[0] == "red: z.jsonl: 1 promise broken: once"
