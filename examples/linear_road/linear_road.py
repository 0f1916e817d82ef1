"""Linear Road's core: tolls that vary with traffic, alerts of accidents, and balances of accounts, on two expressways.

    python examples/linear_road/generator.py roads
    auroral run examples/linear_road/linear_road.py --input north=roads/north.csv --input south=roads/south.csv \\
        --input requests=roads/requests.csv --output tolls=tolls.csv --folder runs/roads

Each car reports its position every 30 s. README.md beside this file has the rules, box by box.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import auroral
from auroral import DiagramBuilder, Stream

REPORT = "ts timestamp, vid long, speed int, xway int, lane int, dir int, seg int, pos int"
REQUEST = "ts timestamp, qid long, vid long"
EXIT_LANE = 4
SEGMENT = ("xway", "dir", "seg")
PLACE = (*SEGMENT, "lane", "pos")
MOVE = ("vid", "ts", *SEGMENT, "lane", "entered")
INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Rules:
    """The figures of the benchmark. Tests also drive on roads where all of them are smaller."""

    report: timedelta = timedelta(seconds=30)
    """How often a car reports."""
    minute: timedelta = timedelta(minutes=1)
    """What statistics, tolls and accidents go by."""
    crowd: int = 50
    """Cars in a segment within a minute up to which it costs nothing."""
    fast: float = 40.0
    """Miles an hour from which on it costs nothing."""
    warned: int = 4
    """So many segments before an accident, drivers are warned and pay nothing."""
    answer_within: timedelta = timedelta(seconds=5)


def _account(account: tuple[int, int], entered: bool, toll: int) -> tuple[int, int]:
    """What is charged, and the toll of the segment that the car is in: charged when it comes to the next one.

    A request has no toll, and changes nothing. On a new trip the toll of the last one's last segment lapses.
    """
    charged, owed = account
    if toll < 0:
        return account
    return (charged, toll) if entered else (charged + owed, toll)


def diagram(rules: Rules) -> DiagramBuilder:
    auroral.aggregate_function(
        "charged", init=lambda: (0, 0), incr=_account, final=lambda account: account[0], returns="long"
    )
    road = auroral.diagram("linear road", bucket="1s")
    north, south = (road.input(name, REPORT, stime="ts") for name in ("north", "south"))
    reports = north.union("reports", south)
    priced = _priced(_moves(reports, rules), _accidents(reports, rules), _statistics(reports, rules), rules)
    told = priced.filter("told", f"lane != {EXIT_LANE}")
    where = {name: name for name in ("vid", "ts", *SEGMENT)}
    told.map("tolls", {**where, "lav": "lav", "toll": "toll"}).output(availability=rules.answer_within)
    accident = {"accident": "if dir = 0 then seg + distance else seg - distance"}
    told.filter("in danger", f"distance <= {rules.warned}").map("alerts", {**where, **accident}).output(
        availability=rules.answer_within
    )
    requests = road.input("requests", REQUEST, stime="ts")
    _balances(priced, requests).output("balances", availability=rules.answer_within)
    return road


def _toll(rules: Rules) -> str:
    over = f"(cars - {rules.crowd})"
    dear = f"cars > {rules.crowd} and lav < {rules.fast}"
    free = f"lane = {EXIT_LANE} or distance <= {rules.warned}"
    return f"if {free} then long(0) else if {dear} then 2 * {over} * {over} else long(0)"


def _moves(reports: Stream, rules: Rules) -> Stream:
    """Reports from another segment than the car's report before, and first reports of a trip; at the end of their second.

    All reports without one before, and those that have one with it: the greater is what is known.
    """
    fields = ("vid", "ts", *SEGMENT, "lane")
    alone = reports.map("alone", {name: name for name in fields} | {"before": "-1"})
    followed = reports.join(
        "followed",
        reports,
        on="left.vid = right.vid and right.ts < left.ts",
        within=("0s", rules.report),
        columns={name: f"left.{name}" for name in fields} | {"before": _number("right.")},
    )
    heard = alone.union("heard", followed).aggregate("after", {"before": "max(before)"}, window="1s", by=fields)
    moved = heard.filter("moved", f"before != {_number()}")
    return moved.map("moves", {name: name for name in fields} | {"entered": "before < 0"})


def _number(side: str = "") -> str:
    """One number for a segment of any road and direction."""
    return f"({side}xway * 2 + {side}dir) * 100 + {side}seg"


def _statistics(reports: Stream, rules: Rules) -> Stream:
    """At the end of each minute, of each segment: the mean speed of the last five minutes, and how many cars were there in the last."""
    cars = reports.aggregate("car speeds", {"speed": "avg(speed)"}, window=rules.minute, by=[*SEGMENT, "vid"])
    averages = {"speed": "avg(speed)", "cars": "count()"}
    minutes = cars.aggregate("segment speeds", averages, window=rules.minute, by=SEGMENT)
    five = minutes.aggregate(
        "five minutes",
        {"lav": "avg(speed)", "cars": "lastval(cars)", "of": "lastval(stime)"},
        window=5 * rules.minute,
        advance=rules.minute,
        by=SEGMENT,
    )
    # The last minute's cars have the stime of its end, as the five minutes have.
    columns = {name: name for name in (*SEGMENT, "lav")} | {"cars": "if of = stime then cars else long(0)"}
    return five.map("statistics", columns)


def _accidents(reports: Stream, rules: Rules) -> Stream:
    """At the end of each minute, the segments in which there was an accident."""
    equal = reports.join(
        "equal reports",
        reports,
        on=f"left.vid = right.vid and {_equal(PLACE)} and right.ts < left.ts",
        within=("0s", 3 * rules.report),
        columns={name: f"left.{name}" for name in ("vid", *PLACE)},
    )
    # The fourth of four equal reports finds three.
    before = equal.aggregate("reports before", {"n": "count()"}, window="1s", by=["vid", *PLACE])
    stopped = before.filter("stopped", "n >= 3")
    # A car stands where it reported until it reports again.
    standing = stopped.aggregate(
        "standing", {"cars": "count_distinct(vid)"}, window=rules.report, advance="1s", by=PLACE
    )
    crashed = standing.filter("crashed", "cars >= 2")
    return crashed.aggregate("accidents", {"seconds": "count()"}, window=rules.minute, by=SEGMENT)


def _priced(moves: Stream, accidents: Stream, statistics: Stream, rules: Rules) -> Stream:
    """Each move with what the minute before says of its segment and of those ahead, and its toll.

    Three streams have a part of it each: the move itself, which finds nothing, and what it finds, if it does.
    """
    minute = rules.minute // INSTANT
    just_before = f"left.stime / {minute} = (right.stime + 1) / {minute}"
    ahead = "(if left.dir = 0 then right.seg - left.seg else left.seg - right.seg)"
    nothing = {"distance": str(rules.warned + 1), "lav": "-1.0", "cars": "long(0)"}
    move = {name: f"left.{name}" for name in MOVE}
    alone = moves.map("on their own", {name: name for name in MOVE} | nothing)
    warned = moves.join(
        "warned",
        accidents,
        on=f"left.xway = right.xway and left.dir = right.dir and {just_before} and {ahead} >= 0 and {ahead} <= {rules.warned}",
        within=("0s", rules.minute),
        columns=move | nothing | {"distance": ahead},
    )
    known = moves.join(
        "known",
        statistics,
        on=f"{_equal(SEGMENT)} and {just_before}",
        within=("0s", rules.minute),
        columns=move | nothing | {"lav": "right.lav", "cars": "right.cars"},
    )
    found = {"distance": "min(distance)", "lav": "max(lav)", "cars": "max(cars)"}
    together = alone.union("parts", warned, known).aggregate("together", found, window="1s", by=MOVE)
    lav = {"lav": "if lav >= 0.0 then lav else null"}
    return together.map("priced", {name: name for name in (*MOVE, "distance")} | lav | {"toll": _toll(rules)})


def _balances(priced: Stream, requests: Stream) -> Stream:
    """Accounts are running totals by car. A request is a row among the car's tolls, and is answered with what the seconds before have charged."""
    tolls = priced.map("posted", {"vid": "vid", "entered": "entered", "toll": "toll", "qid": "long(-1)"})
    asked = requests.map("asked", {"vid": "vid", "entered": "false", "toll": "long(-1)", "qid": "qid"})
    accounts = tolls.union("postings", asked).running(
        "accounts", {"qid": "lastval(qid)", "balance": "charged(entered, toll)"}, by=["vid"]
    )
    return accounts.filter("answers", "qid >= 0").map("balances", {"qid": "qid", "vid": "vid", "balance": "balance"})


def _equal(names: tuple[str, ...]) -> str:
    return " and ".join(f"left.{name} = right.{name}" for name in names)


linear_road = diagram(Rules())
