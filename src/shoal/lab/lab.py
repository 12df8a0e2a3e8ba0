"""The lab: a sample of a file, and trials of policies on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from shoal.anonymizer import compile_kernels
from shoal.audit import Report
from shoal.checks import check
from shoal.compiled import is_compiled
from shoal.errors import InputError, PolicyError
from shoal.formats import SUFFIXES
from shoal.lab import upload
from shoal.lab.curves import algorithm_curves, z_curves
from shoal.lab.draft import about, draft
from shoal.lab.form import Form, FormField, Message, Role, located
from shoal.lab.policy_text import as_policy, commands, policy_text, python
from shoal.lab.reading import FOUND, Reading
from shoal.lab.sample import ROWS, Sample
from shoal.lab.tree_text import tree_text
from shoal.lab.trial import Trial, risks
from shoal.lab.worker import Worker
from shoal.policy import NAMES, Policy, parse_file

CHECKED = 10_000  # rows of a check, as in `shoal check`


class Lab:
    """Holds a sample, the first rows of a file, and tries policies on it.

    Without a source, `receive` takes the file. Without a place to `save` it, the policy can only be downloaded.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("age,sex\\n" + "".join(f"{20 + n % 50},{'fm'[n % 2]}\\n" for n in range(500)))
    ...     file.flush()
    ...     with Lab(file.name) as lab:
    ...         form = lab.draft().model_copy(update={"algorithm": "fads"})
    ...         print([(field.name, field.role) for field in form.fields])
    ...         tried = lab.trial(form)
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
        self._worker = Worker("check", "trial", "risk", "z")
        self._sample: Sample | None = None
        self._whole = True
        self._last: tuple[Sample, str, Trial, Report | None] | None = None
        if source is not None:
            self._open(Path(source), Path(source).name)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all work, and remove uploaded files."""
        self.stop()
        self._folder.cleanup()

    def stop(self) -> None:
        """Stop all work; calls that wait get `Superseded`."""
        self._worker.close()

    @property
    def folder(self) -> Path:
        """Where uploaded files are kept until the lab closes."""
        return Path(self._folder.name)

    def state(self) -> dict[str, Any]:
        """The sample, if any, and the possible choices."""
        sample = self._sample
        return {
            "sample": sample and {
                "name": sample.name,
                "rows": sample.rows,
                "malformed": sample.malformed,
                "complete": sample.complete,
                "fields": sample.batch.schema.names,
                "about": about(sample),
                "written": str(sample.written),
                "reading": sample.reading,
            },
            "algorithms": {name: is_compiled(name) for name in NAMES},
            "suffixes": list(SUFFIXES),
            "text": upload.TEXT,
            "whole": upload.WHOLE,
            "saves": self._target.name if self._target else "",
        }  # fmt: skip

    def warm(self) -> None:
        """Load kernels, so that the first trial need not wait for them."""
        self._worker.run("warm", lambda _: compile_kernels(Form().algorithm))

    def receive(self, name: str, chunks: Iterable[bytes], complete: bool = True) -> dict[str, Any]:
        """Take an uploaded file, or the beginning of a text, as the sample."""
        shown = upload.readable_name(name)
        own = Path(mkdtemp(dir=self.folder))
        try:
            path, whole = upload.stored(name, chunks, own)
            before = self._open(path, shown, whole and complete)
        except BaseException:
            rmtree(own, ignore_errors=True)
            raise
        if before and before.path.is_relative_to(self.folder):
            rmtree(before.path.parent, ignore_errors=True)
        return self.state()

    def read_as(self, reading: Reading) -> dict[str, Any]:
        """Read the file anew, written in this way."""
        sample = self._held()
        if sample.reading is None:
            raise InputError(f"{sample.name}: says itself how it is written; only CSV is read in other ways")
        if reading.decimal and reading.decimal == reading.thousands:
            raise InputError("reading: the decimal mark cannot stand between thousands, too; choose another")
        self._open(sample.path, sample.name, self._whole, reading)
        return self.state()

    def draft(self) -> Form:
        """The policy that `shoal infer` drafts, as a form."""
        return draft(self._held())

    def propose(self, name: str, role: Role) -> FormField:
        """A field in another role, with a range or a hierarchy from the sample."""
        return self._held().proposed(name, role)

    def hierarchy(self, data: bytes, name: str) -> str:
        """The tree in a hierarchy's file, one label per line, indented. Raises PolicyError if it holds no tree."""
        return tree_text(parse_file(data, upload.display_name(name)))

    def check(self, form: Form) -> list[Message]:
        """The findings of `shoal check` on the policy and the sample, with the place of each."""
        return self._worker.run("check", lambda _: self._checked(form))

    def trial(self, form: Form) -> dict[str, Any]:
        """A trial on the sample: loss, suppression, waits, the smallest group, rows before and after."""
        return self._worker.run("trial", lambda _: self._tried(form).figures())

    def risk(self, form: Form) -> dict[str, Any]:
        """The audit of the trial: each promise, and the attacks with their success."""
        return risks(self._report("risk", form))

    def compare(self, form: Form, algorithm: str) -> dict[str, Any]:
        """One algorithm on the sample, under several windows and several k."""
        sample, policy = self._held(), as_policy(form)
        return self._worker.run(f"compare {algorithm}", partial(algorithm_curves, policy, algorithm, sample))

    def probabilities(self, form: Form, k: int = 2, confidence: float = 0.95) -> dict[str, Any]:
        """For z-anonymity, the probability that users are k-anonymous, for each z."""
        sample = self._held()
        return self._worker.run("z", lambda _: z_curves(form, sample, k, confidence))

    def policy(self, form: Form) -> str:
        """The policy as YAML, valid or not yet."""
        return policy_text(form)

    def save(self, form: Form) -> str:
        """Write the policy to the file given to the lab, and return its name.

        Raises PolicyError if the policy is not valid, InputError if no file was given, or it cannot be written.
        """
        content = policy_text(form)
        Policy.parse(content)
        if self._target is None:
            raise InputError("save: no file was given; start it with --save FILE, or download the policy")
        try:
            self._target.write_text(content, encoding="utf-8")
        except OSError:
            raise InputError(f"{self._target.name}: cannot be written; check its folder") from None
        return self._target.name

    def report(self, form: Form) -> str:
        """The audit report on the trial, as one page."""
        return self._report("report", form).to_html()

    def calls(self, form: Form) -> dict[str, str]:
        """The commands and the Python code that do the same to the whole file."""
        name = self._held().name
        return {"cli": commands(name, form.is_filter), "python": python(name, form.is_filter)}

    def _open(self, path: Path, name: str, complete: bool = True, reading: Reading = FOUND) -> Sample | None:
        """Take a file as the sample, and return the previous one; `complete` is false if only its beginning is there."""
        found = Sample.read(path, name, self._rows, reading)
        found = replace(found, complete=found.complete and complete)
        draft(found)  # refuses a file that no draft can be made of
        before, self._sample, self._last, self._whole = self._sample, found, None, complete
        return before

    def _held(self) -> Sample:
        if self._sample is None:
            raise InputError("there is no sample yet; give a file")
        return self._sample

    def _checked(self, form: Form) -> list[Message]:
        sample = self._held()
        try:
            policy = Policy.parse(as_policy(form))
        except PolicyError as error:
            return located("problem", error.problems, form, stops=True)
        found = check(policy, sample.path, rows=min(CHECKED, sample.limit))
        problems = [line.replace(str(sample.path), sample.name) for line in found.problems]
        return located("problem", problems, form) + located("warning", found.warnings, form)

    def _tried(self, form: Form) -> Trial:
        """The trial of a form; the last one is kept."""
        sample, content = self._held(), policy_text(form)
        last = self._last
        if last and last[0] is sample and last[1] == content:
            return last[2]
        trial = Trial.run(Policy.parse(as_policy(form)), sample)
        self._last = (sample, content, trial, None)
        return trial

    def _report(self, kind: str, form: Form) -> Report:
        def judged(on_step: Any) -> Report:
            trial = self._tried(form)
            last = self._last
            if last and last[2] is trial and last[3]:
                return last[3]
            report = trial.judged(lambda progress: on_step())
            if last and last[2] is trial:
                self._last = (*last[:3], report)
            return report

        return self._worker.run(kind, judged)
