"""The papers' experiments from the data to the report: each claim beside what was measured, and a verdict."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import NamedTuple

from shoal import InputError, extras
from shoal.datasets import known_files
from shoal.experiments import fast, idea, kvarp, overview, xband, zanon
from shoal.experiments.claim import FAILS, HOLDS, PARTLY, VERDICTS, Claim
from shoal.experiments.paper import FULL, Findings, Paper, Scale
from shoal.experiments.pool import OnProgress, draw_all, run_all
from shoal.experiments.runs import SEED, source
from shoal.provenance import Provenance, digests, provenance

_TITLE = "The papers, reproduced"
SOURCE = "Where the figures come from"
_RULES = (
    "Each verdict follows from the numbers by a rule. A claim about every setting holds if it is true in all settings, and "
    "partly if it is true in at least half of them; for a claim about most settings, these are half and a quarter. A range "
    "holds if all figures are in it, each end widened by half a percentage point, and partly if one figure or their mean "
    "is. A trend holds if every step goes in its direction, and partly if the last figure compared with the first does. A "
    "figure holds within a tolerance, and partly within three times the tolerance: one percentage point for differences of "
    "loss, three for shares of tuples; for probabilities 0.005 if the paper prints the value, 0.01 to 0.02 if it is read "
    "from a figure."
)
_QUICK = "This is a quick run, on a part of the data and with few settings: its verdicts are no verdicts on the papers."
_COLOURS = {HOLDS: "good", PARTLY: "open", FAILS: "bad"}
_STYLE = Path(__file__).with_name("report.css")


class Chapter(NamedTuple):
    """A paper, and what was found of it."""

    paper: Paper
    findings: Findings


def machine() -> str:
    """One line on what this was run on."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def write(folder: Path, chapters: Sequence[Chapter], scale: Scale, made: Provenance) -> None:
    """report.md, report.html and provenance.json."""
    (folder / "report.md").write_text(f"{markdown(chapters, scale)}\n## {SOURCE}\n\n{made.markdown()}\n", encoding="utf-8")
    rows = "".join(f"<tr><th>{escape(name)}<td>{escape(text)}</tr>" for name, text in made.lines())
    ending = f"<h2>{SOURCE}</h2><table>{rows}</table>\n</html>"
    (folder / "report.html").write_text(page(chapters, scale).replace("</html>", ending), encoding="utf-8")
    written = {**asdict(made), "data_sha256": made.data_sha256}
    (folder / "provenance.json").write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def tally(claims: Sequence[Claim]) -> str:
    """How many claims have which verdict.

    >>> tally([Claim("", "", "", HOLDS), Claim("", "", "", FAILS), Claim("", "", "", HOLDS)])
    '2 hold, 1 does not'
    """
    counts = Counter(claim.verdict for claim in claims)
    words = {HOLDS: ("holds", "hold"), PARTLY: ("partly", "partly"), FAILS: ("does not", "do not")}
    return ", ".join(f"{counts[verdict]} {words[verdict][counts[verdict] > 1]}" for verdict in VERDICTS if counts[verdict])


def markdown(chapters: Sequence[Chapter], scale: Scale) -> str:
    """The report as Markdown, whose pictures lie beside it."""
    contents = ["| | claims |", "|---|---|"]
    contents += [f"| [{paper.title}](#{_anchor(paper.title)}) | {tally(findings.claims)} |" for paper, findings in chapters]
    blocks = [f"# {_TITLE}", _opening(scale), _RULES, "\n".join(contents)]
    for paper, findings in chapters:
        notes = "\n".join(f"- {note}" for note in paper.notes)
        claims = ["| where | the claim | measured | verdict |", "|---|---|---|---|"]
        claims += [f"| {' | '.join(map(_cell, claim))} |" for claim in findings.claims]
        blocks += [f"## {paper.title}", f"{paper.reference}.", paper.setting, notes, findings.plainly, "\n".join(claims)]
        for figure in findings.figures:
            place = f"{paper.name}/{figure.name}"
            caption = f"{figure.title} ([numbers]({place}.csv)). {figure.note}".rstrip()
            blocks += [f"### {paper.title}: {_numbered(figure.name)}", caption, f"![{figure.title}]({place}.png)"]
    return "\n\n".join(filter(None, blocks)) + "\n"


def page(chapters: Sequence[Chapter], scale: Scale) -> str:
    """The same as a page."""
    parts = [f"<h1>{_TITLE}</h1>", f"<p>{_html(_opening(scale))}</p>", f"<p class=soft>{escape(_RULES)}</p>", "<ul>"]
    parts += [
        f"<li><a href='#{chapter.paper.name}'>{escape(chapter.paper.title)}</a>: {tally(chapter.findings.claims)}</li>"
        for chapter in chapters
    ]
    parts.append("</ul>")
    for paper, findings in chapters:
        parts += [
            f"<h2 id={paper.name}>{escape(paper.title)}</h2>",
            f"<p>{_html(paper.reference)}.</p>",
            f"<p>{_html(paper.setting)}</p>",
        ]
        parts += ["<ul class=soft>", *(f"<li>{_html(note)}</li>" for note in paper.notes), "</ul>"]
        parts += [f"<p>{_html(findings.plainly)}</p>"] if findings.plainly else []
        parts.append("<table><tr><th>where<th>the claim<th>measured<th>verdict</tr>")
        for claim in findings.claims:
            cells = "".join(f"<td>{_html(cell)}</td>" for cell in claim[:3])
            parts.append(f"<tr>{cells}<td class={_COLOURS[claim.verdict]}>{claim.verdict}</td></tr>")
        parts.append("</table>")
        for figure in findings.figures:
            place, title = f"{paper.name}/{figure.name}", escape(figure.title)
            links = f"<a href='{place}.csv'>numbers</a> · <a href='{place}.png'>png</a>"
            caption = f"{_numbered(figure.name)}. {title}. {_html(figure.note)} {links}"
            parts.append(f"<figure><img src='{place}.svg' alt='{title}'><figcaption>{caption}</figcaption></figure>")
    body, style = "\n".join(parts), _STYLE.read_text(encoding="utf-8")
    return f"<!doctype html><html lang=en><meta charset=utf-8><title>{_TITLE}</title><style>{style}</style>\n{body}\n</html>\n"


def _opening(scale: Scale) -> str:
    opening = f"Written by `shoal reproduce`, {machine()}. Times depend on the machine, all other figures do not."
    return opening if scale.name == "full" else f"{opening} **{_QUICK}**"


def _numbered(name: str) -> str:
    """A figure as the paper calls it.

    >>> _numbered("figure-c10"), _numbered("figure-5"), _numbered("figure")
    ('figure C.10', 'figure 5', 'figure')
    """
    return name.replace("-c", " C.").replace("-", " ")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _html(text: str) -> str:
    """Text with `code`, *emphasis* and **more of it**."""
    parts = escape(text).replace("**", "*").split("*")
    whole = "".join(part if i % 2 == 0 else f"<em>{part}</em>" for i, part in enumerate(parts))
    pieces = whole.split("`")
    return "".join(piece if i % 2 == 0 else f"<code>{piece}</code>" for i, piece in enumerate(pieces))


PAPERS: Mapping[str, Paper] = {each.PAPER.name: each.PAPER for each in (kvarp, idea, xband, fast, zanon, overview)}
KEPT = "runs"


def reproduce(
    names: Sequence[str],
    data: Path,
    out: Path,
    *,
    scale: Scale = FULL,
    workers: int | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> list[Chapter]:
    """Run what is asked for, and write figures, numbers and a report into a folder.

    Outcomes are kept in its folder `runs`, by settings, code and data: a run that was interrupted goes on. Raises InputError if
    matplotlib is not installed, a paper is unknown, a data file is missing, or the folder cannot be written.
    """
    extras.require_plots()
    papers = [_paper(name) for name in dict.fromkeys(names)]
    for name in dict.fromkeys(name for paper in papers for name in paper.sources):
        source(data, name)
    try:
        out.mkdir(parents=True, exist_ok=True)
        jobs = [job for paper in papers for job in paper.jobs(scale)]
        results = run_all(jobs, data, out / KEPT, workers, on_progress)
        chapters = [Chapter(paper, paper.findings(scale, results)) for paper in papers]
        drawn = [(figure, out / paper.name) for paper, findings in chapters for figure in findings.figures]
        seeds = sorted({job.settings.get("seed", SEED) for job in jobs})
        from_files = digests(known_files(data)) if any(paper.sources for paper in papers) else {}
        made = provenance(machine(), seeds, from_files)
        draw_all(drawn, made.short_columns(), workers, on_progress)
        write(out, chapters, scale, made)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({(error.strerror or 'no access').lower()})") from None
    return chapters


def _paper(name: str) -> Paper:
    if name not in PAPERS:
        raise InputError(f"paper {name!r} is none; known are {', '.join(PAPERS)}, and all")
    return PAPERS[name]
