"""The figures of a stream: what they say, what they never say, and what they cost in memory."""

from __future__ import annotations

import json
from itertools import pairwise
from random import Random
from threading import Thread

import numpy as np
import pyarrow as pa
import pytest
from prometheus_client import generate_latest

from shoal import Anonymizer, Policy
from shoal.model import Publication, grid
from shoal.telemetry import HISTORY, Telemetry
from shoal.telemetry.sample import EPOCH, PublishedSample
from shoal.web.page import registry
from tests.web.base import FILTER, Clock, K, people, policy, telling


def test_totals_are_those_of_the_anonymizer() -> None:
    anonymizer, telemetry = Anonymizer(policy()), Telemetry(policy())
    for seed in range(3):
        telemetry.after(anonymizer, anonymizer.push_batch(people(400, seed, age=[250, *range(100)] * 3 + [1] * 97)))
    telemetry.after(anonymizer, anonymizer.flush())
    told, stats = telemetry.snapshot(), anonymizer.stats
    assert stats.rejected == 9
    names = ("received", "rejected", "released", "groups", "clustered", "reused", "suppressed")
    assert {name: told["totals"][name] for name in names} == {name: getattr(stats, name) for name in names}
    assert told["totals"]["lost"] == pytest.approx(stats.loss * stats.released)
    assert (told["smallest_group"], told["longest_wait"]) == (stats.smallest_group, stats.longest_wait)
    assert told["reasons"] == dict(stats.reasons) and list(told["reasons"].values()) == [9]
    assert told["sizes"] == anonymizer.sizes
    assert (told["sizes"]["held"], told["sizes"]["persons"], told["sizes"]["partitions"]) == (0, 0, 0)


def test_what_is_held() -> None:
    anonymizer = Anonymizer(policy())
    batch = people(150, pid=[n % 40 for n in range(150)])
    anonymizer.push_batch(batch)
    patterns = 1 + (batch.column("weight").null_count > 0)
    assert anonymizer.sizes == {"held": 150, "persons": 40, "partitions": patterns, "reusable": 0}


def test_rates_are_a_second_s() -> None:
    clock = Clock()
    anonymizer, telemetry = Anonymizer(policy()), telling(clock, policy())
    for second in range(6):
        for part in range(4):
            telemetry.after(anonymizer, anonymizer.push_batch(people(25, 10 * second + part)))
            clock.now += 0.25
    told = telemetry.snapshot()
    assert told["rates"]["in"] == 100
    rows = np.array(told["history"]["rows"], float)
    assert told["history"]["first"] == 0 and rows.shape == (6, len(HISTORY))
    assert rows[:, HISTORY.index("in")].tolist() == [100] * 6
    assert rows[:, HISTORY.index("out")].sum() == anonymizer.stats.released
    assert telemetry.snapshot(since=4)["history"]["rows"] == told["history"]["rows"][4:]
    clock.now += 10
    assert telemetry.snapshot()["rates"]["in"] == 0


def test_a_pipeline_that_goes_on_does_not_count_what_came_before() -> None:
    clock = Clock()
    anonymizer = Anonymizer(policy())
    anonymizer.push_batch(people(500))
    telemetry = telling(clock, policy())
    telemetry.started(anonymizer.stats)
    telemetry.after(anonymizer, anonymizer.push_batch(people(30, 1)))
    clock.now += 1
    told = telemetry.snapshot()
    assert (told["history"]["rows"][0][0], told["totals"]["received"]) == (30, 530)


def test_waits_and_sizes_are_those_of_the_trace() -> None:
    anonymizer, telemetry = Anonymizer(policy()), Telemetry(policy())
    waits, sizes = [], []
    for seed in range(5):
        telemetry.after(anonymizer, anonymizer.push_batch(people(300, seed)))
        trace = anonymizer.trace.to_pandas()
        waits += (trace["released"] - trace["arrived"]).tolist()
        sizes += trace[trace["how"] == "cluster"].groupby("cluster").size().tolist()
    told = telemetry.snapshot()
    assert told["policy"]["deadline"] == told["waits"]["edges"][-1] == 200
    edges = [-1, *told["waits"]["edges"], np.inf]
    assert told["waits"]["total"] == [sum(low < wait <= high for wait in waits) for low, high in pairwise(edges)]
    assert told["waits"]["total"][-1] == 0 and told["waits"]["total"][-2] > 0
    assert told["waits"]["sum"] == sum(waits)
    assert (sum(told["groups"]["total"]), told["groups"]["sum"]) == (len(sizes), sum(sizes))
    assert told["groups"]["edges"][0] == K == min(sizes)


def test_losses_are_those_of_what_is_published() -> None:
    clock = Clock()
    anonymizer, telemetry = Anonymizer(policy()), telling(clock, policy())
    published = anonymizer.push_batch(people(900))
    telemetry.after(anonymizer, published)
    clock.now += 1
    records = anonymizer.to_records(published)
    leaves = {"World": 1.0, "France": 1 / 3, "Norway": 1 / 3}
    width = {
        "age": lambda value: (value[1] - value[0]) / 100,
        "weight": lambda value: (value[1] - value[0]) / 200,
        "city": lambda value: leaves.get(value, 0.0),
    }
    for told in telemetry.snapshot()["attributes"]:
        known = [record[told["name"]] for record in records if record[told["name"]] is not None]
        assert told["shown"] == pytest.approx(len(known) / len(records), abs=1e-3)
        assert told["loss"] == pytest.approx(np.mean([width[told["name"]](value) for value in known]))


PLANTED = ["PLANTED-PERSON", "PLANTED-DISEASE", "PLANTED-NOTE", "PLANTED-CITY", "PLANTED-FIELD", "91.2718281", "PLANTED-AGE"]


def test_no_raw_value_is_told() -> None:
    clock = Clock()
    anonymizer, telemetry = Anonymizer(policy()), telling(clock, policy())
    told = ""
    for seed in range(40):
        fine = people(60, seed, disease=["PLANTED-DISEASE"] * 60, note=["PLANTED-NOTE"] * 60, weight=[91.2718281] * 60)
        bad = people(3, seed, age=["PLANTED-AGE"] * 3, pid=["PLANTED-PERSON"] * 3, city=["PLANTED-CITY"] * 3)
        bad = bad.append_column("PLANTED-FIELD", pa.array(["PLANTED-FIELD"] * 3))
        for batch in (fine, people(3, seed, pid=[f"PLANTED-PERSON{n}" for n in range(3)], city=["PLANTED-CITY"] * 3), bad):
            telemetry.after(anonymizer, anonymizer.push_batch(batch))
        clock.now += 1
        told += json.dumps(telemetry.snapshot(), ensure_ascii=False) + generate_latest(registry(telemetry)).decode()
    assert anonymizer.stats.rejected == 240 and anonymizer.stats.drift.new == 1
    assert "88 – 92" in told  # what is published of it, rounded outward
    assert [planted for planted in PLANTED if planted in told] == []


def test_no_raw_value_of_an_observation_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET", "sixteen bytes or more")
    clock = Clock()
    filtered = Policy.parse(FILTER)
    anonymizer, telemetry = Anonymizer(filtered), telling(clock, filtered)
    told, pseudonyms = "", set()
    for second in range(30):
        users = [f"PLANTED-PERSON{n}" for n in range(20)]
        site = ["common"] * 19 + [f"PLANTED-FIELD{second}"]
        batch = pa.record_batch({"t": [12345678.5 + second] * 20, "user": users, "site": site, "note": ["PLANTED-NOTE"] * 20})
        published = anonymizer.push_batch(batch)
        pseudonyms |= set(published.column("user").to_pylist())
        telemetry.after(anonymizer, published)
        clock.now += 1
        told += json.dumps(telemetry.snapshot(), ensure_ascii=False) + generate_latest(registry(telemetry)).decode()
    assert "common" in told and pseudonyms
    assert [planted for planted in [*PLANTED, *pseudonyms, "12345678", "12345690"] if planted in told] == []


def test_the_sample_is_late_and_shuffled() -> None:
    sample = PublishedSample(policy(), Random(1))
    ages = [5 * n for n in range(20)]
    left = [{"age": {"lo": age, "hi": age}, "weight": None, "city": "Paris"} for age in ages]
    sample.advance(0)
    sample.add(pa.RecordBatch.from_pylist(left[:12]))
    sample.add(pa.RecordBatch.from_pylist(left[12:]))
    for moment in np.arange(0, 2 * EPOCH, 0.25):
        sample.advance(moment)
        assert sample.since(0) == (0, [])
    shown = []
    for moment in np.arange(2 * EPOCH, 3 * EPOCH, 0.25):
        sample.advance(moment)
        shown += [int(row[0]) for row in sample.since(len(shown))[1]]
    assert sorted(shown) == ages
    assert shown not in (ages, ages[::-1])
    steps = {later - earlier for earlier, later in pairwise(shown)}
    assert len(steps) > 8


def test_every_tuple_has_the_same_chance_to_be_shown() -> None:
    random, counts = Random(1), np.zeros(100)
    for _ in range(400):
        sample = PublishedSample(policy(), random)
        for first in range(0, 100, 10):
            rows = [{"age": None, "weight": None, "city": str(first + n)} for n in range(10)]
            sample.add(pa.RecordBatch.from_pylist(rows))
        counts[[int(row[2]) for row in sample._collecting]] += 1
    assert counts.sum() == 400 * 20
    assert counts.min() > 40 and counts.max() < 130  # 80 on average, with a deviation of 8


def test_few_tuples_wait_for_more_to_be_shuffled_with() -> None:
    clock = Clock()
    anonymizer, telemetry = Anonymizer(policy()), telling(clock, policy())
    anonymizer.push_batch(people(200))
    telemetry.after(anonymizer, anonymizer.flush().slice(0, 3))
    for _ in range(30):
        clock.now += 1
        assert telemetry.snapshot()["sample"]["rows"] == []


def test_hours_take_no_more_memory_than_minutes() -> None:
    clock = Clock()
    anonymizer, telemetry = Anonymizer(policy()), telling(clock, policy())
    sizes = []
    for minute in range(240):
        telemetry.after(anonymizer, anonymizer.push_batch(people(100, minute)))
        clock.now += 60
        if minute in (30, 239):
            told = telemetry.snapshot()
            sizes.append((len(told["history"]["rows"]), len(told["losses"]), len(told["sample"]["rows"]) <= 40))
    assert sizes == [(600, 600, True)] * 2
    clock.now += 10**7
    assert telemetry.snapshot()["history"]["first"] == int(clock.now) - 1000 - 600


def test_who_stops_says_so_and_stands_still() -> None:
    clock = Clock()
    anonymizer, telemetry = Anonymizer(policy()), telling(clock, policy())
    assert telemetry.state == "starting"
    telemetry.after(anonymizer, anonymizer.push_batch(people(10)))
    assert telemetry.state == "running"
    clock.now += 3
    telemetry.stopped("the source closed")
    clock.now += 100
    told = telemetry.snapshot()
    assert (told["state"], told["reason"], len(told["history"]["rows"])) == ("stopped", "the source closed", 3)


def test_checkpoints_and_lag() -> None:
    clock = Clock()
    telemetry = telling(clock, policy())
    assert (telemetry.snapshot()["checkpoint"], telemetry.snapshot()["lag"]) == (None, None)
    telemetry.checkpointed(0.5, 1234)
    telemetry.lag(77)
    clock.now += 4
    told = telemetry.snapshot()
    assert told["checkpoint"] == {"age": 4.0, "count": 1, "seconds": 0.5, "bytes": 1234}
    assert told["lag"] == 77


def test_users_are_counted_and_the_model_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET", "sixteen bytes or more")
    filtered = Policy.parse(FILTER)
    anonymizer, telemetry = Anonymizer(filtered), Telemetry(filtered)
    random = np.random.default_rng(0)
    t, user, site = np.sort(random.random(5000) * 9000), random.integers(300, size=5000), random.zipf(1.5, 5000) % 40
    batch = pa.record_batch({"t": t, "user": user.astype(str), "site": site.astype(str), "note": ["n"] * 5000})
    telemetry.after(anonymizer, anonymizer.push_batch(batch))
    late = t >= t[-1] - 3600
    pairs = np.unique(np.stack([user[late], site[late]]), axis=1)
    exposed = np.unique(pairs[1], return_counts=True)[1]
    counts, told = anonymizer.user_counts(), telemetry.snapshot()
    assert counts and counts.users == len(np.unique(user[late]))
    assert sorted(counts.exposed) == sorted(exposed)
    model = grid(Publication(counts.users, counts.exposed / counts.users, 3), 2, 1e-3)
    assert told["p_kanon"] == model.value and told["policy"]["k"] == 2
    assert (told["z"], told["totals"]["withheld"]) == (3, anonymizer.stats.withheld)
    assert told["totals"]["released"] + told["totals"]["withheld"] == 5000


def test_one_thread_tells_while_others_ask() -> None:
    anonymizer, telemetry = Anonymizer(policy()), Telemetry(policy())
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            before = 0
            for _ in range(150):
                told = telemetry.snapshot()
                json.dumps(told, allow_nan=False)
                received = told["totals"].get("received", 0)
                assert received >= before
                before = received
        except BaseException as error:
            failures.append(error)

    askers = [Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    for seed in range(60):
        telemetry.after(anonymizer, anonymizer.push_batch(people(50, seed)))
    for asker in askers:
        asker.join()
    assert failures == []
    assert telemetry.snapshot()["totals"]["received"] == 3000
