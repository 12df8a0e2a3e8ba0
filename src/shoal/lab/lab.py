"""The workbench: a sample, and all that can be asked of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from shoal.audit import Report
from shoal.compiled import is_compiled
from shoal.errors import InputError, PolicyError
from shoal.formats import SUFFIXES
from shoal.lab import calls, upload
from shoal.lab.chance import chances
from shoal.lab.comparison import compared
from shoal.lab.desk import Desk
from shoal.lab.draft import about, draft
from shoal.lab.message import Message, placed
from shoal.lab.outline import outline
from shoal.lab.sample import ROWS, Sample
from shoal.lab.sheet import Entry, Role, Sheet
from shoal.lab.trial import Trial, risks
from shoal.lab.writing import text, written
from shoal.pipeline import check
from shoal.pipeline.kernels import compile_kernels
from shoal.policy import Policy
from shoal.policy.algorithm import NAMES
from shoal.policy.hierarchy_file import parse

CHECKED = 10_000
"""Rows that a check looks at, as `shoal check` does."""


class Lab:
    """Holds a sample of a file, and tries policies on it.

    Parameters
    ----------
    source
        A file as `run` reads it; without one, `receive` brings it.
    rows
        How many rows, from the first, make the sample.
    save
        Where `save` writes the policy; without it, it is only given.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("age,sex\\n" + "".join(f"{20 + n % 50},{'fm'[n % 2]}\\n" for n in range(500)))
    ...     file.flush()
    ...     with Lab(file.name) as lab:
    ...         sheet = lab.draft().model_copy(update={"algorithm": "fads"})
    ...         print([(entry.name, entry.role) for entry in sheet.fields])
    ...         tried = lab.trial(sheet)
    ...         print(tried["smallest"] >= tried["k"] == 20, tried["released"])
    [('age', 'numeric'), ('sex', 'categorical')]
    True 500
    """

    def __init__(
        self, source: str | PathLike[str] | None = None, *, rows: int = ROWS, save: str | PathLike[str] | None = None
    ) -> None:
        self._rows = rows
        self._target = None if save is None else Path(save)
        self._folder = TemporaryDirectory(prefix="shoal-lab-")
        self._desk = Desk("check", "trial", "risk", "chances")
        self._sample: Sample | None = None
        self._last: tuple[Sample, str, Trial, Report | None] | None = None
        if source is not None:
            self._open(Path(source), Path(source).name)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop working, and remove what was handed over."""
        self.rest()
        self._folder.cleanup()

    def rest(self) -> None:
        """Stop working; whoever waits for something hears that it will not come."""
        self._desk.close()

    @property
    def folder(self) -> Path:
        """Where files that are handed over lie until the lab closes."""
        return Path(self._folder.name)

    def state(self) -> dict[str, Any]:
        """What there is: the sample, if any, and what can be chosen from."""
        sample = self._sample
        return {
            "sample": sample and {
                "name": sample.name,
                "rows": sample.rows,
                "malformed": sample.malformed,
                "complete": sample.complete,
                "fields": sample.batch.schema.names,
                "about": about(sample),
            },
            "algorithms": {name: is_compiled(name) for name in NAMES},
            "suffixes": list(SUFFIXES),
            "text": upload.TEXT,
            "whole": upload.WHOLE,
            "saves": self._target.name if self._target else "",
        }  # fmt: skip

    def warm(self) -> None:
        """Load what the first trial needs, so that it is not the one to wait for it."""
        self._desk.ask("warm", lambda still: compile_kernels(Sheet().algorithm))

    def receive(self, name: str, chunks: Iterable[bytes], complete: bool = True) -> dict[str, Any]:
        """Take over a file, or the beginning of a text, and draft anew.

        Raises
        ------
        InputError
            It is too large, of no kind that can be read, or broken.
        """
        said = upload.plain(name)
        own = Path(mkdtemp(dir=self.folder))
        try:
            path, whole = upload.stored(name, chunks, own)
            before = self._open(path, said, whole and complete)
        except BaseException:
            rmtree(own, ignore_errors=True)
            raise
        if before and before.path.is_relative_to(self.folder):
            rmtree(before.path.parent, ignore_errors=True)
        return self.state()

    def draft(self) -> Sheet:
        """The policy that `shoal infer` drafts, as a sheet."""
        return draft(self._held())

    def propose(self, name: str, role: Role) -> Entry:
        """A field in another role, with the range or the hierarchy that the sample suggests."""
        return self._held().proposed(name, role)

    def hierarchy(self, data: bytes, name: str) -> str:
        """The tree in a hierarchy's file, a label a line, indented.

        Raises
        ------
        PolicyError
            It holds no tree.
        """
        return outline(parse(data, upload.shown(name)))

    def check(self, sheet: Sheet) -> list[Message]:
        """What `shoal check` says about the policy and the sample, with the place of each line."""
        return self._desk.ask("check", lambda still: self._checked(sheet))

    def trial(self, sheet: Sheet) -> dict[str, Any]:
        """The policy tried on the sample: loss, suppression, waiting, the smallest group, rows before and after."""
        return self._desk.ask("trial", lambda still: self._tried(sheet).told())

    def risk(self, sheet: Sheet) -> dict[str, Any]:
        """The audit of that trial: each promise, and the attacks with their success."""
        return risks(self._report("risk", sheet))

    def compare(self, sheet: Sheet, algorithm: str) -> dict[str, Any]:
        """One algorithm on the sample, under several windows and several k."""
        sample = self._held()
        return self._desk.ask(f"compare {algorithm}", lambda still: compared(written(sheet), algorithm, sample, still))

    def chances(self, sheet: Sheet, k: int = 2, confidence: float = 0.95) -> dict[str, Any]:
        """For z-anonymity, how likely users are k-anonymous under each z."""
        sample = self._held()
        return self._desk.ask("chances", lambda still: chances(sheet, sample, k, confidence))

    def policy(self, sheet: Sheet) -> str:
        """The policy as YAML, whether it can be used or not yet."""
        return text(sheet)

    def save(self, sheet: Sheet) -> str:
        """Write the policy where the lab was told to; the name of the file.

        Raises
        ------
        PolicyError
            It cannot be used.
        InputError
            There is no such place.
        """
        content = text(sheet)
        Policy.parse(content)
        if self._target is None:
            raise InputError("save: the lab was not told where; start it with --save FILE, or download the policy")
        try:
            self._target.write_text(content, encoding="utf-8")
        except OSError:
            raise InputError(f"{self._target.name}: cannot be written; check its folder") from None
        return self._target.name

    def report(self, sheet: Sheet) -> str:
        """The audit report on the trial, as one page."""
        return self._report("report", sheet).to_html()

    def calls(self, sheet: Sheet) -> dict[str, str]:
        """The commands and the Python that do the same to the whole file."""
        name = self._held().name
        return {"cli": calls.commands(name, sheet.is_filter), "python": calls.python(name, sheet.is_filter)}

    def _open(self, path: Path, name: str, complete: bool = True) -> Sample | None:
        """Take a file as the sample; the one that was there before."""
        found = Sample.read(path, name, self._rows)
        found = replace(found, complete=found.complete and complete)
        draft(found)  # refuses in time what no draft can be made of
        before, self._sample, self._last = self._sample, found, None
        return before

    def _held(self) -> Sample:
        if self._sample is None:
            raise InputError("there is no sample yet; give a file")
        return self._sample

    def _checked(self, sheet: Sheet) -> list[Message]:
        sample = self._held()
        try:
            policy = Policy.parse(written(sheet))
        except PolicyError as error:
            return placed("problem", error.problems, sheet, stops=True)
        found = check(policy, sample.path, rows=min(CHECKED, sample.limit))
        problems = [line.replace(str(sample.path), sample.name) for line in found.problems]
        return placed("problem", problems, sheet) + placed("warning", found.warnings, sheet)

    def _tried(self, sheet: Sheet) -> Trial:
        """The trial of a sheet; the last one is kept."""
        sample, content = self._held(), text(sheet)
        last = self._last
        if last and last[0] is sample and last[1] == content:
            return last[2]
        trial = Trial.run(Policy.parse(written(sheet)), sample)
        self._last = (sample, content, trial, None)
        return trial

    def _report(self, kind: str, sheet: Sheet) -> Report:
        def judged(still: Any) -> Report:
            trial = self._tried(sheet)
            last = self._last
            if last and last[2] is trial and last[3]:
                return last[3]
            report = trial.judged(lambda progress: still())
            if last and last[2] is trial:
                self._last = (*last[:3], report)
            return report

        return self._desk.ask(kind, judged)
