"""A plan as a picture: k-anonymity and what is kept, against z, a curve for each Δt."""

from __future__ import annotations

from shoal.cli.figures import count, span
from shoal.errors import InputError
from shoal.model import Plan

SUFFIXES = (".png", ".svg")
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#555555")
_FONT = {"font.size": 11, "axes.titlesize": 11.5, "axes.spines.top": False, "axes.spines.right": False}


def check(path: str) -> None:
    """Refuse in time what could not be drawn."""
    if not path.lower().endswith(SUFFIXES):
        raise InputError(f"{path}: unknown kind of picture; its name must end in {' or '.join(SUFFIXES)}")


def draw(plan: Plan, path: str) -> None:
    """Write the picture."""
    check(path)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with matplotlib.rc_context(_FONT):  # type: ignore[arg-type]
        figure, (anonymous, kept) = pyplot.subplots(1, 2, figsize=(12, 4.6), layout="constrained", sharex=True)
        try:
            for i, window in enumerate(plan.windows):
                colour = _COLOURS[i % len(_COLOURS)]
                z = [row.z for row in window.rows]
                label = f"Δt {span(window.window)}, {count(window.users)} users"
                anonymous.plot(z, [row.probability for row in window.rows], color=colour, label=label)
                anonymous.plot(z, [row.measured for row in window.rows], color=colour, linestyle=":")
                anonymous.plot(window.best.z, window.best.measured, "o", color=colour)
                kept.plot(z, [row.information for row in window.rows], color=colour)
                kept.plot(z, [row.kept for row in window.rows], color=colour, linestyle=":")
            anonymous.axhline(plan.confidence, color="#999999", linewidth=0.8)
            anonymous.set_title(f"users who are {plan.k}-anonymous: model, and sample (dotted)", loc="left")
            kept.set_title("what is kept: entropy, and observations (dotted)", loc="left")
            for axes in (anonymous, kept):
                axes.set_xscale("log")
                axes.set_xlabel("z")
                axes.grid(alpha=0.3)
            figure.legend(loc="outside lower center", ncols=4, frameon=False)
            figure.savefig(path, dpi=130)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({(error.strerror or 'no access').lower()})") from None
        finally:
            pyplot.close(figure)
