"""What was checked and how, and by which versions."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from shoal.audit.page.element import Markup, section, tag
from shoal.audit.page.number import count, plural

if TYPE_CHECKING:
    from shoal.audit.report import WindowReport


def method(report: WindowReport) -> Markup:
    """What was checked and how."""
    traced = report.unit == "persons"
    rows = report.rows
    how = (
        "The trace tells which record is behind each row, so that every value was compared with what is published, and every "
        "group was counted in persons at the moment it left."
        if traced
        else "There was no trace. Rows cannot be linked with records, so that only what an outsider sees was judged: classes "
        "of equal rows, names and forms of fields, numbers of records and of values."
    )
    return section(
        "method",
        "What was checked, and how",
        tag(
            "p",
            f"The input ({plural(rows['input'], 'record')}, {count(rows['accepted'])} of them accepted), the output "
            f"({plural(rows['output'], 'row')}) and the policy were read by code that shares nothing with the code that "
            f"anonymized them. {how}",
        ),
        tag(
            "p",
            "A promise is broken if one row breaks it. Figures of risk and utility count all rows, unless it is said that they "
            "look at some; attacks look at targets drawn at random, the same every time. Rows count from 0, without a header.",
        ),
    )


def versions() -> Markup:
    """What made this report, and when."""
    found = [f"{name} {_version(name)}" for name in ("shoal", "numpy", "pyarrow")]
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return tag("footer", tag("p", f"Made {made} by {', '.join(found)}, Python {platform.python_version()}."))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "of unknown version"
