"""Compares the speed of two source trees on one machine, repetition by repetition in turns.

    python benchmarks/compare.py --before OLD --after NEW --data DIR

The rows are those of `shoal bench speed` (each algorithm in memory) and `shoal bench files` (CSV, JSONL and Parquet). Each tree
has one process, started with the tree's own interpreter (TREE/.venv/bin/python). It reads the data and loads the kernels once,
then waits: it runs one repetition when it is asked to over its pipe. The trees take turns, and each goes first in every other
round, so that a disturbance of the machine meets both. Both processes are bound to the same core. On a machine with other
work, --cpu compares seconds of the processor instead of seconds by the clock.

The processes use only `shoal.Anonymizer`, `shoal.Policy` and `shoal.run`, so that modules may differ between the trees. Data
and policies are written once, by the tree in which this script is run.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

MEMORY = "memory"
FORMATS = ("csv", "jsonl", "parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="a source tree with src/ and .venv/")
    parser.add_argument("--after", type=Path, required=True, help="another one")
    parser.add_argument("--data", help="the folder that holds adult/; or set SHOAL_DATA")
    parser.add_argument("--tuples", type=int, default=300_000, help="of each repetition")
    parser.add_argument("--rounds", type=int, default=11, help="repetitions of each row and tree")
    parser.add_argument("--algorithms", help="only these, with commas between")
    parser.add_argument("--cpu", action="store_true", help="compare seconds of the processor")
    parser.add_argument("--files-only", action="store_true", help="only the rows of files")
    asked = parser.parse_args()
    from shoal.bench import one_core

    with one_core(), TemporaryDirectory(prefix="shoal-compare-") as folder:
        rows = prepare(Path(folder), asked)
        trees = [Tree(name, getattr(asked, name).resolve(), Path(folder)) for name in ("before", "after")]
        try:
            print(compared(rows, trees, asked))
        finally:
            for tree in trees:
                tree.stop()


def prepare(home: Path, asked: argparse.Namespace) -> list[str]:
    """Write the stream in every format, and one policy for each algorithm; return the names of the rows."""
    import shutil

    import pyarrow as pa
    import yaml

    from shoal.bench import FULL, Adult, plain, variants
    from shoal.datasets import folder
    from shoal.formats import open_writer

    adult = Adult(folder(asked.data))
    shutil.copytree(adult.folder / "hierarchies", home / "hierarchies", copy_function=shutil.copyfile)
    stream = adult.stream(asked.tuples, FULL)
    with pa.OSFile(str(home / "stream.arrow"), "wb") as file, pa.ipc.new_file(file, stream[0].schema) as writer:
        for batch in stream:
            writer.write_batch(batch)
    for kind in FORMATS:
        with open_writer(str(home / f"stream.{kind}")) as text:
            for batch in stream:
                text.write(plain(batch))
    chosen = variants(asked.algorithms.split(",") if asked.algorithms else None)
    for variant in chosen:
        written = yaml.safe_dump(adult.document(variant, FULL), sort_keys=False)
        (home / f"{variant.label}.yaml").write_text(written, encoding="utf-8")
    memory = [] if asked.files_only else [f"{variant.label}/{MEMORY}" for variant in chosen]
    return [*memory, *(f"{chosen[0].label}/{kind}" for kind in FORMATS)]


class Tree:
    """A source tree and its process."""

    def __init__(self, name: str, root: Path, home: Path) -> None:
        python = root / ".venv" / "bin" / "python"
        if not python.exists():
            raise SystemExit(f"--{name}: {python} is missing; make an environment there")
        environment = {**os.environ, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1"}
        command = [str(python), str(Path(__file__).resolve()), "--worker", str(root), str(home), name]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.name = name
        self._process = subprocess.Popen(command, env=environment, cwd=home, **pipes)

    def ask(self, row: str) -> dict[str, Any]:
        """One repetition: its seconds by the clock and of the processor, and a digest of what it gave."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{row}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"--{self.name}: the process ended at {row}; its error stands above")
        return json.loads(answer)

    def stop(self) -> None:
        self._process.communicate()


def compared(rows: Sequence[str], trees: Sequence[Tree], asked: argparse.Namespace) -> str:
    """Run all rounds, and return the table."""
    from shoal.bench import Table, described, machine

    found, rounds, clock = machine(), asked.rounds, "cpu" if asked.cpu else "seconds"
    first = {row: [tree.ask(row) for tree in trees] for row in rows}  # compiles or loads the kernels; not timed
    seconds: dict[str, list[list[float]]] = {row: [[], []] for row in rows}
    shares = []  # of the time that a process had its core
    for turn in range(rounds):
        for number, row in enumerate(rows):
            print(f"\rround {turn + 1} of {rounds}, {row:24}", end="", file=sys.stderr, flush=True)
            for side in (0, 1) if (turn + number) % 2 == 0 else (1, 0):
                taken = trees[side].ask(row)
                seconds[row][side].append(taken[clock])
                shares.append(taken["cpu"] / taken["seconds"])
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    found["load"] += [os.getloadavg()[0]]
    lines = []
    for row, (before, after) in seconds.items():
        ratios = [new / old for old, new in zip(before, after, strict=True)]
        low, _, high = quantiles(ratios, n=4) if rounds > 1 else ratios * 3
        milliseconds = [f"{1000 * median(each):.1f} ms" for each in (before, after)]
        same = "yes" if first[row][0]["result"] == first[row][1]["result"] else "NO"
        lines.append((row.replace("/", ", "), *milliseconds, f"{median(ratios):.3f}", f"{low:.3f} to {high:.3f}", same))
    header = ("row", "before", "after", "ratio", "spread", "same output")
    notes = [
        f"{asked.tuples:,} tuples; medians of {rounds} repetitions in turns. Ratio: the median of after / before by round; "
        "below 1 the new tree is faster. Spread: the middle half of these ratios.",
        f"{described(found)}.",
    ]
    if (busy := median(shares)) < 0.95:
        notes.append(f"Other work took {100 * (1 - busy):.0f} % of the core: repeat this on an idle machine.")
    return Table("Two trees in turns", header, lines, notes).markdown()


def work(root: Path, home: Path, name: str) -> None:
    """The process of one tree: answer each row that is named on standard input with one repetition."""
    import pyarrow as pa

    import shoal

    if not Path(shoal.__file__).is_relative_to(root):
        raise SystemExit(f"--{name}: imports shoal from elsewhere; give {root} an environment of its own")
    pa.set_cpu_count(1)
    with pa.OSFile(str(home / "stream.arrow")) as file:
        reader = pa.ipc.open_file(file)
        stream = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    policies: dict[str, shoal.Policy] = {}
    for line in sys.stdin:
        label, kind = line.rstrip("\n").split("/")
        policy = policies.setdefault(label, shoal.Policy.load(home / f"{label}.yaml"))
        target = home / f"{name}.{kind}"
        task = in_memory(policy, stream) if kind == MEMORY else file_to_file(policy, home / f"stream.{kind}", target)
        gc.collect()
        gc.disable()
        used, start = process_time(), perf_counter()
        result = task()
        taken = {"seconds": perf_counter() - start, "cpu": process_time() - used}
        gc.enable()
        if kind != MEMORY:
            result = hashlib.sha256(target.read_bytes()).hexdigest()
        print(json.dumps({**taken, "result": result}), flush=True)


def in_memory(policy: Any, stream: Sequence[Any]) -> Callable[[], Any]:
    from shoal import Anonymizer

    def task() -> Any:
        anonymizer = Anonymizer(policy)
        for batch in stream:
            anonymizer.push_batch(batch)
        anonymizer.flush()
        stats: Any = anonymizer.stats
        return [stats.loss, stats.groups, stats.reused, stats.suppressed]

    return task


def file_to_file(policy: Any, source: Path, target: Path) -> Callable[[], Any]:
    from shoal import run

    target.unlink(missing_ok=True)

    def task() -> None:
        run(policy, source, target)

    return task


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
    else:
        main()
