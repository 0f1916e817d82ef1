"""Cars on two expressways, the same ones for the same seed.

    python examples/linear_road/generator.py roads --seed 1

writes roads/north.csv and roads/south.csv, position reports of an expressway each, and roads/requests.csv, drivers who ask for their balance. On
the north road there is a jam towards the east, behind it an accident, and some of its cars come back for a second trip; on the south road there
is an accident towards the west.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

NORTH, SOUTH = 0, 1
EAST, WEST = 0, 1
ENTRY_LANE, EXIT_LANE = 0, 4
SEGMENTS, FEET = 100, 5280
"""Of an expressway, and of a segment, which is a mile."""
DRIVEN = FEET / 120
"""Feet that a car drives in 30 s, the time between two reports, for each mile an hour."""
JAM = range(20, 24)
JAM_SPEED, SPEED = (12, 30), (45, 70)
CRASHES = ((NORTH, EAST, 24, 14), (SOUTH, WEST, 60, 4))
"""Expressway, direction, segment, and the number of the report with which both cars stop."""
STANDS = 7
"""Reports of a car that had an accident before it goes on."""
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Traffic:
    report: timedelta = timedelta(seconds=30)
    """Between two reports of a car. If it is shorter, cars drive as far between two reports as others in 30 s."""
    reports: int = 28
    """How long it lasts, in such times."""
    jam: int = 260
    """Cars that come to the jam."""
    others: int = 30
    """In each direction of each road."""
    requests: int = 60
    begin: datetime = NOON
    seed: int = 1


Row = dict[str, Any]


def traffic(given: Traffic) -> dict[str, list[Row]]:
    """The rows of each input, in order of time."""
    random = Random(given.seed)
    reports = [row for vid, drives in enumerate(_cars(random, given), 1) for row in drives.reports(vid, random, given)]
    reports.sort(key=lambda row: (row["ts"], row["vid"]))
    # Drivers ask who have been heard of, most of them since a while.
    seen = [random.randrange(len(reports)) for _ in range(given.requests)]
    asked = sorted((reports[at]["ts"], reports[random.randrange(at + 1)]["vid"]) for at in seen)
    requests = [{"ts": ts, "qid": qid, "vid": vid} for qid, (ts, vid) in enumerate(asked)]
    by_road = {name: [row for row in reports if row["xway"] == xway] for xway, name in enumerate(("north", "south"))}
    return {**by_road, "requests": requests}


@dataclass(frozen=True, slots=True)
class Drive:
    """A car that enters with report number `begin`, and where it goes."""

    xway: int
    dir: int
    begin: int
    pos: int
    miles: int
    """Segments after which it takes an exit."""
    stops: bool = False
    """At once, where it entered, as in an accident."""
    comes_back: bool = False

    def reports(self, vid: int, random: Random, given: Traffic) -> Iterator[Row]:
        """To the exit, or to the end of time; a car that comes back is away for four reports before."""
        shift = timedelta(seconds=random.randrange(max(1, given.report // timedelta(seconds=1))))
        number = self.begin
        for _ in range(1 + self.comes_back):
            for lane, speed, pos in self._trip(random):
                if number >= given.reports:
                    return
                ts = given.begin + number * given.report + shift
                yield {
                    "ts": ts,
                    "vid": vid,
                    "speed": speed,
                    "xway": self.xway,
                    "lane": lane,
                    "dir": self.dir,
                    "seg": pos // FEET,
                    "pos": pos,
                }
                number += 1
            number += 4

    def _trip(self, random: Random) -> Iterator[tuple[int, int, int]]:
        """Lane, speed and position of one report after the other."""
        pos, lane = self.pos, 2 if self.stops else random.randrange(1, 4)
        for number in range(SEGMENTS * FEET):
            stands = self.stops and number < STANDS
            speed = 0 if stands else random.randint(*self._speeds(pos))
            leaves = abs(pos // FEET - self.pos // FEET) >= self.miles
            yield EXIT_LANE if leaves else lane if number or self.stops else ENTRY_LANE, speed, pos
            if leaves:
                return
            pos += round(speed * DRIVEN) * (1 if self.dir == EAST else -1)

    def _speeds(self, pos: int) -> tuple[int, int]:
        jammed = self.xway == NORTH and self.dir == EAST and pos // FEET in JAM
        return JAM_SPEED if jammed else SPEED


def _cars(random: Random, given: Traffic) -> Iterator[Drive]:
    for number in range(given.jam):
        begin, pos = random.randrange(given.reports // 2), JAM[0] * FEET + random.randrange(2 * FEET)
        yield Drive(NORTH, EAST, begin, pos, random.choice((1, 2, 3, 6)), comes_back=number % 5 == 0)
    for xway, direction, segment, begin in CRASHES:
        for _ in range(2):
            yield Drive(xway, direction, begin, segment * FEET + FEET // 3, 2, stops=True)
        # Those behind it.
        for _ in range(given.others):
            away = random.randrange(1, 8) * FEET
            pos = (segment * FEET + away) if direction == WEST else (segment * FEET - away)
            yield Drive(xway, direction, begin + random.randrange(9), pos, random.choice((3, 6)))
    for xway in (NORTH, SOUTH):
        for direction in (EAST, WEST):
            for _ in range(given.others):
                pos = random.randrange(30, 70) * FEET + random.randrange(FEET)
                yield Drive(xway, direction, random.randrange(given.reports), pos, random.choice((2, 5)))


def write(given: Traffic, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for stream, rows in traffic(given).items():
        with open(folder / f"{stream}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0] if rows else ["ts"], lineterminator="\n")
            writer.writeheader()
            writer.writerows({**row, "ts": row["ts"].isoformat()} for row in rows)


def main() -> None:
    usual = Traffic()
    parser = argparse.ArgumentParser(description="Write reports of cars and requests of their drivers as CSV files.")
    parser.add_argument("folder", type=Path, help="where north.csv, south.csv and requests.csv are written")
    parser.add_argument("--seed", type=int, default=usual.seed, help="another gives other cars; default %(default)s")
    parser.add_argument("--jam", type=int, default=usual.jam, help="cars that come to the jam; default %(default)s")
    given = parser.parse_args()
    write(Traffic(seed=given.seed, jam=given.jam), given.folder)


if __name__ == "__main__":
    main()
