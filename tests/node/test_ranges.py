"""Which range is next, and from where an engine is brought to the frontier."""

from collections.abc import Sequence

import pytest

import auroral
from auroral.node.ranges import (
    MOST_BUCKETS,
    MOST_CALLS,
    Limits,
    Rebuild,
    SourceSpan,
    Step,
    closed_until,
    first_bucket,
    next_step,
    piece_start,
    rebuild,
)

S = 1_000_000


def span(first: int | None, boundary: int | None, ended: bool = False) -> SourceSpan:
    return SourceSpan(first, boundary, ended)


@pytest.mark.parametrize(
    ("spans", "start"),
    [
        ([span(25, 40)], 20),
        ([span(25, 40), span(None, None)], None),
        ([span(25, 40), span(None, 10)], 10),
        ([span(25, 40), span(7, 30)], 0),
        ([span(25, 40), span(None, None, ended=True)], 20),
        ([span(None, None, ended=True)], None),
        ([span(-5, 0)], -10),
    ],
)
def test_a_run_begins_where_no_input_can_bring_anything_older(spans: Sequence[SourceSpan], start: int | None) -> None:
    assert first_bucket(spans, 10) == start


@pytest.mark.parametrize(
    ("spans", "closed"),
    [
        ([span(0, 40), span(0, 25)], 20),
        ([span(0, 40), span(None, None)], None),
        ([span(0, 40), span(0, 25, ended=True)], 40),
        ([span(0, 40, ended=True), span(0, 70, ended=True)], 70),
        ([span(None, None, ended=True)], None),
    ],
)
def test_the_slowest_open_input_closes_buckets(spans: Sequence[SourceSpan], closed: int | None) -> None:
    assert closed_until(spans, 10) == closed


LIMITS = Limits(10, past=30, most_buckets=8, most_rows=100)


def step(lo: int, limit: int, stimes: Sequence[int], limits: Limits = LIMITS) -> Step | None:
    def rows(a: int, b: int) -> int:
        return sum(a <= s < b for s in stimes)

    return next_step(lo, limit, limits, rows, lambda a: min((s for s in stimes if s >= a), default=None))


def test_all_closed_buckets_go_into_one_job() -> None:
    assert step(0, 50, [1, 2]) == Step(0, 50)
    assert step(50, 50, [1, 2]) is None


def test_a_job_has_at_most_so_many_buckets_and_rows() -> None:
    assert step(0, 200, range(200)) == Step(0, 80)
    assert step(0, 80, [i // 5 for i in range(400)]) == Step(0, 20)
    assert step(0, 80, [3] * 1000) == Step(0, 10)


def test_a_long_empty_stretch_is_passed_over_once_the_horizon_is_empty_too() -> None:
    stimes = [5, 100_007]
    assert step(0, 100_020, stimes) == Step(0, 80)
    assert step(80, 100_020, stimes) == Step(80, 100_000, skip=True)
    assert step(100_000, 100_020, stimes) == Step(100_000, 100_020)


def test_gaps_are_passed_over_with_functions_too() -> None:
    """A function is not called where its horizon is empty, so that nothing can come of a gap."""
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s", "ts long, v long", stime="ts", unit="us")
    s.apply("g", lambda df: df, schema="v long", horizon="3s").output("t")
    limits = Limits.of(d.check())
    day = 86_400 * S
    assert step(MOST_CALLS * S, day, [5, day - 1], limits) == Step(MOST_CALLS * S, day - S, skip=True)


def test_without_folds_one_horizon_is_enough() -> None:
    assert rebuild(0, 100, LIMITS, []) == Rebuild(70, 100)
    assert rebuild(90, 100, LIMITS, []) == Rebuild(90, 100)


def test_a_fold_goes_back_to_a_snapshot_that_is_one_horizon_old_or_to_the_beginning() -> None:
    limits = Limits(10, past=30, folds=True)
    assert rebuild(0, 200, limits, []) == Rebuild(0, 200)
    assert rebuild(0, 200, limits, [50, 120, 180]) == Rebuild(90, 200, snapshot=120)
    assert rebuild(0, 200, limits, [180]) == Rebuild(0, 200)
    assert rebuild(0, 60, limits, [10]) == Rebuild(0, 60, snapshot=10)


def test_a_snapshot_that_needs_pruned_rows_is_passed_over() -> None:
    limits = Limits(10, past=30, folds=True)
    assert rebuild(0, 200, limits, [50, 120], kept_from=90) == Rebuild(90, 200, snapshot=120)
    assert rebuild(0, 200, limits, [50, 120], kept_from=91) == Rebuild(0, 200)
    assert rebuild(0, 60, limits, [10], kept_from=0) == Rebuild(0, 60, snapshot=10)


def test_a_piece_begins_where_an_engine_would() -> None:
    folds = Limits(10, past=30, folds=True)
    assert piece_start(0, 100, LIMITS) == (100, 70)
    assert piece_start(90, 100, LIMITS) == (100, 90)
    assert piece_start(0, 200, folds) == (170, 140)
    assert piece_start(0, 50, folds) == (20, 0)
    assert piece_start(10, 30, folds) == (10, 10)


def test_a_fold_over_the_past_of_a_fold_is_not_restorable() -> None:
    d = auroral.diagram("d", bucket="1s")
    first = d.input("s", "ts long, v long", stime="ts", unit="us").running("a", {"n": "count()"})
    first.filter("f", "n > 1").running("b", {"n": "count()"}).output("o")
    assert Limits.of(d.check()).snapshots
    first.aggregate("w", {"n": "max(n)"}, window="2s").running("c", {"n": "count()"}).output("p")
    limits = Limits.of(d.check())
    assert limits.folds and not limits.restorable and not limits.snapshots
    assert rebuild(0, 100 * S, limits, [50 * S]) == Rebuild(0, 100 * S)


def test_the_limits_of_a_diagram_follow_from_its_boxes() -> None:
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s", "ts long, v long", stime="ts", unit="us")
    total = s.aggregate("a", {"n": "count()"}, window="2500ms", advance="1s")
    total.aggregate("b", {"m": "max(n)"}, window="3s").output("o")
    s.filter("f", "v > 0").output("p")
    limits = Limits.of(d.check())
    assert (limits.past, limits.flush) == (7 * S, 6 * S)
    assert (limits.most_buckets, limits.folds) == (MOST_BUCKETS, False)
    s.running("r", {"n": "count()"}).output("q")
    s.apply("g", lambda df: df, schema="v long").output("t")
    limits = Limits.of(d.check())
    assert (limits.most_buckets, limits.folds) == (MOST_CALLS, True)


def test_what_folds_are_waiting_for_is_not_passed_over() -> None:
    limits = Limits(10, 10, most_buckets=4, folds=True)
    far = 10_000

    def step(lo: int, due: int | None) -> Step | None:
        return next_step(lo, far, limits, lambda lo, hi: 0, lambda stime: None, lambda: due)

    assert step(0, None) == Step(0, far, skip=True)
    assert step(0, 127) == Step(0, 120, skip=True)
    assert step(120, 127) == Step(120, 160), "evaluated, though no row comes"
