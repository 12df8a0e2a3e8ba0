"""The report as one page that needs nothing else: no script, no picture or font from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from shoal.audit.page import assessment, document, exposure, outsider, policy, transactions, utility, verdict
from shoal.audit.page.element import Markup, tag

if TYPE_CHECKING:
    from shoal.audit.report import FilterReport, Report, WindowReport

_TITLE = "Audit of an anonymized stream"  # also in the style, for print
_CONTENTS = {
    "summary": "In plain words",
    "advice": "Recommendations",
    "judged": "What was judged",
    "accepted": "Accepted",
    "promises": "1. Promises",
    "outsider": "2. An outsider",
    "utility": "3. The data",
    "answers": "Answers",
    "nulls": "Nulls",
    "risk": "Risk",
    "sensitive": "Sensitive values",
    "attacks": "Attacks",
    "method": "Method",
    "limits": "Not protected",
    "policy": "Policy",
    "sign": "Sign-off",
}


def windowed(report: WindowReport) -> str:
    """The page on an algorithm that holds a window."""
    return _page(
        report,
        verdict.facts(report),
        _CONTENTS,
        document.summary(report),
        document.recommended(report),
        document.judged(report),
        document.accepted(report),
        verdict.promises(report),
        outsider.outsider(report),
        utility.utility(report),
        utility.answers(report),
        exposure.nulls(report),
        exposure.risk(report),
        exposure.sensitive(report),
        exposure.attacks(report),
        verdict.method(report.rows, verdict.HOW[report.unit == "persons"], verdict.FIGURES),
        verdict.limits(report.limits),
        policy.policy(report),
        document.sign_off(report),
    )


def filtered(report: FilterReport) -> str:
    """The page on z-anonymity."""
    return _page(
        report,
        transactions.facts(report),
        transactions.CONTENTS,
        document.summary(report),
        document.judged(report),
        verdict.promises(report),
        transactions.users(report),
        transactions.crowds(report),
        transactions.attacks(report),
        verdict.method(report.rows, transactions.HOW[report.traced]),
        verdict.limits(report.limits),
        transactions.policy(report),
        document.sign_off(report),
    )


def assessed(report: Report) -> str:
    """The page of an impact assessment."""
    parts = report.assessment
    contents = {part.key: part.title for part in parts} | {"sign": "Sign-off"}
    sections = [*map(assessment.part, parts), assessment.sign_off(report)]
    return _page(report, assessment.INTRODUCTION, contents, *sections, title=assessment.TITLE)


def _page(report: Report, facts: Markup, contents: Mapping[str, str], *sections: Markup, title: str = _TITLE) -> str:
    style = files("shoal.audit.page").joinpath("style.css").read_text("utf-8")
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"),
        tag("title", f"{'Audit' if title == _TITLE else title}: {report.headline.colour}"),
        Markup(f"<style>{style.replace(_TITLE, title)}</style>"),
    )
    links = (tag("li", tag("a", name, href=f"#{place}")) for place, name in contents.items())
    header = tag(
        "header",
        tag("h1", title),
        verdict.banner(report, "What is not protected" if title == _TITLE else "c) Risks for the persons"),
        facts,
        tag("nav", tag("ul", *links), aria_label="Contents"),
    )
    body = tag("body", header, tag("main", *sections), *verdict.versions(report))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def framed(page: str) -> str:
    """A page in a frame of its own, for a notebook, whose style it must not touch."""
    return f'<iframe srcdoc="{escape(page)}" title="Audit" style="width:100%;height:40rem;border:0"></iframe>'
