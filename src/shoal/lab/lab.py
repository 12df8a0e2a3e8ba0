"""The lab: a sample of a file, and trials of policies on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from shoal.anonymizer import compile_kernels, has_machine_code
from shoal.audit import Judged, Report, recorded
from shoal.checks import check
from shoal.errors import InputError, PolicyError
from shoal.formats import SUFFIXES, open_writer
from shoal.lab import upload
from shoal.lab.columns import columns
from shoal.lab.curves import algorithm_curves, z_curves
from shoal.lab.draft import about, draft
from shoal.lab.form import Form, FormField, Message, Role, located
from shoal.lab.frontier import variations
from shoal.lab.leaves import Rule, built, lacking, written_out
from shoal.lab.policy_form import as_form, block_lines
from shoal.lab.policy_text import as_policy, commands, policy_text, python
from shoal.lab.reading import FOUND, Reading
from shoal.lab.sample import ROWS, Sample
from shoal.lab.tree_text import tree_text
from shoal.lab.trial import Trial, point, returning, risks
from shoal.lab.worker import Worker
from shoal.policy import ATTACKS, Policy, all_names, parse_file

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
        self._worker = Worker("check", "trial", "risk", "z", "columns", yielding=("point", "across"))
        self._sample: Sample | None = None
        self._whole = True
        self._session: dict[str, Any] = {}
        self._opened = 0
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
                "opened": self._opened,
                "name": sample.name,
                "rows": sample.rows,
                "malformed": sample.malformed,
                "complete": sample.complete,
                "fields": sample.batch.schema.names,
                "about": about(sample),
                "written": str(sample.written),
                "reading": sample.reading,
            },
            "algorithms": {name: has_machine_code(name) for name in all_names()},
            "suffixes": list(SUFFIXES),
            "attacks": list(ATTACKS),
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

    def built(self, name: str, rule: Rule) -> FormField:
        """A field with the hierarchy that a rule builds over its range, or over the values of the sample."""
        return built(self._held(), name, rule)

    def written_out(self, builder: str) -> str:
        """The tree of a builder or of a ready-made hierarchy, one label per line, indented."""
        return written_out(builder)

    def lacking(self, entry: FormField) -> dict[str, Any]:
        """The values of the sample that the hierarchy of a field lacks; raises PolicyError if it is none."""
        return lacking(self._held(), entry)

    def check(self, form: Form) -> list[Message]:
        """The findings of `shoal check` on the policy and the sample, with the place of each."""
        return self._worker.run("check", lambda _: self._checked(form))

    def trial(self, form: Form) -> dict[str, Any]:
        """A trial on the sample: loss, suppression, waits, the smallest group, rows before and after."""
        return self._worker.run("trial", lambda _: self._tried(form).figures())

    def risk(self, form: Form) -> dict[str, Any]:
        """The audit of the trial: each promise, and the attacks with their success."""
        return risks(self._report("risk", form))

    def columns(self, form: Form) -> list[dict[str, Any]]:
        """What each field holds, and how well it tells persons apart, alone and with the quasi-identifiers."""
        sample = self._held()
        return self._worker.run("columns", partial(columns, form, sample))

    def variations(self, form: Form) -> list[dict[str, Any]]:
        """The changes of the form that a sweep tries."""
        return variations(form)

    def point(self, form: Form) -> dict[str, Any]:
        """A trial and its audit as one dot of risk against loss. Raises Superseded if a trial of the form itself is wanted."""
        sample, policy = self._held(), Policy.parse(as_policy(form))
        if policy.is_filter:
            raise PolicyError([f"algorithm.name: {policy.algorithm.name} has no groups; choose an algorithm that has k"])

        def tried(on_step: Callable[[], None]) -> dict[str, Any]:
            on_step()
            trial = Trial.run(policy, sample)
            found = point(trial.judged(lambda progress: on_step()))
            waits = trial.waits
            assert found is not None
            return {**found, "wait": float(waits.mean()) if len(waits) else None}

        return self._worker.run("point", tried)

    def across(self, form: Form) -> list[dict[str, Any]]:
        """For each stable attribute, the attack on persons who come back: `before`, with exact values, and `after`."""
        sample = self._held()
        stable = [entry for entry in form.fields if entry.role == "sensitive" and entry.stable]
        exact = [entry.model_copy(update={"shown": "exact"}) if entry in stable else entry for entry in form.fields]
        plain = form.model_copy(update={"across": "", "fields": exact})
        policies = [Policy.parse(as_policy(each)) for each in (plain, form)]

        def compared(on_step: Callable[[], None]) -> list[dict[str, Any]]:
            both = []
            for policy in policies:
                on_step()
                both.append(returning(Trial.run(policy, sample).judged(lambda progress: on_step())))
            before, after = both
            return [{"field": each.name, "before": before.get(each.name), "after": after.get(each.name)} for each in stable]

        return self._worker.run("across", compared) if stable and not form.is_filter else []

    def blocks(self, name: str, person: str = "", least: int = 3) -> dict[str, Any]:
        """Blocks for a stable attribute, as the form has them, and what they leave of its information."""
        found = self._held().blocks(name, person, least)
        return {
            "blocks": block_lines([list(block) for block in found.blocks]),
            "kept": found.kept,
            "guess": found.guess,
            "rare": found.rare,
        }

    def open_policy(self, data: bytes, name: str) -> Form:
        """The form of an existing policy. Raises PolicyError if it is no YAML mapping."""
        shown = upload.display_name(name)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise PolicyError([f"{shown}: is not UTF-8; save it as UTF-8"]) from None
        return as_form(text, self.draft().fields)

    def anonymized(self, form: Form) -> str:
        """What the policy makes of the sample, as CSV."""

        def written(_: object) -> str:
            with TemporaryDirectory(dir=self.folder) as folder:
                target = Path(folder, "sample.csv")
                with open_writer(str(target)) as writer:
                    for batch in self._tried(form).published.to_batches():
                        writer.write(batch)
                return target.read_text(encoding="utf-8")

        return self._worker.run("anonymized", written)

    @property
    def session(self) -> dict[str, Any]:
        """What the page asked to keep, so that a reload loses nothing; empty for a new sample."""
        return self._session

    def keep(self, session: dict[str, Any]) -> None:
        """Keep what the page will need after a reload, in memory; not what is about an earlier sample."""
        if session.get("opened") == self._opened:
            self._session = session

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
        return self._recorded(self._report("report", form)).to_html()

    def assessment(self, form: Form) -> str:
        """The impact assessment that the policy and the audit of the trial fill in, as one page."""
        return self._recorded(self._report("assessment", form)).to_assessment()

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
        self._session, self._opened = {}, self._opened + 1
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

    def _recorded(self, report: Report) -> Report:
        """The report, with the file of the sample, and who made it and when."""
        sample = self._held()
        found = recorded({"input": sample.path} if sample.complete else {})
        whole = tuple(replace(each, name=sample.name) for each in found.files)
        part = Judged("sample", f"the first {sample.rows:,} rows of {sample.name}", None, None)
        return replace(report, record=replace(found, files=whole or (part,)))

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
