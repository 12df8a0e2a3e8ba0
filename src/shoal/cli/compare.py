"""`shoal compare`: algorithms on the same data, with the same k and the same longest wait."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.failure import reported
from shoal.errors import InputError

EXAMPLES = """
\b
Examples:
  shoal compare wearables --algorithms tide,fads --out comparison
  shoal compare adult-3 beijing --k 10,50 --wait 500,2000 --out comparison
  shoal compare adult --algorithms tide,xband:band=10 --orders shuffled
  shoal compare --policy policy.yaml --input people.csv --wait 30s

\b
Data:
  wearables  generated; persons return; needs no file
  adult, informs, beijing, chengdu, guangzhou, shanghai, shenyang
             from the folder of the data; the cities have the gaps of their files;
             adult-3: up to three values are removed from each tuple
  conditions, nafld, star
             from the folder of the data; persons return, and values are missing
"""


@reported()
def compare(
    names: Annotated[list[str] | None, typer.Argument(help="Data sets. Default: wearables.", metavar="DATA")] = None,
    out: Annotated[str, typer.Option(help="The folder for tables, plots and the page.", metavar="DIR")] = "comparison",
    algorithms: Annotated[
        str | None,
        typer.Option(
            help="Names, separated by commas: NAME or NAME:KEY=VALUE. Default: all.", metavar="LIST", show_default=False
        ),
    ] = None,
    k: Annotated[str, typer.Option("--k", help="One k or several, separated by commas.", metavar="LIST")] = "10,50",
    wait: Annotated[
        str, typer.Option(help="The longest wait: arrivals, or a duration if the policy has a time window.", metavar="LIST")
    ] = "1000",
    nulls: Annotated[str, typer.Option(help="Readings of nulls: blurred, extended, root, maybe.", metavar="LIST")] = "blurred",
    orders: Annotated[
        str, typer.Option(help="The order of the rows; docs/comparing.md has a list.", metavar="LIST")
    ] = "as it comes",
    seeds: Annotated[int, typer.Option(help="The number of repetitions; each has its own seed.", min=1, metavar="N")] = 8,
    tuples: Annotated[int, typer.Option(help="The number of tuples of each repetition.", min=1, metavar="N")] = 6000,
    against: Annotated[
        str | None,
        typer.Option(help="Test the others against this algorithm. Default: the first.", metavar="NAME", show_default=False),
    ] = None,
    leaderboard: Annotated[
        str | None, typer.Option(help="Also add the rows to this page.", metavar="FILE", show_default=False)
    ] = None,
    policy: Annotated[str | None, typer.Option(help="The policy of your own file.", metavar="FILE", show_default=False)] = None,
    input: Annotated[str | None, typer.Option(help="Your own file.", metavar="FILE", show_default=False)] = None,
    data: Annotated[
        str | None, typer.Option(help="The folder of the data sets; default: SHOAL_DATA.", metavar="DIR", show_default=False)
    ] = None,
) -> None:
    """Compare algorithms: loss, query errors, accuracy of a model, waits, attacks, speed.

    All get the same longest wait. Each figure has a confidence interval over seeds. See docs/comparing.md.
    """
    from shoal import bench
    from shoal.cli.options import seconds
    from shoal.cli.startup import use_pool
    from shoal.cli.terminal import errors, output, progress_bar, say, show_table
    from shoal.datasets import adult

    use_pool()
    if (policy is None) != (input is None):
        raise InputError("--policy and --input belong together; give both, or none")
    home = adult.home_of_data(data)
    asked = names or ([] if policy else ["wearables"])
    subjects = bench.subjects(asked, home)
    if policy and input:
        subjects.append(bench.of_policy(policy, input))
    if len({subject.is_timed for subject in subjects}) > 1:
        raise InputError("--policy: its window counts seconds, and that of the data sets arrivals; compare them one by one")
    timed = any(subject.is_timed for subject in subjects)
    plan = bench.Plan(
        subjects=subjects,
        variants=bench.contenders(_list(algorithms) if algorithms else None),
        ks=[_whole("--k", each) for each in _list(k)],
        waits=[seconds("--wait", each) if timed else _whole("--wait", each) for each in _list(wait)],
        nulls=_list(nulls),
        orders=_list(orders),
        seeds=range(seeds),
        tuples=tuples,
        against=against or "",
    )
    with progress_bar(errors()) as on_progress:
        comparison = bench.compare(plan, on_progress)
    show_table(output(), bench.short_table(comparison))
    for path in bench.write_comparison(comparison, out):
        say(errors(), f"wrote {path}")
    if leaderboard:
        bench.add_rows(leaderboard, comparison)
        say(errors(), f"wrote {leaderboard}")


def _list(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _whole(option: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise InputError(f"{option}: is not a whole number of at least 2; write it like 10, or 10,50")
    return int(text)
