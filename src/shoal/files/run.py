"""A run: anonymize one file into another."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from shoal.anonymizer import Anonymizer, FilterStats, Rejection, Stats
from shoal.errors import InputError, RecordError, ShoalError
from shoal.formats import open_reader, open_writer
from shoal.policy import Policy

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
    strict: bool = False,
    on_reject: Callable[[Rejection], None] = lambda rejection: None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Stats | FilterStats:
    """Anonymize a file by a policy.

    Parameters
    ----------
    policy
        A policy, or the path of one.
    source, target
        Files, by suffix `.jsonl`, `.csv` (each also `.gz`), `.parquet` or `.arrow`; `-` is JSON lines on standard input
        or output.
    trace
        Where to write how each tuple left, one JSON line per tuple in the order of the output. Private.
    strict
        Stop at the first rejected record, leaving no output.
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
    WorkerError
        Work on the stream failed, for example for lack of memory. Tuples released before that are in the output.
    """
    policy = policy if isinstance(policy, Policy) else Policy.load(policy)
    source, target = fspath(source), fspath(target)
    _refuse_same([source, target, *([fspath(trace)] if trace is not None else [])])
    anonymizer = Anonymizer(policy)
    with ExitStack() as stack:
        reader = stack.enter_context(open_reader(source, policy.fields, passed=policy.kept, target=target))
        writer = stack.enter_context(open_writer(target))
        tracer = stack.enter_context(open_writer(fspath(trace))) if trace is not None else None

        def write(published: pa.RecordBatch) -> None:
            writer.write(published)
            if tracer:
                tracer.write(anonymizer.trace)

        for block in reader:
            try:
                answer = anonymizer.push_batch(block.batch, block.rows, block.names)
            except ShoalError as error:
                if error.released is not None:
                    write(error.released)
                raise
            anonymizer.refuse(Rejection(row, None, reason) for row, reason in block.bad)
            for rejection in sorted(anonymizer.rejected):
                if strict:
                    raise RecordError(f"{source}: {rejection}")
                on_reject(rejection)
            write(answer)
            if on_progress:
                on_progress(Progress(*reader.progress(), anonymizer.stats))
        write(anonymizer.flush())
        if on_progress:
            on_progress(Progress(*reader.progress(), anonymizer.stats))
    return anonymizer.stats


def _refuse_same(paths: list[str]) -> None:
    files = [Path(path).resolve() for path in paths if path != "-"]
    if len(set(files)) < len(files):
        raise InputError("input, output and trace must be different files")
    if paths[1:].count("-") > 1:
        raise InputError("output and trace cannot both go to standard output")
