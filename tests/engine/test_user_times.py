"""Times and decimals in functions and aggregates of the user's: in Spark as in the reference, in any time zone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import auroral
from auroral.engine.expression import to_sql
from auroral.engine.failures import UserCodeFailed
from auroral.model.expression import Scope, parse, resolve
from auroral.model.schema import schema
from engine.evaluators import by_batch, by_buckets, by_reference
from engine.running import rows
from engine.user_times import FAR, FIRST_HALF_PAST_TWO, HOUR, SOURCES, UNTIL, as_json, diagram_of_times, known

TESTS = Path(__file__).parent.parent
PATIENCE = 360
SUNDAY, BEYOND = 20_751, 10**8


def test_times_pass_as_numbers_through_sql() -> None:
    scope = Scope.of(schema("t timestamp, d date"))
    for text, expected in [
        ("same(t)", "timestamp_micros({call}.v)"),
        ("day_of(same(t))", "date_from_unix_date({call}.v)"),
    ]:
        typed = resolve(parse(text), scope, known())
        written = to_sql(typed, lambda _, name: name)
        assert "auroral_same(unix_micros(t))" in written
        call = "auroral_same(unix_micros(t))"
        if text != "same(t)":
            call = f"auroral_day_of(unix_micros(timestamp_micros({call}.v)))"
        assert expected.format(call=call) in written


def assert_exact(found: dict[str, list[list[object]]], zone: str) -> None:
    again = FIRST_HALF_PAST_TWO + HOUR
    assert found["times"] == [
        [1, FIRST_HALF_PAST_TWO, FIRST_HALF_PAST_TWO, 0, SUNDAY, SUNDAY + 1, zone],
        [2, again, again, 1, SUNDAY, 0, zone],
        [3, -1, -1, 23, -1, None, zone],
        [4, None, None, None, None, SUNDAY + 1, zone],
        [14, 7, 7, 0, 0, SUNDAY + 1, zone],
    ]
    assert [row[:2] + row[4:] for row in found["times.errors"]] == [
        [11, FAR, f"same: OverflowError: {FAR} microseconds since 1970 are outside Python's years 1 to 9999"],
        [12, -FAR, f"same: OverflowError: {-FAR} microseconds since 1970 are outside Python's years 1 to 9999"],
        [13, 7, f"next_day: OverflowError: {BEYOND} days since 1970 are outside Python's years 1 to 9999"],
    ]
    assert found["third(n)"] == [
        [1, "1.00"],
        [3, "2.00"],
        [4, "1.00"],
        *[[s, "1.00"] for s in (11, 12, 13)],
        [14, None],
    ]
    assert found["half(n)"] == [[14, None]]
    assert found["whole(n)"] == [[row.stime, row.values[2] and f"{row.values[2]}.00"] for row in SOURCES["s"]]
    assert found["naive(t)"] == [[4, None]]
    assert found["as_text(d)"] == [[3, None]]
    assert found["leave(n)"] == [[2, 1], [3, 6], [14, None]]
    assert found["leave(n).errors"][0][-1] == "leave: SystemExit: 3 is enough"
    assert found["half(n).errors"][0][-1] == "half: TypeError: it gave 1.5, which is not of type decimal(10,2)"
    assert found["ledger"] == [
        [box, "rejected", count]
        for box, count in [
            ("as_text(d)", 7),
            ("half(n)", 7),
            ("leave(n)", 5),
            ("naive(t)", 7),
            ("third(n)", 1),
            ("times", 3),
        ]
    ]
    told = "2026-10-25T00:30:00+00:00/2026-10-25 2026-10-25T01:30:00+00:00/1969-12-31"
    assert found["windows"] == [
        [9, f" {told} 1969-12-31T23:59:59.999999+00:00/None None/2026-10-25", SUNDAY],
        [19, " 1970-01-01T00:00:00.000007+00:00/2026-10-25", SUNDAY],
    ]
    assert found["combined"] == [[4, again], [9, again], [14, 7], [19, 7]]
    assert found["so far"] == [
        [1, FIRST_HALF_PAST_TWO, SUNDAY],
        *[[s, again, d] for s, d in ((2, -1), (3, None), (4, SUNDAY), (14, SUNDAY))],
    ]


def test_the_reference_has_pythons_own_times() -> None:
    import time

    assert_exact(as_json(by_reference(diagram_of_times(), SOURCES, UNTIL)), time.tzname[0])


@pytest.mark.spark
def test_the_time_zone_of_the_machine_means_nothing(tmp_path: Path) -> None:
    places = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "TZ": "Europe/Berlin"}
    program = [sys.executable, "-m", "engine.user_times", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=False)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    # Its functions did run in that zone.
    assert_exact(json.loads(done.stdout.splitlines()[-1]), "CET")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("call", "given", "said"),
    [
        ("hour_of(t)", (FAR, 0, 0), rf"function 'hour_of' of \({FAR},\) failed: OverflowError: {FAR} microseconds"),
        ("next_day(d)", (0, BEYOND, 0), rf"function 'next_day' of \({BEYOND},\) failed: OverflowError: {BEYOND} days"),
        (
            "half(n)",
            (0, 0, 3),
            r"function 'half' of \(3,\) failed: TypeError: it gave 1.5, which is not of type decimal",
        ),
        ("naive(t)", (0, 0, 0), r"function 'naive' of \(datetime.datetime\(1970, 1, 1, .*which has no time zone"),
        ("leave(n)", (0, 0, 3), r"function 'leave' of \(3,\) failed: SystemExit: 3 is enough"),
    ],
)
def test_a_stop_names_box_function_and_values(spark, tmp_path, call, given, said):
    d = auroral.diagram("d", bucket="10us")
    d.input("s", "t timestamp, d date, n long").map("mine", {"v": call}).output()
    checked = d.check(known())
    with pytest.raises(UserCodeFailed, match=f"box 'mine': {said}"):
        by_buckets(spark, checked, {"s": rows((1, *given))}, [0, 10], tmp_path)


@pytest.mark.spark
def test_an_aggregate_of_times_that_python_has_not_stops(spark, tmp_path):
    diagram_of_times()  # registers it
    d = auroral.diagram("d", bucket="10us")
    d.input("s", "t timestamp").aggregate("mine", {"v": "latest(t)"}, window="10us").output()
    said = rf"box 'mine': aggregate 'latest' of \({FAR},\) failed: OverflowError: {FAR} microseconds"
    with pytest.raises(UserCodeFailed, match=said):
        by_batch(spark, d.check(), {"s": rows((1, FAR))}, 10, tmp_path)
