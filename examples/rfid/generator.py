"""A minute and a half in a shop with RFID tags, the same for the same seed.

    python examples/rfid/generator.py shop

writes shop/shelves.csv, shop/door.csv and shop/till.csv. Thirty things stand in three zones; some are bought and leave by the door, two leave without.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pandas

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECONDS = 90
ZONES = ("shoes", "shirts", "hats")
TAGS = tuple(f"tag{number:02}" for number in range(30))
BOUGHT = {"tag03": 25, "tag11": 40, "tag20": 55, "tag27": 62}
"""When each leaves, in seconds; it was paid for some seconds before."""
STOLEN = {"tag08": 33, "tag16": 58}


def rows(seed: int = 1) -> dict[str, list[dict[str, Any]]]:
    """The rows of each input, in order of time."""
    random = Random(seed)
    leaves = {**BOUGHT, **STOLEN}
    shelves, door, till = [], [], []
    for number, tag in enumerate(TAGS):
        home = ZONES[number % len(ZONES)]
        # Taken from its shelf a while before it leaves.
        for second in range(number % 4, leaves.get(tag, SECONDS + 15) - 15, 4):
            shelves.append(_read(second, tag, home, random.randint(-50, -30), random))
            if random.random() < 0.3:
                shelves.append(_read(second, tag, ZONES[(number + 1) % len(ZONES)], random.randint(-80, -65), random))
    for tag, second in leaves.items():
        door += [_read(second + random.random(), tag, "door", random.randint(-55, -35), random) for _ in range(6)]
    # Things near the door are heard there too, faintly.
    door += [_read(second, "tag02", "door", random.randint(-85, -70), random) for second in range(0, SECONDS, 3)]
    for tag, second in BOUGHT.items():
        till.append({"ts": NOON + timedelta(seconds=second - random.randint(5, 12)), "tag": tag})
    return {
        name: sorted(given, key=lambda row: row["ts"])
        for name, given in zip(("shelves", "door", "till"), (shelves, door, till), strict=True)
    }


def _read(second: float, tag: str, zone: str, rssi: int, random: Random) -> dict[str, Any]:
    at = timedelta(milliseconds=int(1000 * second) + random.randrange(500))
    return {"ts": NOON + at, "tag": tag, "zone": zone, "rssi": rssi}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write reads of RFID tags, and payments, as CSV files.")
    parser.add_argument("folder", type=Path, help="where shelves.csv, door.csv and till.csv are written")
    parser.add_argument("--seed", type=int, default=1, help="another gives other reads; default %(default)s")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, found in rows(given.seed).items():
        pandas.DataFrame(found).to_csv(given.folder / f"{name}.csv", index=False)
