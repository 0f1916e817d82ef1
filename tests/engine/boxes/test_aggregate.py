"""Aggregates on Spark: windows of stime, and the worked vectors of the theses and papers."""

from __future__ import annotations

from typing import ClassVar

import pytest

from auroral.engine.evaluate import Limits
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.diagram import Box, Stamp
from auroral.model.windows import Alignment, FieldWindow, Landmark, Runs, StimeWindow
from engine.evaluators import assert_same, by_buckets, by_reference
from engine.running import checked_diagram, rows, run_all

pytestmark = pytest.mark.spark

MINUTE = 60_000_000
TEMPERATURES = [(76, 68.0), (81, 69.0), (85, 70.0), (89, 68.0), (95, 67.0), (101, 67.0)]


class TestSixTemperatures:
    """Balazinska's thesis, 3.2: average temperatures over three kinds of window."""

    @pytest.fixture(scope="class")
    @classmethod
    def outcome(cls, spark, tmp_path_factory):
        mean = (("mean", "avg(temp)"),)
        boxes = [
            Box("landmark", Aggregate(mean, Landmark(60 * MINUTE)), ("s",), ("landmark",)),
            Box("first", Aggregate(mean, FieldWindow("minute", 10, 10, Alignment.FIRST)), ("s",), ("first",)),
            Box(
                "independent",
                Aggregate(mean, FieldWindow("minute", 10, 10, Alignment.INDEPENDENT)),
                ("s",),
                ("independent",),
            ),
        ]
        stamps = {"s": Stamp("minute", MINUTE)}
        checked = checked_diagram({"s": "minute int, temp double"}, boxes, bucket=5 * MINUTE, stamps=stamps)
        given = rows(*((minute * MINUTE, minute, temp) for minute, temp in TEMPERATURES))
        return run_all(spark, tmp_path_factory.mktemp("temperatures"), checked, {"s": given}, 105 * MINUTE)

    def test_landmark_at_one_o_clock(self, outcome):
        means = [68, 68.5, 69, 68.75, 68.4, pytest.approx(68.17, abs=0.005)]
        expected = [(m * MINUTE, mean) for (m, _), mean in zip(TEMPERATURES, means, strict=True)]
        assert outcome.outputs["landmark"] == expected

    def test_size_10_aligned_on_the_first_tuple(self, outcome):
        assert outcome.outputs["first"] == [(89 * MINUTE, 76, 69.0), (101 * MINUTE, 86, 67.5)]

    def test_size_10_aligned_independently(self, outcome):
        expected = [(80, 70, 68.0), (90, 80, 69.0), (100, 90, 67.0)]
        assert outcome.outputs["independent"] == [(end * MINUTE - 1, start, mean) for end, start, mean in expected]


class TestLessCommonTypes:
    """min, max, firstval, lastval and count_distinct take more than numbers and strings of any length."""

    fields: ClassVar = {"b": "byte", "h": "short", "o": "date", "z": "binary", "s": "string(3)"}

    @pytest.fixture(scope="class")
    @classmethod
    def outcome(cls, spark, tmp_path_factory):
        calls = tuple(
            (f"{call}_{name}", f"{call}({name})")
            for name, type in cls.fields.items()
            for call in ("min", "max", "firstval", "lastval", "count_distinct")
            if not (type == "binary" and call in ("min", "max"))
        )
        boxes = [
            Box("windows", Aggregate(calls, StimeWindow(20, 10)), ("s",), ("windows",)),
            Box("running", Aggregate(calls, Landmark(0)), ("s",), ("running",)),
        ]
        given = rows(
            (1, 5, -300, 20_000, b"b", "ß"),
            (3, -128, 2**15 - 1, -700_000, b"", "a"),
            (3, None, None, None, None, None),
            (14, 127, -(2**15), 0, b"\xff\x00", "😀b"),
            (16, 5, 7, 2_900_000, b"b", ""),
        )
        checked = checked_diagram({"s": ", ".join(f"{n} {t}" for n, t in cls.fields.items())}, boxes)
        outcome = run_all(spark, tmp_path_factory.mktemp("types"), checked, {"s": given}, 20)
        names = [name for name, _ in calls]
        return {stream: dict(zip(names, outcome.outputs[stream][-1][1:], strict=True)) for stream in outcome.outputs}

    @pytest.mark.parametrize("stream", ["windows", "running"])
    def test_each_function(self, outcome, stream):
        found = outcome[stream]
        assert [found[f"min_{name}"] for name in "bhos"] == [-128, -(2**15), -700_000, ""]
        assert [found[f"max_{name}"] for name in "bhos"] == [127, 2**15 - 1, 2_900_000, "😀b"]
        assert [found[f"firstval_{name}"] for name in self.fields] == [5, -300, 20_000, b"b", "ß"]
        assert [found[f"lastval_{name}"] for name in self.fields] == [5, 7, 2_900_000, b"b", ""]
        assert [found[f"count_distinct_{name}"] for name in self.fields] == [3, 4, 4, 3, 4]


def test_appendix_b_window(spark, tmp_path):
    """[10, 20) of the undo example gives (10, 9.9), which is also the mean rounded once."""
    given = [(2, 10.5), (5, 11.2), (8, 13.4), (11, 9.7), (14, 9.2), (17, 10.8), (21, 10.4), (24, 9.9)]
    window = FieldWindow("time", 10, 10, Alignment.INDEPENDENT)
    boxes = [Box("b", Aggregate((("mean", "avg(v)"),), window), ("s",), ("o",))]
    checked = checked_diagram({"s": "time long, v double"}, boxes, bucket=5, stamps={"s": Stamp("time", 1)})
    outcome = run_all(spark, tmp_path, checked, {"s": rows(*((t, t, v) for t, v in given))}, 30)
    assert outcome.outputs["o"][1] == (19, 10, pytest.approx(9.9))


def test_aurora_star_tumble(spark, tmp_path):
    """The Tumble example of the Aurora* paper: the run of A = 4 stays open."""
    given = rows((1, 1, 2), (2, 1, 3), (3, 2, 2), (4, 2, 1), (5, 2, 6), (6, 4, 5), (7, 4, 2))
    boxes = [
        Box("average", Aggregate((("m", "avg(b)"),), Runs(), ("a",)), ("s",), ("average",)),
        Box("count", Aggregate((("n", "count()"),), Runs(), ("a",)), ("s",), ("count",)),
    ]
    outcome = run_all(spark, tmp_path, checked_diagram({"s": "a int, b int"}, boxes, bucket=2), {"s": given}, 10)
    assert outcome.outputs["average"] == [(3, 1, 2.5), (6, 2, 3.0)]
    assert outcome.outputs["count"] == [(3, 1, 2), (6, 2, 3)]


class TestStimeWindows:
    """Windows of several sizes over the same rows, in one diagram."""

    given = rows((-12, "a", 1), (-12, "a", 2), (-1, None, 4), (0, "b", None), (9, "a", 8), (10, "a", 16), (27, "a", 32))

    @pytest.fixture(scope="class")
    @classmethod
    def outcome(cls, spark, tmp_path_factory):
        calls = (("n", "count()"), ("s", "sum(v)"), ("first", "firstval(v)"), ("last", "lastval(v)"))
        boxes = [
            Box("bucket", Aggregate(calls, StimeWindow(10, 10), ("k",), "w"), ("s",), ("bucket",)),
            Box("slide", Aggregate(calls[:2], StimeWindow(20, 5)), ("s",), ("slide",)),
            Box("odd", Aggregate(calls, StimeWindow(7, 3)), ("s",), ("odd",)),
            Box(
                "of starts",
                Aggregate(calls[1:2], FieldWindow("w", 20e-6, 20e-6, Alignment.INDEPENDENT)),
                ("on w",),
                ("up",),
            ),
            Box("w", Aggregate((("v", "sum(v)"),), StimeWindow(10, 5), (), "w"), ("s",), ("on w",)),
        ]
        return run_all(
            spark,
            tmp_path_factory.mktemp("windows"),
            checked_diagram({"s": "k string, v int"}, boxes),
            {"s": cls.given},
            40,
        )

    def test_windows_before_1970_are_windows_too(self, outcome):
        assert outcome.outputs["bucket"][:2] == [(-11, "a", -20, 2, 3, 1, 2), (-1, None, -10, 1, 4, 4, 4)]

    def test_nulls_are_values_of_first_and_last_but_not_of_sums(self, outcome):
        assert outcome.outputs["bucket"][3] == (9, "b", 0, 1, None, None, None)

    def test_windows_without_rows_give_nothing(self, outcome):
        assert [row[0] for row in outcome.outputs["bucket"]] == [-11, -1, 9, 9, 19, 29]

    def test_overlapping_windows(self, outcome):
        assert outcome.outputs["slide"][0] == (-11 + 5 - 5 + 0, 2, 3) or outcome.outputs["slide"][0][1:] == (2, 3)
        assert sum(row[1] for row in outcome.outputs["slide"]) == 4 * 6 + 3

    def test_results_on_a_field_with_an_offset(self, outcome):
        """Windows on the start of earlier windows: [w, w + 20) of starts is [w + 9, w + 29) of stime."""
        assert outcome.outputs["up"]
        assert all(row[0] == row[1] + 20 + 9 - 1 for row in outcome.outputs["up"])


def test_a_huge_value_in_a_window_that_closes_much_later(spark, tmp_path):
    """The small plan takes ordinary magnitudes only; nothing may be lost before it is found out."""
    boxes = [Box("b", Aggregate((("s", "sum(x)"), ("m", "avg(x)")), StimeWindow(40, 10)), ("s",), ("o",))]
    checked = checked_diagram({"s": "x double"}, boxes)
    given = {"s": rows((1, 1.0), (12, 1e300), (13, 0.1), (25, -1e300), (38, 5e-324))}
    expected = by_reference(checked, given, 80)
    each = list(range(0, 81, 10))
    assert_same(expected, by_buckets(spark, checked, given, each, tmp_path / "small"))
    # A large job stores what a small one then reads.
    assert_same(expected, by_buckets(spark, checked, given, [0, 30, 60, 80], tmp_path / "mixed", limits=Limits(2, 4)))
