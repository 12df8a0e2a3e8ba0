"""The report as one page that needs nothing else: no script, no picture or font from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from shoal.audit.page import exposure, outsider, policy, transactions, utility, verdict
from shoal.audit.page.element import Markup, tag

if TYPE_CHECKING:
    from shoal.audit.report import FilterReport, Report, WindowReport

_CONTENTS = {
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
}


def windowed(report: WindowReport) -> str:
    """The page on an algorithm that holds a window."""
    return _page(
        report,
        verdict.facts(report),
        _CONTENTS,
        verdict.promises(report),
        outsider.outsider(report),
        utility.utility(report),
        utility.answers(report),
        exposure.nulls(report),
        exposure.risk(report),
        exposure.sensitive(report),
        exposure.attacks(report),
        verdict.method(report.rows, verdict.HOW[report.unit == "persons"], verdict.FIGURES),
        verdict.limits(verdict.open_to(report.policy)),
        policy.policy(report),
    )


def filtered(report: FilterReport) -> str:
    """The page on z-anonymity."""
    return _page(
        report,
        transactions.facts(report),
        transactions.CONTENTS,
        verdict.promises(report),
        transactions.users(report),
        transactions.crowds(report),
        transactions.attacks(report),
        verdict.method(report.rows, transactions.HOW[report.traced]),
        verdict.limits(transactions.LIMITS),
        transactions.policy(report),
    )


def _page(report: Report, facts: Markup, contents: Mapping[str, str], *sections: Markup) -> str:
    style = files("shoal.audit.page").joinpath("style.css").read_text("utf-8")
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"),
        tag("title", f"Audit: {report.headline.colour}"),
        Markup(f"<style>{style}</style>"),
    )
    links = (tag("li", tag("a", name, href=f"#{place}")) for place, name in contents.items())
    header = tag(
        "header",
        tag("h1", "Audit of an anonymized stream"),
        verdict.banner(report),
        facts,
        tag("nav", tag("ul", *links), aria_label="Contents"),
    )
    body = tag("body", header, tag("main", *sections), verdict.versions())
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def framed(page: str) -> str:
    """A page in a frame of its own, for a notebook, whose style it must not touch."""
    return f'<iframe srcdoc="{escape(page)}" title="Audit" style="width:100%;height:40rem;border:0"></iframe>'
