"""Three minutes of readings from two floors, the same ones for the same seed.

    python examples/building/generator.py house

writes house/ground.csv and house/upper.csv. In the kitchen, below, there is a fire from the second minute on; in the archive, above, one sensor for smoke
is broken. The office, above, is too warm, and so is the attic, where nobody is.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pandas

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECONDS = 180
ROOMS = {"ground": ("hall", "kitchen"), "upper": ("office", "archive", "attic")}
WARM = {"office": 28.0, "attic": 31.0}
PEOPLE = ("hall", "kitchen", "office")
FIRE, FIRE_AT = "kitchen", 70
BROKEN = "archive smoke 1"


def readings(seed: int = 1) -> dict[str, list[dict[str, Any]]]:
    """The rows of each floor, in order of time."""
    random = Random(seed)
    return {floor: [row for second in range(SECONDS) for row in _second(floor, second, random)] for floor in ROOMS}


def _second(floor: str, second: int, random: Random) -> list[dict[str, Any]]:
    told = []
    for room in ROOMS[floor]:
        if second % 5 == 0:
            told.append((f"{room} celsius", room, "celsius", WARM.get(room, 21.0) + random.gauss(0, 0.3)))
        if second % 2 == 0:
            for number in (1, 2):
                sensor = f"{room} smoke {number}"
                burns = (room == FIRE and second >= FIRE_AT + 2 * number) or (sensor == BROKEN and second % 3 == 0)
                told.append((sensor, room, "smoke", random.uniform(0.6, 0.9) if burns else random.uniform(0.0, 0.2)))
        if room in PEOPLE and random.random() < 0.2:
            told.append((f"{room} motion", room, "motion", 1.0))
    return [
        {
            "ts": NOON + timedelta(seconds=second, milliseconds=10 * number),
            "sensor": sensor,
            "room": room,
            "kind": kind,
            "value": round(value, 2),
        }
        for number, (sensor, room, kind, value) in enumerate(told)
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write readings of a building's sensors as CSV files.")
    parser.add_argument("folder", type=Path, help="where ground.csv and upper.csv are written")
    parser.add_argument("--seed", type=int, default=1, help="another gives other readings; default %(default)s")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, found in readings(given.seed).items():
        pandas.DataFrame(found).to_csv(given.folder / f"{name}.csv", index=False)
