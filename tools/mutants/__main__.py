"""The command line."""

from __future__ import annotations

import argparse
import json
import shlex

import tools.mutants
from tools.mutants.defect import Misplaced, chosen, defects
from tools.mutants.tree import PLACE, Tree
from tools.mutants.trial import CAUGHT, UNFIT, Outcome, sound, tried

RESULTS, TABLE = PLACE / "results.json", PLACE / "results.md"


def main() -> None:
    command = argparse.ArgumentParser(
        "python -m tools.mutants", description=tools.mutants.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("names", nargs="*", metavar="NAME", help="defects or areas; all without")
    command.add_argument("--tests", help="what pytest is given first instead of the hints")
    command.add_argument("--hinted", action="store_true", help="do not go on to all tests")
    given = command.parse_args()
    tree, caught, bad = Tree(), [], []
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for defect in chosen(given.names):
        hint = shlex.split(given.tests) if given.tests else defect.hint
        try:
            outcome = tried(tree, defect, hint, given.hinted)
        except Misplaced as error:
            outcome = Outcome(UNFIT, str(error), 0.0)
        print(f"{outcome.verdict:7}{defect.name:42}{outcome.seconds:5.0f} s  {outcome.by}", flush=True)
        caught += [outcome.by] if outcome.verdict == CAUGHT and "::" in outcome.by else []
        bad += [defect.name] if outcome.verdict != CAUGHT and not defect.missed else []
        known[defect.name] = outcome
        RESULTS.write_text(json.dumps(known, indent=1))
        TABLE.write_text(table(known))
    if caught and (broken := sound(tree, list(dict.fromkeys(caught)))):
        raise SystemExit(f"{broken} fails without any defect: what it caught is not known")
    print(f"\n{TABLE} has the table; the tests that noticed pass without a defect")
    if bad:
        raise SystemExit(f"not caught: {', '.join(bad)}")


def table(known: dict[str, Outcome]) -> str:
    """What is known of all defects, as Markdown."""
    lines = ["| area | defect | outcome | by | s |", "|---|---|---|---|--:|"]
    for defect in defects():
        verdict, by, seconds = known.get(defect.name, ("not tried", "", 0.0))
        noticed = f"`{by.replace('|', '·')}`" if by else ""
        lines.append(f"| {defect.area} | {defect.wrong.replace('|', '·')} | {verdict} | {noticed} | {seconds:.0f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
