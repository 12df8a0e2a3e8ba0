"""The report as one page that needs nothing else: no script, no picture or font from elsewhere."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from shoal.audit.page import assault, exposure, ground, use, verdict
from shoal.audit.page.element import Markup, tag

if TYPE_CHECKING:
    from shoal.audit.report import Report

_CONTENTS = {
    "promises": "Promises",
    "nulls": "Nulls",
    "risk": "Risk",
    "sensitive": "Sensitive values",
    "attacks": "Attacks",
    "utility": "Loss and waiting",
    "answers": "Answers",
    "method": "Method",
    "limits": "Not protected",
    "policy": "Policy",
}


def html(report: Report) -> str:
    """The page."""
    style = files("shoal.audit.page").joinpath("style.css").read_text("utf-8")
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">'),
        tag("title", f"Audit: {'every promise held' if report.held else 'a promise was broken'}"),
        Markup(f"<style>{style}</style>"),
    )
    links = (tag("li", tag("a", name, href=f"#{place}")) for place, name in _CONTENTS.items())
    body = tag(
        "body",
        tag(
            "header",
            tag("h1", "Audit of an anonymized stream"),
            verdict.banner(report),
            verdict.facts(report),
            tag("nav", tag("ul", *links), aria_label="Contents"),
        ),
        tag(
            "main",
            verdict.promises(report),
            exposure.nulls(report),
            exposure.risk(report),
            exposure.sensitive(report),
            assault.attacks(report),
            use.utility(report),
            use.answers(report),
            ground.method(report),
            ground.limits(),
            ground.policy(report),
        ),
        ground.versions(),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def framed(report: Report) -> str:
    """The page in a frame of its own, for a notebook, whose style it must not touch."""
    return f'<iframe srcdoc="{escape(html(report))}" title="Audit" style="width:100%;height:40rem;border:0"></iframe>'
