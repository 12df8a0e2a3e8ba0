"""The price of a recommendation: the first records of the input, anonymized and judged under the policy and its change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.anonymizer import Anonymizer
from shoal.audit import ACROSS, Advice, Price, Report, WindowReport, audit
from shoal.config import read_yaml
from shoal.errors import InputError, PolicyError
from shoal.formats import open_reader
from shoal.infer import draft_blocks, shares_of
from shoal.policy import Policy

ROWS = 20_000
MOST = 4  # recommendations that are measured


def prices(report: Report, policy: str, source: str, rows: int = ROWS) -> dict[str, Price]:
    """The prices of the first recommendations that change the policy, by `Advice.about`; a change that is refused has none.

    Blocks are drafted from the same input, as `shoal blocks` drafts them.
    """
    changes = [each for each in report.advice if each.is_priced][:MOST]
    if not changes:
        return {}
    written = read_yaml(Path(policy).read_text(encoding="utf-8-sig"))
    folder = Path(policy).parent
    records = _first(Policy.load(policy), source, rows)
    before = _judged(Policy.load(policy), records)
    found = {}
    for each in changes:
        try:
            change, kept = (each.change, None) if each.change else _blocks(each.blocks_of, source, report.policy.person)
            after = _judged(Policy.parse(merged(written, change or {}), folder), records)
        except (PolicyError, InputError):
            continue
        found[each.about] = replace(_price(each, records.num_rows, before, after), kept=kept)
    return found


def _blocks(of: str, source: str, person: str | None) -> tuple[Mapping[str, Any], float]:
    """The change that declares an attribute stable, with drafted blocks, and how much of its information they keep."""
    shares, rare = shares_of(source, of, person)
    found = draft_blocks(shares, ACROSS, rare=rare)
    own = {"stable": True, "as": "block", "blocks": [list(block) for block in found.blocks]}
    return {"attributes": {of: own}, "privacy": {"across": ACROSS}}, found.kept


def merged(written: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A written policy with a change; what the change sets to None is left out, other lengths of a window too.

    >>> merged({"privacy": {"k": 5}, "window": {"count": 9}}, {"privacy": {"l": 2}, "window": {"count": 18}})
    {'privacy': {'k': 5, 'l': 2}, 'window': {'count': 18}}
    >>> merged({"attributes": {"a": {}, "b": {}}}, {"attributes": {"a": None}})
    {'attributes': {'b': {}}}
    """
    found = dict(written)
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(found.get(key), Mapping):
            found[key] = merged(found[key], value)
        else:
            found[key] = value
    return found


def _first(policy: Policy, source: str, rows: int) -> pa.Table:
    batches: list[pa.RecordBatch] = []
    with open_reader(source, policy.fields, passed=policy.kept, dialect=policy.input.dialect) as reader:
        for block in reader:
            batches.append(block.batch.slice(0, rows - sum(each.num_rows for each in batches)))
            if sum(each.num_rows for each in batches) >= rows:
                break
    if not batches:
        raise InputError(f"{source}: has no records; there is nothing to measure a price on")
    return pa.concat_tables([pa.Table.from_batches([each]) for each in batches], promote_options="permissive").combine_chunks()


def _judged(policy: Policy, records: pa.Table) -> WindowReport:
    anonymizer = Anonymizer(policy)
    published, trace = [], []
    for batch in records.to_batches():
        published.append(anonymizer.push_batch(batch))
        trace.append(anonymizer.trace)
    published.append(anonymizer.flush())
    trace.append(anonymizer.trace)
    report = audit(policy, records, pa.Table.from_batches(published), pa.Table.from_batches(trace))
    assert isinstance(report, WindowReport)
    return report


def _price(each: Advice, rows: int, before: WindowReport, after: WindowReport) -> Price:
    return Price(
        rows=rows,
        loss_before=before.figures.utility.loss.mean,
        loss_after=after.figures.utility.loss.mean,
        published_before=_with_values(before),
        published_after=_with_values(after),
        success_before=_success(before, each.about),
        success_after=_success(after, each.about),
    )


def _with_values(report: WindowReport) -> int:
    hidden = 0 if report.policy.suppressed == "drop" else report.rows["suppressed"]
    return report.rows["output"] - hidden


def _success(report: WindowReport, about: str) -> float | None:
    return next((each.success for each in report.exposures if each.label == about), None)
