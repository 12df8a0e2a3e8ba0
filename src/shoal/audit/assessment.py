"""A data protection impact assessment: what policy and audit fill in of the parts that Article 35(7) GDPR asks for.

What they cannot know is left to write: an entry without a text, with a question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shoal.audit.finding import Verdict
from shoal.audit.page.element import sentence
from shoal.audit.page.policy import fields
from shoal.audit.verdict import percent

if TYPE_CHECKING:
    from shoal.audit.report import Report

Source = Literal["policy", "audit", "you"]
_UNNAMED = "the owner of the policy, who is not named in it"
_RISKS = {
    "singling out": "somebody isolates the rows of one person",
    "linking": "somebody connects rows with a person, or with each other",
    "inferring": "somebody infers a value of a person",
    "pseudonyms": "somebody connects the pseudonyms of one user",
}


@dataclass(frozen=True)
class Entry:
    """One line: its topic, a text, and who gave it. What `you` have to write has a question instead of a text."""

    topic: str
    text: str
    source: Source
    question: str = ""


@dataclass(frozen=True)
class Part:
    """One part of the assessment."""

    key: str
    title: str
    article: str
    entries: tuple[Entry, ...]


Assessment = tuple[Part, ...]


def assessment(report: Report) -> Assessment:
    """All parts, in the order of Article 35(7)."""
    return (
        Part("processing", "a) The processing and its purpose", "Article 35(7)(a)", tuple(_processing(report))),
        Part("necessity", "b) Necessity and proportionality", "Article 35(7)(b)", tuple(_necessity(report))),
        Part("risks", "c) Risks for the persons", "Article 35(7)(c)", tuple(_risks(report))),
        Part("measures", "d) Measures", "Article 35(7)(d)", tuple(_measures(report))),
        Part("review", "e) Advice, views, and review", "Article 35(2), (9) and (11)", tuple(_review())),
    )


def _given(topic: str, text: str | None, question: str) -> Entry:
    return Entry(topic, text, "policy") if text else Entry(topic, "", "you", question)


def _processing(report: Report) -> Iterator[Entry]:
    policy, rows, about = report.policy, report.rows, report.policy.about
    yield _given("Purpose", about.purpose, "What is the output for?")
    yield _given("Controller", about.controller, "Who answers for the data?")
    yield _given("Contact", about.contact, "Where do questions go?")
    yield _given("Recipients", ", ".join(about.recipients), "Who gets the output?")
    yield Entry("What is done", _done(report), "policy")
    yield Entry("Fields that are read", f"{', '.join(policy.fields)}. No other field of the input is read.", "policy")
    yield Entry(
        "Fields that are published", "; ".join(f"{n} ({role}): {how}" for n, role, how in fields(policy)) or "none", "policy"
    )
    yield Entry(
        "How much",
        f"{rows['input']:,} records came, {rows['accepted']:,} were accepted, {rows['output']:,} rows left.",
        "audit",
    )
    for each in report.record.files if report.record else ():
        size = "" if each.bytes is None else f", {each.bytes:,} bytes, SHA-256 {each.sha256}"
        yield Entry(f"File: {each.role}", f"{each.name}{size}", "audit")
    yield Entry("Source and persons", "", "you", "Where do the records come from, whose are they, how many persons?")
    yield Entry("Legal basis", "", "you", "Which ground of Article 6 applies, and of Article 9 for special categories?")
    yield Entry("Retention", "", "you", "How long are input, trace and output kept?")


def _done(report: Report) -> str:
    policy = report.policy
    if policy.is_filter:
        return (
            f"Observations leave at once, under pseudonyms that change, by the algorithm {policy.algorithm.name}: an item is "
            "published if enough users had exposed it in the window before. The output is pseudonymous, and so personal data."
        )
    unit = "seconds" if policy.window.timed else "arrivals" if policy.window.kind == "count" else "tuples"
    return (
        f"Records are held in a window of {policy.window.length:,.12g} {unit}, and leave in groups of at least "
        f"{policy.privacy.k} persons who show the same in every quasi-identifier, by the algorithm {policy.algorithm.name}."
    )


def _necessity(report: Report) -> Iterator[Entry]:
    policy = report.policy
    yield Entry("What is left of the data", report.answers[2], "audit")
    for name, reason in policy.reasons.items():
        if reason:
            yield Entry(f"Why {name} is published as it is", reason, "policy")
        else:
            yield Entry(f"Why {name} is published as it is", "", "you", f"Why does the purpose need {name}, unchanged?")
    hidden = [name for name in policy.fields if name not in policy.published]
    if hidden:
        yield Entry("Read, and not published", ", ".join(hidden), "policy")
    yield Entry("Necessity", "", "you", "Why does the purpose need these fields, in this detail, and nothing less?")
    yield Entry(
        "Rights of the persons", "", "you", "How are they informed, and how can they object, or have their records erased?"
    )


def _risks(report: Report) -> Iterator[Entry]:
    yield Entry(
        "The verdict",
        f"{sentence(f'{report.headline.colour}: {report.headline.text}')} {report.headline.outside}".strip(),
        "audit",
    )
    for kind, text in _likelihood(report):
        yield Entry(f"How likely: {_RISKS[kind]} ({kind})", text, "audit")
        yield Entry(f"How severe: {kind}", "", "you", f"What would it mean for a person if {_RISKS[kind]}?")
    for name, says in report.limits:
        yield Entry("Not covered by a promise", f"{name} {says}", "audit")
    yield Entry("Other risks", "", "you", "What if the input, the trace or the state is lost, disclosed, or changed?")


def _likelihood(report: Report) -> Iterator[tuple[str, str]]:
    """Of each kind of attack the one that gains most over its bound."""
    exposures = getattr(report, "exposures", None)
    if exposures is None:
        attacks = report.figures.attacks  # type: ignore[attr-defined]
        attacks = [
            f"{each.name}: right in {percent(each.success)}, by chance in {percent(each.baseline)}"
            for each in attacks
            if each.success is not None and each.baseline is not None
        ]
        yield "pseudonyms", sentence("; ".join(attacks) or "not measured: that needs the trace")
        return
    for kind in ("singling out", "linking", "inferring"):
        tried = [each for each in exposures if each.kind == kind and each.success is not None]
        if not tried:
            yield kind, "Not measured: no such attack could be tried."
            continue
        first = tried[0]
        worse = sum(each.is_worse for each in tried)
        end = "none is worse than its bound" if not worse else f"{worse} of them worse than the bound"
        bound = "" if first.bound is None else f", its bound is {percent(first.bound)}"
        yield (
            kind,
            f"{len(tried)} attacks were run, {end}. The worst, {first.label}, is right in {percent(first.success)}; by chance "
            f"it would be in {percent(first.chance)}{bound}.",
        )


def _measures(report: Report) -> Iterator[Entry]:
    policy = report.policy
    yield Entry("Were the promises kept?", report.answers[0], "audit")
    for each in report.promises:
        if each.verdict != Verdict.NOT_PROMISED:
            yield Entry(f"Promise: {each.promise}", f"{sentence(each.says)} {sentence(str(each.verdict))}", "audit")
    accepted = [f"{name} up to {percent(share)}" for name, share in policy.privacy.accept.items()] if policy.privacy else []
    if accepted:
        who = policy.about.controller or _UNNAMED
        yield Entry("What is accepted, and by whom", f"{', '.join(accepted)}; accepted by {who}", "policy")
    for advice in report.advice:
        cost = f" ({advice.cost})" if advice.cost else ""
        yield Entry("Recommended, and not done", sentence(f"{advice.because}: {advice.do}{cost}"), "audit")
    if report.advice:
        yield Entry("Answer to the recommendations", "", "you", "Which of them are followed, and why not the others?")
    yield Entry("Other measures", "", "you", "Contracts with recipients, access to input and trace, keys, training?")
    yield Entry("Remaining risk", "", "you", "Is it acceptable? If it is high, the authority must be consulted (Article 36).")


def _review() -> Iterator[Entry]:
    yield Entry("Advice of the data protection officer", "", "you", "What did the officer advise, and when?")
    yield Entry("Views of the persons", "", "you", "Were they or their representatives asked? What did they say?")
    yield Entry("Review", "", "you", "When is this looked at again? A new source, recipient or population calls for it.")
