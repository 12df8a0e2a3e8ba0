"""Writes the inputs of the three situations on the page "What can I promise?": generated, the same every time.

python -m tools.situations FOLDER
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

MONTH = datetime(2025, 3, 1, tzinfo=UTC)
MORNING = datetime(2025, 3, 3, 7, 0, tzinfo=UTC)

DIAGNOSES = {"hypertension": 30, "diabetes": 18, "asthma": 14, "back pain": 14, "depression": 12, "migraine": 8, "angina": 4}
STATIONS = {
    "Centre": ("Harbour", "Market", "Cathedral", "Museum"),
    "North": ("Airfield", "Hillside", "Quarry"),
    "South": ("Stadium", "Meadow", "Brewery"),
}
TICKETS = {"single": 40, "day": 20, "month": 30, "student": 10}
SITES = {
    "news": ("paper", "tabloid", "weather", "sports"),
    "health": ("clinic", "pharmacy", "symptoms"),
    "shops": ("books", "shoes", "garden", "toys"),
}


def clinic(random: Random) -> Iterator[dict[str, object]]:
    """Visits to a hospital in March: 3,000 of up to 2,000 patients, one every 15 minutes or so."""
    patients = [(random.randint(18, 95), random.choice("fm"), f"{random.choice((10, 11, 12))}{random.randint(0, 99):02d}",
                 random.choices(list(DIAGNOSES), list(DIAGNOSES.values()))[0]) for _ in range(2000)]  # fmt: skip
    for visit in range(3000):
        number = random.randrange(len(patients))
        age, sex, postcode, diagnosis = patients[number]
        seen = (MONTH + timedelta(minutes=14.4 * visit)).date()
        yield {"patient": f"P{number:04d}", "seen": seen, "age": age if random.random() > 0.03 else "", "sex": sex,
               "postcode": postcode, "diagnosis": diagnosis}  # fmt: skip


def rides(random: Random) -> Iterator[dict[str, object]]:
    """Cards at the gates of an underground, on a Monday morning: 12,000 taps in ten minutes."""
    stations = [station for zone in STATIONS.values() for station in zone]
    cards = [random.choices(list(TICKETS), list(TICKETS.values()))[0] for _ in range(9000)]
    seconds = 0.0
    for _ in range(12000):
        seconds += random.expovariate(20)
        number = random.randrange(len(cards))
        at = (MORNING + timedelta(seconds=seconds)).isoformat(timespec="seconds")
        yield {"card": f"C{number:05d}", "at": at, "station": random.choice(stations), "ticket": cards[number],
               "minutes": round(random.lognormvariate(2.6, 0.5))}  # fmt: skip


def visits(random: Random) -> Iterator[dict[str, object]]:
    """Pages that the users of a guest network open, in three hours: 9,000 of 600 users."""
    sites = [site for group in SITES.values() for site in group]
    liked = [random.sample(sites, 3) for _ in range(600)]
    for number in range(9000):
        user = random.randrange(len(liked))
        site = random.choice(liked[user]) if random.random() < 0.9 else f"blog{random.randrange(400)}"
        yield {
            "user": f"U{user:03d}",
            "t": (MORNING + timedelta(seconds=1.2 * number)).isoformat(timespec="seconds"),
            "site": site,
        }


def write(folder: Path) -> None:
    for number, situation in enumerate((clinic, rides, visits)):
        rows = list(situation(Random(number)))
        with (folder / f"{situation.__name__}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
