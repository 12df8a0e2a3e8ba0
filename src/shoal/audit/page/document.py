"""What makes the report a document to sign: what was judged, for what purpose, answers in words, advice, the signature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.audit.page.element import Markup, Part, count, percent, section, sentence, table, tag

if TYPE_CHECKING:
    from shoal.audit.advice import Advice
    from shoal.audit.report import Report, WindowReport

QUESTIONS = ("Were the promises of the policy kept?", "What can an outsider still do?", "What is left of the data?")
_NOT_SAID = "not said in the policy (about)"


def summary(report: Report) -> Markup:
    """The three questions, answered in words that can be copied."""
    pairs = zip(QUESTIONS, report.answers, strict=True)
    parts = [join for name, text in pairs for join in (tag("dt", name), tag("dd", text))]
    return section("summary", "In plain words", tag("dl", *parts, class_="answers"))


def judged(report: Report) -> Markup:
    """The files with their digests, who judged them, and what for."""
    about, made = report.policy.about, report.record
    rows: list[tuple[Part, Part]] = [
        ("purpose", about.purpose or _NOT_SAID),
        ("recipients", ", ".join(about.recipients) or _NOT_SAID),
        ("controller", about.controller or _NOT_SAID),
        ("contact", about.contact or _NOT_SAID),
    ]
    if made:
        rows.append(("audited", f"{made.made.replace('T', ' ').removesuffix('Z')} UTC by {made.by}"))
        rows.append(("with", ", ".join(f"{name} {version}" for name, version in made.versions.items())))
    parts: list[Part] = [table("Purpose and responsibility", ("", ""), rows, numbers=9)]
    if made:
        files = [
            (each.role, each.name, "" if each.bytes is None else count(each.bytes), tag("code", each.sha256 or ""))
            for each in made.files
        ]
        parts.append(table("The files", ("file", "name", "bytes", "SHA-256"), files, numbers=9))
    return section("judged", "What was judged", *parts)


def accepted(report: WindowReport) -> Markup:
    """What the policy accepts, and who answers for it."""
    policy, who = report.policy, report.policy.about.controller or "the owner of the policy, who is not named in it"
    rows: list[tuple[Part, ...]] = []
    for name, share in policy.privacy.accept.items():
        tried = [each for each in report.exposures if each.name == name and each.success is not None]
        found = "; ".join(
            f"{each.of}: {percent(each.success or 0)}" if each.of else percent(each.success or 0) for each in tried
        )
        worse = any(each.fails for each in tried)
        rows.append((name, f"up to {percent(share)}", f"{'✕ ' if worse else ''}{found or 'not tried'}"))
    for name, reason in policy.reasons.items():
        if reason:
            rows.append((name, "published as it is", f"because: {reason}"))
    if not rows:
        text = "The policy accepts no attack above its bound. Each attack is compared with chance."
        return section("accepted", "What is accepted, and by whom", tag("p", text))
    return section(
        "accepted",
        "What is accepted, and by whom",
        tag("p", f"Accepted by {who}."),
        table("Accepted in the policy", ("what", "accepted", "found"), rows, numbers=9),
    )


def recommended(report: Report) -> Markup:
    """What the numbers recommend."""
    if not report.advice:
        return section("advice", "Recommendations", tag("p", "The numbers call for no change of the policy."))
    parts: list[Part] = [tag("ol", *map(_advice, report.advice), class_="advice")]
    if any(each.is_priced for each in report.advice) and not report.prices:
        parts.append(tag("p", "What a change costs was not measured; shoal audit --price measures it.", class_="note"))
    return section("advice", "Recommendations", *parts)


def _advice(each: Advice) -> Markup:
    return tag(
        "li",
        sentence(each.because).removesuffix("."), ": ", tag("b", each.do), ". ",
        tag("span", sentence(each.cost), class_="note"),
    )  # fmt: skip


def sign_off(report: Report, noun: str = "report", files: str = "What was judged") -> Markup:
    """Lines for the signatures; `files` is the section that names the files."""
    roles = ("Carried out the audit", "Data protection officer", "Controller")
    names = (report.record.by if report.record else "", "", report.policy.about.controller or "")
    rows = [
        (role, tag("span", name), tag("span", "", class_="line"), tag("span", "", class_="line"))
        for role, name in zip(roles, names, strict=True)
    ]
    text = (
        f"With their signatures those below confirm that they read this {noun}, that the files named under “{files}” "
        "are the ones concerned, and that the remaining risks are acceptable for the stated purpose and recipients."
    )
    head = ("role", "name", "date", "signature")
    return section("sign", "Sign-off", tag("p", text), table("Signatures", head, rows, numbers=9))
