"""Linear Road's rules in plain Python, one report after the other; it knows nothing of the diagram.

- A car reports every `report`; one that was not heard of for longer begins a new trip.
- A car's first report from a segment, unless it is on an exit lane, is answered with the segment's toll, and with an alert if there was an accident
  within `warned` segments ahead in the minute before.
- A car is stopped when four reports one after the other are from the same place. It stands there until
  its next report is due. Two cars that stand at the same place are an accident.
- A segment's toll in a minute is 2 * (cars - crowd)^2, cars being those of the minute before; nothing if these are no more than `crowd`, if the mean speed is
  `fast` or more, or if a driver is alerted. The mean speed is that of the five minutes before, each counting alike; of a minute it is the mean of its cars'.
- It is charged when the car reports from the next segment; never, if it leaves from there. A request is answered with what is charged by then,
  not counting reports of the same second.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from statistics import fmean
from typing import Any

Row = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EXIT = 4
SECOND = timedelta(seconds=1)


@dataclass
class Answers:
    tolls: list[tuple[Any, ...]] = field(default_factory=list)
    alerts: list[tuple[Any, ...]] = field(default_factory=list)
    balances: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass
class Car:
    heard: datetime | None = None
    place: tuple[Any, ...] = ()
    times_there: int = 0
    segment: tuple[int, int, int] | None = None
    charged: int = 0
    owed: int = 0


@dataclass
class Road:
    """Everything that is known, as time goes on."""

    report: timedelta
    minute: timedelta
    crowd: int
    fast: float
    warned: int
    cars: dict[int, Car] = field(default_factory=lambda: defaultdict(Car))
    speeds: dict[Any, dict[int, list[int]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    standing: dict[Any, set[int]] = field(default_factory=lambda: defaultdict(set))
    accidents: set[Any] = field(default_factory=set)
    answers: Answers = field(default_factory=Answers)

    def drive(self, reports: list[Row], requests: list[Row]) -> Answers:
        timed = [(row["ts"], 0, row) for row in requests] + [(row["ts"], 1, row) for row in reports]
        for ts, kind, row in sorted(timed, key=lambda one: one[:2]):
            if kind:
                self.take(ts, row)
            else:
                self.answers.balances.append((row["qid"], row["vid"], self.cars[row["vid"]].charged))
        return self.answers

    def take(self, ts: datetime, row: Row) -> None:
        car, number = self.cars[row["vid"]], (ts - EPOCH) // self.minute
        segment = (row["xway"], row["dir"], row["seg"])
        new_trip = car.heard is None or ts - car.heard > self.report
        place = (*segment, row["lane"], row["pos"])
        car.times_there = car.times_there + 1 if place == car.place and not new_trip else 1
        moved = new_trip or segment != car.segment
        car.heard, car.place, car.segment = ts, place, segment
        self.speeds[segment, number][row["vid"]].append(row["speed"])
        if car.times_there >= 4:
            self.stand(row["vid"], ts, place)
        if moved:
            self.enter(car, ts, row, number, new_trip)

    def stand(self, vid: int, ts: datetime, place: tuple[Any, ...]) -> None:
        """In each second until the next report."""
        for second in range(self.report // SECOND):
            at = ts + second * SECOND
            self.standing[place, at].add(vid)
            if len(self.standing[place, at]) >= 2:
                self.accidents.add((place[:3], (at - EPOCH) // self.minute))

    def enter(self, car: Car, ts: datetime, row: Row, number: int, new_trip: bool) -> None:
        if not new_trip:
            car.charged += car.owed
        car.owed = 0
        if row["lane"] == EXIT:
            return
        xway, direction, seg = segment = (row["xway"], row["dir"], row["seg"])
        told = (row["vid"], ts, *segment)
        ahead = [seg + d if direction == 0 else seg - d for d in range(self.warned + 1)]
        hit = [place for place in ahead if ((xway, direction, place), number - 1) in self.accidents]
        if hit:
            self.answers.alerts.append((*told, hit[0]))
        cars, mean = len(self.speeds.get((segment, number - 1), {})), self.mean_speed(segment, number)
        dear = not hit and cars > self.crowd and mean is not None and mean < self.fast
        car.owed = 2 * (cars - self.crowd) ** 2 if dear else 0
        self.answers.tolls.append((*told, mean, car.owed))

    def mean_speed(self, segment: tuple[int, int, int], number: int) -> float | None:
        minutes = []
        for before in range(number - 5, number):
            cars = self.speeds.get((segment, before))
            if cars:
                minutes.append(fmean(float(Fraction(sum(s), len(s))) for s in cars.values()))
        return fmean(minutes) if minutes else None
