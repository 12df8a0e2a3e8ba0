"""A run: anonymize one file into another. And some fields of a file: the distinct values of one, or observations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer import Anonymizer, FilterStats, Rejection, Stats
from shoal.column_types import as_nested
from shoal.columns import column, texts, times
from shoal.errors import InputError, RecordError, RejectedError, ShoalError
from shoal.files.absent import Expected
from shoal.files.pace import Pace
from shoal.formats import detected, field_names, is_standard, open_reader, open_writer, suffix
from shoal.policy import Policy
from shoal.storage import fetched, is_address, stored
from shoal.text import percent

NULLS = ("",)


def distinct_values(source: str | PathLike[str], field: str, nulls: Collection[str] = NULLS) -> list[str]:
    """The distinct values of a field as text, in order of appearance, without those that mean missing.

    Raises InputError if the file cannot be read, or no record has the field.
    """
    path = fspath(source)
    found: dict[str, None] = {}
    with open_reader(path, [field], dialect=detected(path).dialect) as reader:
        for block in reader:
            text = texts(column(block.batch, field), tuple(nulls)).drop_null()
            found.update(dict.fromkeys(text.unique().to_pylist()))
    if not found:
        raise InputError(f"{path}: {field!r} is absent, or missing in all rows; correct the name of the field")
    return list(found)


class Events(NamedTuple):
    """Observations as arrays: seconds, and codes of users and items; and how many rows were left out."""

    time: NDArray[np.float64]
    user: NDArray[np.int64]
    item: NDArray[np.int64]
    left_out: int


def read_events(path: str, person: str, item: Sequence[str], time: str, rows: int) -> Events:
    """At most `rows` observations. Rows without a user, an item or a time are left out; several item fields make one item."""
    fields = list(dict.fromkeys([time, person, *item]))
    dialect = detected(path).dialect
    if not is_standard(path):
        known = field_names(path, dialect)
        options = {time: "--time", person: "--person", **dict.fromkeys(item, "--item")}
        for field in fields:
            if field not in known:
                raise InputError(f"{path}: has no field '{field}'; name the one that it has with {options[field]}")
    seconds: list[NDArray[np.float64]] = []
    parts: dict[str, list[pa.Array]] = {field: [] for field in (person, *item)}
    bad = count = 0
    with open_reader(path, fields, dialect=dialect) as reader:
        for block in reader:
            batch = block.batch.slice(0, rows - count)
            seconds.append(times(column(batch, time), NULLS).values)
            for field, found in parts.items():
                found.append(texts(column(batch, field), NULLS).cast(pa.large_string()))
            bad += len(block.bad)
            count += batch.num_rows
            if count >= rows:
                break
    moment = np.concatenate(seconds) if seconds else np.empty(0)
    user = _codes(parts[person])
    items = [_codes(parts[field]) for field in item]
    is_whole = np.isfinite(moment) & (user >= 0) & np.all([codes >= 0 for codes in items], axis=0)
    if not is_whole.any():
        raise InputError(f"{path}: no row has a user, an item and a time; name the fields with --person, --item and --time")
    joined = items[0][is_whole]
    if len(items) > 1:
        joined = np.unique(np.stack(items)[:, is_whole], axis=1, return_inverse=True)[1].ravel()
    return Events(moment[is_whole], user[is_whole], np.asarray(joined, np.int64), bad + int((~is_whole).sum()))


def _codes(arrays: list[pa.Array]) -> NDArray[np.int64]:
    """Each value's code, -1 where it is missing."""
    coded = pa.chunked_array(arrays, pa.large_string()).combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    return coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)


Name = str | PathLike[str]


class Progress(NamedTuple):
    """The progress of a run."""

    done: int  # bytes of the input
    total: int | None  # None where it is unknown
    stats: Stats | FilterStats


def run(
    policy: Policy | Name,
    source: Name,
    target: Name,
    *,
    trace: Name | None = None,
    bags: Name | None = None,
    strict: bool = False,
    max_rejected: float = 1.0,
    ahead: float | None = None,
    on_reject: Callable[[Rejection], None] = lambda rejection: None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Stats | FilterStats:
    """Anonymize a file by a policy.

    Parameters
    ----------
    policy
        A policy, or the path of one.
    source, target
        Files, by suffix `.jsonl`, `.csv`, `.parquet`, `.arrow` and others (see Operations, Formats); `-` is JSON lines on
        standard input or output. The policy's `input` says how a text is written. Both may be addresses in an object store,
        such as `s3://bucket/people.csv`; they are copied to and from a temporary folder.
    trace
        Where to write how each tuple left, one JSON line per tuple in the order of the output. Private.
    bags
        Where to write the second output of a policy with `as: bag`: bags of exact values. By default beside the target:
        `out.bags.csv` for `out.csv`.
    strict
        Stop at the first rejected record, leaving no output.
    max_rejected
        The largest share of rejected records, from 0 to 1; a malformed record of a CSV counts as many times as it has lines.
        If it is exceeded, the output is kept as a draft: `out.draft.csv` instead of `out.csv`.
    ahead
        Reject a record whose time is more than so many seconds after the newest before it, and after most of the hundred
        behind it. By default all times are accepted.
    on_reject
        Called with each rejected record's place and reason.
    on_progress
        Called after each block.

    Raises
    ------
    PolicyError, InputError
        The policy or a file cannot be used.
    RecordError
        A record was rejected under `strict`.
    RejectedError
        More records were rejected than `max_rejected` allows. It is raised when all is done, and holds the figures.
    WorkerError
        Work on the stream failed, for example for lack of memory. Tuples released before that are in the output.
    """
    policy = policy if isinstance(policy, Policy) else Policy.load(policy)
    source, target = fspath(source), fspath(target)
    second = _second(policy, target, bags)
    _refuse_same([source, target, *(fspath(path) for path in (trace, second) if path is not None)])
    if any(map(is_address, (source, target, trace, second))):
        with fetched(source) as (local,), stored(target, trace, second) as (out, traced, bagged):
            try:
                return run(
                    policy, local, out, trace=traced, bags=bagged, strict=strict, max_rejected=max_rejected, ahead=ahead,
                    on_reject=on_reject, on_progress=on_progress,
                )  # fmt: skip
            except RejectedError as error:
                draft = error.draft and draft_name(target)
                said = str(error).replace(local, source).replace(str(error.draft), str(draft))
                raise RejectedError(said, error.stats, draft) from None
            except (InputError, RecordError) as error:
                raise type(error)(str(error).replace(local, source).replace(out, target)) from None
    anonymizer = Anonymizer(policy)
    with ExitStack() as stack:
        dialect = policy.input.dialect
        reader = stack.enter_context(open_reader(source, policy.fields, passed=policy.kept, target=target, dialect=dialect))
        expected = Expected(source, policy)
        writer = stack.enter_context(open_writer(target))
        tracer = stack.enter_context(open_writer(fspath(trace), private=True)) if trace is not None else None
        bagger = stack.enter_context(open_writer(second)) if second is not None else None

        def write(published: pa.RecordBatch) -> None:
            writer.write(as_nested(published) if policy.nesting == "keep" else published)
            if bagger:
                bagger.write(anonymizer.bags)
            if tracer:
                tracer.write(anonymizer.trace)

        swallowed = 0
        for block in reader if ahead is None or policy.time is None else Pace(policy, ahead).blocks(reader):
            expected.see(block)
            swallowed += block.swallowed
            try:
                answer = anonymizer.push_batch(block.batch, block.rows, block.names)
            except ShoalError as error:
                if error.released is not None:
                    write(error.released)
                raise
            anonymizer.refuse(Rejection(row, None, reason) for row, reason in block.bad)
            for rejection in block.placed(sorted(anonymizer.rejected)):
                if strict:
                    raise RecordError(f"{source}: {rejection}")
                on_reject(rejection)
            write(answer)
            if on_progress:
                on_progress(Progress(*reader.progress(), anonymizer.stats))
        expected.done()
        write(anonymizer.flush())
        if on_progress:
            on_progress(Progress(*reader.progress(), anonymizer.stats))
        stats = anonymizer.stats
        too_many = stats.rejected + swallowed > max_rejected * (stats.received + swallowed)
        draft = None
        if too_many:
            draft = draft_name(target) if writer.keep_as(draft_name(target)) else None
            if tracer and trace is not None:
                tracer.keep_as(draft_name(fspath(trace)))
            if bagger and second is not None:
                bagger.keep_as(draft_name(second))
    if too_many:
        rejected, what = (stats.rejected + swallowed) / (stats.received + swallowed), "lines" if swallowed else "records"
        share = f"{percent(rejected)} of the {what} were rejected, more than {percent(max_rejected)}"
        kept = f"the output is kept as a draft, {draft}" if draft else "the output is incomplete"
        raise RejectedError(f"{source}: {share}; {kept}", stats, draft)
    return stats


def draft_name(path: str) -> str:
    """The name of the draft of an output.

    >>> draft_name("out/people.csv.gz"), draft_name("-")
    ('out/people.draft.csv.gz', '-')
    """
    return _beside(path, "draft")


def bags_name(path: str) -> str:
    """The name of the second output, the bags, beside an output.

    >>> bags_name("out/people.csv.gz")
    'out/people.bags.csv.gz'
    """
    return _beside(path, "bags")


def _beside(path: str, what: str) -> str:
    end = len(suffix(path))
    return f"{path[:-end]}.{what}{path[-end:]}" if end and not is_standard(path) else path


def _second(policy: Policy, target: str, bags: Name | None) -> str | None:
    """Where the bags go; None if the policy has none."""
    if not policy.bags:
        if bags is not None:
            raise InputError("bags: no attribute of the policy is published in bags; leave it out")
        return None
    if bags is None and bags_name(target) == target:
        raise InputError(
            f"{target}: is no file, beside which the bags of {', '.join(policy.bags)} could go; name one for them (--bags)"
        )
    return bags_name(target) if bags is None else fspath(bags)


def _refuse_same(paths: list[str]) -> None:
    files = [path if is_address(path) else Path(path).resolve() for path in paths if not is_standard(path)]
    if len(set(files)) < len(files):
        raise InputError("input, output, trace and bags must be different files")
    if sum(map(is_standard, paths[1:])) > 1:
        raise InputError("output, trace and bags cannot go to standard output together")
