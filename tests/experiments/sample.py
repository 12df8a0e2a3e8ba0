"""Generated rows in the shapes of the papers' data: Adult, INFORMS, five cities."""

from __future__ import annotations

import random
from pathlib import Path

from shoal.datasets import informs, weather
from tests.bench.adult import write as write_adult

ROWS = 120
_MEASURED = ((-30, 20), (10, 90), (990, 1030), (-20, 35), (1, 5), (0, 99))  # DEWP to Iws


def write(data: Path) -> Path:
    write_adult(data)
    _informs(data / "informs")
    _weather(data / "pm25")
    return data


def _informs(home: Path) -> None:
    draw = random.Random(1)
    _hierarchies(home, {name: 4 for name, span in informs.QUASI.items() if span is None})
    lines = [",".join(["DUPERSID", *informs.QUASI])]
    for number in range(ROWS):
        row = [
            str(draw.randint(int(span[0]), int(span[1]))) if span else str(draw.randint(1, 4))
            for span in informs.QUASI.values()
        ]
        if number % 20 == 0:
            row[-1] = "-9"
        lines.append(",".join([f"{number:08}", *row]))
    (home / "demographics05test.csv").write_text("\n".join(lines) + "\n")


def _weather(home: Path) -> None:
    draw = random.Random(2)
    _hierarchies(home, {"season": 4, "cbwd": 5})
    names = "No,season,PM_a,PM_b,PM_US Post,DEWP,HUMI,PRES,TEMP,cbwd,Iws,precipitation,Iprec"
    for city in weather.CITIES:
        lines = [names]
        for number in range(ROWS):
            posts = [str(draw.randint(1, 300)) if draw.random() < 0.8 else "NA" for _ in range(3)]
            rest = [*(draw.randint(*span) for span in _MEASURED), 0, 0]
            lines.append(",".join([str(number), str(draw.randint(1, 4)), *posts, *map(str, rest)]))
        (home / f"{city}PM20100101_20151231.csv").write_text("\n".join(lines) + "\n")


def _hierarchies(home: Path, leaves: dict[str, int]) -> None:
    (home / "hierarchies").mkdir(parents=True)
    for name, number in leaves.items():
        lines = [f"{leaf};{'low' if 2 * leaf <= number else 'high'};Any" for leaf in range(1, number + 1)]
        (home / "hierarchies" / f"{name}.csv").write_text("\n".join(lines) + "\n")
