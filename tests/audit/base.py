"""Streams that are anonymized, and the evidence of it."""

import json

import numpy as np

import shoal
from shoal.audit import audit
from shoal.audit.classes import classes
from shoal.audit.evidence import gather

FIELDS = """
person: pid
attributes:
  age: {quasi: numeric, range: [0, 100]}
  size: {quasi: numeric, range: [0, 2]}
  city: {quasi: categorical, hierarchy: {Europe: {France: [Paris, Lyon, Nice], Norway: [Oslo, Bergen], Malta: [Valletta]}}}
  illness: {sensitive: true}
  cost: {sensitive: true}
"""
POLICY = FIELDS + "privacy: {k: 5, nulls_match: maybe}\nwindow: {count: 40}\nalgorithm: {name: fads}\n"
CITIES = ("Paris", "Lyon", "Nice", "Oslo", "Bergen", "Valletta")


def judged_from_files(policy, records, folder):
    """A run from file to file, and the judge's report on it; the door must not have stopped anything."""
    source, target, trace = (str(folder / name) for name in ("in.jsonl", "out.jsonl", "trace.jsonl"))
    (folder / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert shoal.run(policy, source, target, trace=trace).faults == {}
    return audit(policy, source, target, trace=trace)


def people(count=400, persons=150, missing=0.2, seed=3):
    """Records of some persons who come back, with missing values."""
    draw = np.random.default_rng(seed)
    records = []
    for pid in draw.integers(0, persons, count).tolist():
        record = {
            "pid": pid,
            "age": int(draw.integers(0, 101)),
            "size": round(float(draw.uniform(0, 1.99)), 3),
            "city": CITIES[int(draw.integers(0, 6))],
            "illness": ("none", "flu", "angina")[int(draw.integers(0, 3))],
            "cost": int(draw.integers(0, 20)),
        }
        for name in ("age", "size", "city"):
            if draw.uniform() < missing:
                record[name] = None
        records.append(record)
    return records


def anonymized(folder, records, policy=POLICY, traced=True):
    """The statistics of a run over these records, and its evidence."""
    policy = shoal.Policy.parse(policy)
    source, target, trace = (str(folder / name) for name in ("in.jsonl", "out.jsonl", "trace.jsonl"))
    with open(source, "w") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    stats = shoal.run(policy, source, target, trace=trace)
    return stats, gather(policy, source, target, trace if traced else None)


def both(evidence):
    """Classes under the readings that figures are made of."""
    return {reading: classes(evidence, reading) for reading in ("extended", "maybe")}
