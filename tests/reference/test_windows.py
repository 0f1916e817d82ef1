"""Windows on stime, closed by the boundary."""

import math

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.stateless import Map
from auroral.model.diagram import Box, Stamp
from auroral.model.windows import Alignment, FieldWindow, StimeWindow
from reference.running import rows, run, run_box, shown

COUNT = (("n", "count()"),)


def test_a_result_lies_at_the_windows_end():
    spec = Aggregate(COUNT, StimeWindow(10, 10), start="w")
    given = rows((-1, 0), (0, 0), (9, 0), (10, 0), (35, 0))
    # [20, 30) is empty and gives nothing; [30, 40) is still open at 39.
    assert shown(run_box(spec, "v int", given, until=39)) == [(-1, -10, 1), (9, 0, 2), (19, 10, 1)]
    assert shown(run_box(spec, "v int", given, until=40))[-1] == (39, 30, 1)
    assert shown(run_box(spec, "v int", given, until=36, flush=True))[-1] == (39, 30, 1)


def test_rows_at_or_past_the_boundary_are_left_out():
    spec = Aggregate(COUNT, StimeWindow(10, 10))
    result = run_box(spec, "v int", rows((1, 0), (5, 0), (6, 0)), until=5, flush=True)
    assert shown(result) == [(9, 1)]


def test_sliding_windows_share_rows():
    spec = Aggregate((("n", "count()"), ("s", "sum(v)")), StimeWindow(10, 4), start="w")
    result = run_box(spec, "v int", rows((0, 1), (5, 2), (9, 4)), until=100)
    assert shown(result) == [(1, -8, 1, 1), (5, -4, 2, 3), (9, 0, 3, 7), (13, 4, 2, 6), (17, 8, 1, 4)]


def test_groups_of_nulls_nans_and_zeros():
    spec = Aggregate(COUNT, StimeWindow(10, 10), ("k",))
    given = rows((1, None), (2, math.nan), (3, -0.0), (4, 0.0), (5, math.nan), (6, None))
    result = shown(run_box(spec, "k double", given, until=10))
    assert repr(result) == repr([(9, None, 2), (9, 0.0, 2), (9, math.nan, 2)])


def test_order_key_is_the_group():
    spec = Aggregate(COUNT, StimeWindow(10, 10), ("k", "j"))
    result = run_box(spec, "k string, j int", rows((1, "b", 1), (2, "a", None)), until=10)
    assert [row.order for row in result.streams["o0"]] == [("a", None), ("b", 1)]


def test_a_window_on_a_clock_field_names_its_start_in_the_fields_unit():
    spec = Aggregate(COUNT, FieldWindow("sec", 10, 5, Alignment.INDEPENDENT))
    given = rows((7_000_000, 7))
    result = run_box(spec, "sec int", given, until=10**9, stamp=Stamp("sec", 1_000_000))
    assert shown(result) == [(9_999_999, 0, 1), (14_999_999, 5, 1)]


def test_windows_on_a_window_fall_together():
    """The start field of results is their clock: stime = start + size - 1, so windows on it have a phase."""
    boxes = [
        Box("fine", Aggregate(COUNT, StimeWindow(10, 10), start="w"), ("s",), ("f",)),
        Box("same", Map((("w", "w"), ("n", "n"))), ("f",), ("g",)),
        Box(
            "coarse",
            Aggregate((("total", "sum(n)"),), FieldWindow("w", 20e-6, 20e-6, Alignment.INDEPENDENT)),
            ("g",),
            ("o",),
        ),
    ]
    table = rows((0, 0), (10, 0), (19, 0), (20, 0))
    result = run({"s": ("v int", table)}, boxes, ["o"], until=100)
    # Windows [0, 20) and [20, 40) of w are stimes [9, 29) and [29, 49).
    assert shown(result, "o") == [(28, 0, 3), (48, 20, 1)]
