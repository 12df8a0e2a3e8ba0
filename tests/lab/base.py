"""A file to look at, and a lab on it."""

from __future__ import annotations

import random
from pathlib import Path

PLACES = {"France": ["Paris", "Lyon"], "Norway": ["Oslo", "Bergen"]}


def people(folder: Path, rows: int = 600) -> Path:
    """Persons, one of whom comes back now and then."""
    draw = random.Random(1)
    cities = [city for cities in PLACES.values() for city in cities]
    persons = [f"p{draw.randrange(4 * rows):06},{draw.randrange(20, 70)},{draw.choice(cities)}" for _ in range(rows)]
    lines = [f"{person},{draw.choice(['flu', 'cold', 'asthma'])}\n" for person in persons]
    path = folder / "people.csv"
    path.write_text("pid,age,city,disease\n" + "".join(lines))
    return path


def visits(folder: Path, rows: int = 4000) -> Path:
    """Who visited what, within three hours."""
    draw = random.Random(2)
    times = sorted(draw.uniform(0, 10_800) for _ in range(rows))
    path = folder / "visits.csv"
    lines = [f"u{draw.randrange(200)},{time:.1f},s{min(int(draw.expovariate(0.5)), 15)}\n" for time in times]
    path.write_text("user,t,site\n" + "".join(lines))
    return path


def returning(folder: Path) -> Path:
    """Two hundred persons who come back ten times each, always with the same illness."""
    draw = random.Random(5)
    ills = ["flu", "cold", "gout", "acne", "mumps", "none"]
    persons = [(f"p{n:03}", draw.randrange(20, 70), draw.choice("nsew"), draw.choice(ills)) for n in range(200)]
    lines = [f"{pid},{age},{place},{ill}\n" for _ in range(10) for pid, age, place, ill in draw.sample(persons, 200)]
    path = folder / "visits.csv"
    path.write_text("pid,age,place,illness\n" + "".join(lines))
    return path
