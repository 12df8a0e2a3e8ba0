"""A pipeline for minutes: does it grow?

    python benchmarks/soak.py --minutes 10 --rate 2000

Records are appended to a file which `shoal pipe` follows; now and then its resident memory and open files are looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

POLICY = """
person: pid
time: {field: t}
attributes: {age: {quasi: numeric, range: [0, 100], grid: 5}, pulse: {quasi: numeric, range: [30, 220], grid: 5},
  note: {sensitive: true}}
privacy: {k: 10}
window: {time: 2s}
"""
PIPELINE = """
policy: policy.yaml
source: {file: {path: raw.jsonl, follow: true}}
sink: {file: {path: clean.jsonl}}
state: {dir: state, checkpoint: 5s, key: {env: SHOAL_KEY}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=int, default=2000, help="records a second")
    asked = parser.parse_args()
    with TemporaryDirectory(prefix="shoal-soak-") as folder:
        soak(Path(folder), asked.minutes * 60, asked.rate)


def soak(home: Path, seconds: float, rate: int) -> None:
    (home / "policy.yaml").write_text(POLICY)
    (home / "pipeline.yaml").write_text(PIPELINE)
    (home / "raw.jsonl").touch()
    environment = {**os.environ, "SHOAL_KEY": os.urandom(32).hex()}
    process = subprocess.Popen([sys.executable, "-m", "shoal.cli", "pipe", "pipeline.yaml"], cwd=home, env=environment)
    chance, start, written, looked = random.Random(1), time.monotonic(), 0, 0.0
    print(f"{'minute':>7} {'records':>10} {'left':>10} {'memory, MB':>11} {'files':>6} {'state, kB':>10}")
    try:
        with (home / "raw.jsonl").open("a") as raw:
            while (passed := time.monotonic() - start) < seconds and process.poll() is None:
                due, now = int(passed * rate), time.time()
                raw.write("".join(json.dumps(_record(chance, i, now)) + "\n" for i in range(written, due)))
                raw.flush()
                written = due
                if passed >= looked:
                    looked += max(seconds / 20, 1)
                    print(f"{passed / 60:7.1f} {written:10,} {_seen(home, process.pid)}", flush=True)
                time.sleep(0.02)
    finally:
        process.terminate()
        process.wait(10)


def _record(chance: random.Random, number: int, now: float) -> dict[str, object]:
    pulse = chance.choice([None, chance.randrange(30, 220)])
    return {"pid": chance.randrange(5000), "t": now, "age": chance.randrange(100), "pulse": pulse, "note": f"n{number % 50}"}


def _seen(home: Path, pid: int) -> str:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    files = len(os.listdir(f"/proc/{pid}/fd"))
    clean = home / "clean.jsonl"
    left = clean.read_bytes().count(b"\n") if clean.exists() else 0
    state = sum(path.stat().st_size for path in (home / "state").glob("*"))
    return f"{left:10,} {memory / 1024:11.0f} {files:6} {state / 1000:10.0f}"


if __name__ == "__main__":
    main()
