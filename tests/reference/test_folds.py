"""Windows that rows close."""

import math

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.diagram import Stamp
from auroral.model.windows import Alignment, FieldWindow, Landmark, Runs
from reference.running import rows, run_box, shown

COUNT = (("n", "count()"),)


def first_aligned(size, advance, given, group_by=("k",)):
    spec = Aggregate((("n", "count()"), ("s", "sum(v)")), FieldWindow("t", size, advance, Alignment.FIRST), group_by)
    table = rows(*((t, t, k, v) for t, k, v in given))
    return run_box(spec, "t long, k string, v int", table, stamp=Stamp("t", 1))


def test_each_group_starts_with_its_own_first_row():
    given = [(3, "a", 1), (7, "b", 2), (12, "a", 4), (13, "a", 8), (40, "b", 16)]
    result = first_aligned(10, 10, given)
    # [3, 13) of a is closed by 13, [7, 17) of b by 40; windows without rows give nothing.
    assert shown(result) == [(13, "a", 3, 2, 5), (40, "b", 7, 1, 2)]
    assert [row.order for row in result.streams["o0"]] == [(3, 3), (4, 7)]


def test_one_row_may_close_several_windows():
    result = first_aligned(10, 4, [(3, "a", 1), (8, "a", 2), (30, "a", 4)])
    assert shown(result) == [(30, "a", 3, 2, 3), (30, "a", 7, 1, 2)]
    assert [row.order for row in result.streams["o0"]] == [(2, 3), (2, 7)]


def test_a_row_at_the_end_closes_and_does_not_count():
    assert shown(first_aligned(5, 5, [(0, "a", 1), (5, "a", 2), (10, "a", 4)])) == [
        (5, "a", 0, 1, 1),
        (10, "a", 5, 1, 2),
    ]


def test_landmark_runs_on_for_each_group():
    spec = Aggregate((("s", "sum(v)"), ("last", "lastval(v)")), Landmark(origin=2), ("k",))
    given = rows((1, "a", 100), (2, "a", 1), (2, None, 10), (3, "a", None), (3, None, 20), (4, "a", 5))
    result = run_box(spec, "k string, v int", given)
    assert shown(result) == [
        (2, None, 10, 10),
        (2, "a", 1, 1),
        (3, None, 30, 20),
        (3, "a", 1, None),
        (4, "a", 6, 5),
    ]
    assert sorted(row.order for row in result.streams["o0"]) == [(1,), (2,), (3,), (4,), (5,)]


def test_landmark_from_the_beginning():
    result = run_box(Aggregate(COUNT, Landmark()), "v int", rows((-5, 0), (5, 0)))
    assert shown(result) == [(-5, 1), (5, 2)]


def test_runs_follow_processing_order_and_may_come_back():
    given = rows((1, "a"), (1, "a"), (1, "b"), (2, "a"), (3, "a"))
    assert shown(run_box(Aggregate(COUNT, Runs(), ("k",)), "k string", given)) == [(1, "a", 2), (2, "b", 1)]


def test_runs_take_nulls_nans_and_zeros_as_equal():
    given = rows((1, None), (2, None), (3, math.nan), (4, math.nan), (5, -0.0), (6, 0.0), (7, 1.0))
    result = shown(run_box(Aggregate(COUNT, Runs(), ("k",)), "k double", given))
    assert repr(result) == repr([(3, None, 2), (5, math.nan, 2), (7, 0.0, 2)])
