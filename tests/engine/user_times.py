"""A diagram of functions and aggregates of times and decimals. Run as a program: its outcome on Spark, as JSON.

A process of its own, since Spark's workers have the time zone that the program was started with.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import auroral
from auroral.engine.session import start_session
from auroral.model.aggregates import aggregate_function
from auroral.model.checking import Checked
from auroral.model.expression import Functions
from auroral.model.expression.functions import make_function
from engine.evaluators import Outcome
from engine.interpreted import interpret_large_jobs
from engine.running import rows, run_all

FIRST_HALF_PAST_TWO = 1_792_888_200_000_000
"""2026-10-25T00:30Z. Berlin's clocks show 2:30 then, and an hour later once more."""
HOUR, FAR = 3_600_000_000, 2**62
UNTIL = 20
SOURCES = {
    "s": rows(
        (1, FIRST_HALF_PAST_TWO, 20_751, 3),
        (2, FIRST_HALF_PAST_TWO + HOUR, -1, 1),
        (3, -1, None, 6),
        (4, None, 20_751, 3),
        (11, FAR, 20_751, 3),
        (12, -FAR, 20_751, 3),
        (13, 7, 10**8, 3),
        (14, 7, 20_751, None),
    )
}


def known() -> Functions:
    """Nested functions: Spark's workers get them by value and need no module of the tests."""

    def in_another_zone(t: datetime | None) -> datetime | None:
        return None if t is None else t.astimezone(timezone(timedelta(hours=2)))

    def next_day(d: date | None) -> date | None:
        return None if d is None else d + timedelta(days=1)

    def third(n: int | None) -> Decimal | None:
        return None if n is None else Decimal(n) / 3

    made = [
        make_function("same", lambda t: t, "timestamp", "timestamp"),
        make_function("in_another_zone", in_another_zone, "timestamp", "timestamp"),
        make_function("hour_of", lambda t: None if t is None else t.hour, "timestamp", "int"),
        make_function("day_of", lambda t: None if t is None else t.date(), "timestamp", "date"),
        make_function("next_day", next_day, "date", "date"),
        make_function("naive", lambda t: t and t.replace(tzinfo=None), "timestamp", "timestamp"),
        make_function("as_text", lambda d: d and d.isoformat(), "date", "date"),
        make_function("third", third, "long", "decimal(10,2)"),
        make_function("half", lambda n: None if n is None else n / 2, "long", "decimal(10,2)"),
        make_function("whole", lambda n: n, "long", "decimal(10,2)"),
        make_function("leave", lambda n: sys.exit(f"{n} is enough") if n == 3 else n, "long", "long"),
        make_function("zone", lambda: time.tzname[0], "", "string"),
    ]
    functions = Functions()
    for function in made:
        functions = functions.plus(function)
    return functions


def register_aggregates() -> None:
    def later(state: datetime | None, t: datetime | None) -> datetime | None:
        return state if t is None or (state is not None and t < state) else t

    def told(state: str, t: datetime | None, d: date | None) -> str:
        return f"{state} {t and t.isoformat()}/{d and d.isoformat()}"

    aggregate_function("latest", init=lambda: None, incr=later, final=lambda s: s, returns="timestamp", combine=later)
    aggregate_function("times_told", init=str, incr=told, final=str, returns="string")
    aggregate_function("last_day", init=lambda: None, incr=lambda s, d: d, final=lambda d: d, returns="date")


def diagram_of_times() -> Checked:
    register_aggregates()
    d = auroral.diagram("times", bucket="10us")
    s = d.input("s", "t timestamp, d date, n long")
    columns = {
        "same": "same(t)",
        "again": "in_another_zone(in_another_zone(t))",
        "hour": "hour_of(t)",
        "day": "day_of(t)",
        "next": "next_day(d)",
        "zone": "zone()",
    }
    times = s.map("times", columns, on_error="reject")
    times.output()
    times.errors().output()
    for name in ("naive(t)", "as_text(d)", "third(n)", "half(n)", "whole(n)", "leave(n)"):
        made = s.map(name, {"v": name}, on_error="reject")
        made.output()
        made.errors().output()
    near = s.filter("near", "stime < 11 or stime > 13")
    near.aggregate("windows", {"told": "times_told(t, d)", "day": "last_day(d)"}, window="10us").output()
    near.aggregate("combined", {"latest": "latest(t)"}, window="10us", advance="5us").output()
    near.running("so far", {"latest": "latest(t)", "day": "last_day(d)"}).output()
    return d.check(known())


def main(folder: Path) -> None:
    interpret_large_jobs()
    spark = start_session("local[2]", memory="1g", partitions=2)
    outcome = run_all(spark, folder, diagram_of_times(), SOURCES, UNTIL, first=0)
    spark.stop()
    sys.stdout.write(json.dumps(as_json(outcome)) + "\n")


def as_json(outcome: Outcome) -> dict[str, list[list[object]]]:
    shown = {name: [list(map(_text, row)) for row in given] for name, given in outcome.outputs.items()}
    return {**shown, "ledger": [[*key, n] for key, n in sorted(outcome.ledger.items())]}


def _text(value: object) -> object:
    return str(value) if isinstance(value, Decimal) else value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
