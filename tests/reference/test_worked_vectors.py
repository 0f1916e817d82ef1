"""The examples that the theses and papers work out by hand. Figure 4-7, which is about runs, is in `node`."""

import runpy
from pathlib import Path

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.diagram import Stamp
from auroral.model.windows import Alignment, FieldWindow, Landmark, Runs
from auroral.reference.evaluate import evaluate
from reference.running import rows, run_box, shown

MINUTE = 60_000_000
TEMPERATURES = [(76, 68.0), (81, 69.0), (85, 70.0), (89, 68.0), (95, 67.0), (101, 67.0)]


def aggregate(window, *group_by, functions=(("mean", "avg(temp)"),)):
    return Aggregate(functions, window, group_by)


def temperatures():
    """Stamped by a field in minutes: 1:16 is minute 76."""
    return rows(*((minute * MINUTE, minute, temp) for minute, temp in TEMPERATURES))


def minutes(result):
    return [(stime / MINUTE, *values) for stime, *values in shown(result)]


class TestSixTemperatures:
    """Balazinska's thesis, 3.2: average temperatures over three kinds of window."""

    ddl = "minute int, temp double"
    stamp = Stamp("minute", MINUTE)

    def test_landmark_at_one_o_clock(self):
        result = run_box(aggregate(Landmark(60 * MINUTE)), self.ddl, temperatures(), stamp=self.stamp)
        means = [68, 68.5, 69, 68.75, 68.4, pytest.approx(68.17, abs=0.005)]
        assert minutes(result) == [(m, mean) for (m, _), mean in zip(TEMPERATURES, means, strict=True)]

    def test_size_10_aligned_on_the_first_tuple(self):
        window = FieldWindow("minute", 10, 10, Alignment.FIRST)
        result = run_box(aggregate(window), self.ddl, temperatures(), stamp=self.stamp)
        # [76, 86) is closed by 89; [86, 96) by 101.
        assert minutes(result) == [(89, 76, 69.0), (101, 86, 67.5)]

    def test_size_10_aligned_independently(self):
        window = FieldWindow("minute", 10, 10, Alignment.INDEPENDENT)
        result = run_box(aggregate(window), self.ddl, temperatures(), stamp=self.stamp, until=100 * MINUTE)
        assert [values for _, *values in minutes(result)] == [[70, 68.0], [80, 69.0], [90, 67.0]]
        assert [stime for stime, *_ in shown(result)] == [80 * MINUTE - 1, 90 * MINUTE - 1, 100 * MINUTE - 1]


def test_appendix_b_window():
    """[10, 20) of the undo example gives (10, 9.9), which is also the mean rounded once."""
    given = [(2, 10.5), (5, 11.2), (8, 13.4), (11, 9.7), (14, 9.2), (17, 10.8), (21, 10.4), (24, 9.9)]
    window = FieldWindow("time", 10, 10, Alignment.INDEPENDENT)
    spec = Aggregate((("mean", "avg(v)"),), window)
    table = rows(*((t, t, v) for t, v in given))
    result = run_box(spec, "time long, v double", table, stamp=Stamp("time", 1), until=22)
    assert shown(result)[1:] == [(19, 10, pytest.approx(9.9))]


class TestTumble:
    """The Tumble example of the Aurora* paper: the run of A = 4 stays open."""

    ddl = "a int, b int"
    table = rows((1, 1, 2), (2, 1, 3), (3, 2, 2), (4, 2, 1), (5, 2, 6), (6, 4, 5), (7, 4, 2))

    def test_average(self):
        result = run_box(Aggregate((("m", "avg(b)"),), Runs(), ("a",)), self.ddl, self.table)
        assert shown(result) == [(3, 1, 2.5), (6, 2, 3.0)]

    def test_count(self):
        result = run_box(Aggregate((("n", "count()"),), Runs(), ("a",)), self.ddl, self.table)
        assert shown(result) == [(3, 1, 2), (6, 2, 3)]

    def test_flush_does_not_close_what_only_a_row_closes(self):
        result = run_box(Aggregate((("n", "count()"),), Runs(), ("a",)), self.ddl, self.table, flush=True)
        assert shown(result) == [(3, 1, 2), (6, 2, 3)]


def test_the_reference_query_has_two_branches():
    """Hole 13: a host is told of that opens many connections and touches many ports, and not one that does only one of both."""
    netmon = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "netmon.py"))["netmon"].check()
    opened = [
        (host, n % ports)
        for host, count, ports in (("busy", 21, 10), ("scans", 20, 20), ("both", 21, 11))
        for n in range(count)
    ]
    given = {site: rows() for site in ("oslo", "bern", "lima")}
    given["oslo"] = rows(*((5_000_000, 5_000_000, host, "there", port) for host, port in opened))
    found = evaluate(netmon, given, 20_000_000).streams["alerts"]
    assert {row.values for row in found} == {("both", 21, 11)} and len(found) == 4, (
        "a window of four seconds each second"
    )
