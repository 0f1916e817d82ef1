"""Windows that go on from the one before give what windows made from nodes give, and are used where they can be."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given

import auroral as au
from auroral.engine.edgelog import STABLE, Segment, Tentative
from auroral.engine.evaluate import Engine, Limits
from auroral.engine.running import RunningWindows
from auroral.engine.slices import Slicing
from auroral.model.checking import check
from auroral.reference.rows import Row
from engine.evaluators import assert_same, by_buckets, by_reference, shown, source_table
from engine.test_slices import RANGES, cells_of, slicings

SECOND = 1_000_000
SUMS = {"n": "count()", "nx": "count(x)", "s": "sum(x)", "a": "avg(x)", "t": "sum(i)", "m": "avg(i)", "d": "sum(d)"}
HUGE = (1e300, -1e300, 2.0**60, 1e-200)


def checked(functions, **window):
    net = au.diagram("running", bucket="1s")
    stream = net.input("in", "ts timestamp, k string, x double, i long, d decimal(38,2)", stime="ts")
    stream.aggregate("load", functions, by=["k"], **window).output()
    return check(net.build())


def random_rows(random, seconds, values):
    """Keys that come and go, seconds without rows, nulls and equal values."""
    found = []
    for second in range(seconds):
        if random.random() < 0.2:
            continue
        for _ in range(random.randrange(5)):
            stime = second * SECOND + random.randrange(SECOND)
            key = random.choice(["a", "b", None, f"{second // 4}"])
            whole = random.choice([None, 0, 7, -(2**63), 2**63 - 1])
            wide = random.choice([None, Decimal("0.01"), Decimal(9 * 10**35), Decimal(-(10**35))])
            found.append((stime, key, random.choice([None, *values]), whole, wide))
    return [
        Row(stime, (None, *values), (seq,)) for seq, (stime, *values) in enumerate(sorted(found, key=lambda r: r[0]))
    ]


@pytest.fixture
def went_on(monkeypatch):
    """How often a window was made from the one before, and how often not."""
    counted: Counter[bool] = Counter()
    whole = RunningWindows.successor

    def successor(self, *given):
        found = whole(self, *given)
        counted[found is not None] += 1
        return found

    monkeypatch.setattr(RunningWindows, "successor", successor)
    return counted


@pytest.mark.spark
@pytest.mark.parametrize(
    ("window", "usable"),
    [
        ({"window": "8s", "advance": "1s"}, True),
        ({"window": "8s", "advance": "2s"}, True),
        ({"window": "6s", "advance": "3s"}, False),
        ({"window": "8s", "advance": "500ms"}, False),
    ],
)
def test_bucket_by_bucket_windows_are_those_of_the_reference(spark, tmp_path, went_on, window, usable):
    random = Random(str(window))
    # From the middle on there are values that cannot be subtracted, and at last none any more.
    values = [0.1, -0.0, 3.5e15, -7.25]
    given_rows = random_rows(random, 14, values)
    later = random_rows(random, 3, [*values, float("nan"), float("inf")])
    given_rows += [Row(row.stime + 14 * SECOND, row.values, (1000 + row.order[0],)) for row in later]
    given_rows += [
        Row(row.stime + 17 * SECOND, row.values, (2000 + row.order[0],)) for row in random_rows(random, 16, values)
    ]
    diagram, until = checked(SUMS, **window), 33 * SECOND
    expected = by_reference(diagram, {"in": given_rows}, until)
    cuts = range(0, until + 1, SECOND)
    assert_same(expected, by_buckets(spark, diagram, {"in": given_rows}, list(cuts), tmp_path))
    assert expected.outputs["load"]
    assert bool(went_on[True]) == usable
    assert went_on[False]


@pytest.mark.spark
def test_values_of_other_bins_and_functions_that_cannot_subtract(spark, tmp_path, went_on):
    random = Random(1)
    rows = random_rows(random, 10, [0.5, 1.5])
    rows += [Row(r.stime + 10 * SECOND, r.values, (500 + r.order[0],)) for r in random_rows(random, 4, HUGE)]
    until = 14 * SECOND
    for functions, before in ((SUMS, True), ({"n": "count()", "most": "max(x)"}, False)):
        went_on.clear()
        diagram = checked(functions, window="4s", advance="1s")
        expected = by_reference(diagram, {"in": rows}, until)
        cuts = list(range(0, until + 1, SECOND))
        assert_same(expected, by_buckets(spark, diagram, {"in": rows}, cuts, tmp_path / str(before)))
        assert bool(went_on[True]) == before


@pytest.mark.spark
def test_other_cuts_and_large_jobs_between(spark, tmp_path, went_on):
    rows = random_rows(Random(2), 24, [0.25, -4.0])
    diagram, until = checked(SUMS, window="8s", advance="1s"), 24 * SECOND
    cuts = [second * SECOND for second in (0, 9, 10, 11, 12, 14, 15, 16, 20, 21, 22, 23, 24)]
    # Ranges of more than eight rows are large.
    found = by_buckets(spark, diagram, {"in": rows}, cuts, tmp_path, limits=Limits(4, 8))
    assert_same(by_reference(diagram, {"in": rows}, until), found)
    assert went_on[True]


@pytest.mark.spark
def test_a_stable_window_does_not_go_on_from_a_tentative_one(spark, tmp_path):
    diagram = checked({"n": "count()", "s": "sum(x)"}, window="8s", advance="1s")
    rows = [Row(second * SECOND, (None, "a", 1.5, 1, None), (second,)) for second in range(12)]
    engine = Engine(spark, diagram, tmp_path)

    def offered(second, version, given):
        lo = second * SECOND
        table = source_table(engine.source("in"), given)
        engine.offer("in", Segment(lo, lo + SECOND, version, len(given), table))
        evaluation = engine.evaluate(lo, lo + SECOND, version)
        return shown(evaluation.outputs["load"].load(engine.small.outputs[0]))

    for second in range(9):
        offered(second, STABLE, rows[second : second + 1])
    # Of second 9 a part is missing at first; the next window must know all of it.
    assert offered(9, Tentative(1, 1, "node"), []) == [(10 * SECOND - 1, "a", 7, 10.5)]
    assert offered(9, STABLE, rows[9:10]) == [(10 * SECOND - 1, "a", 8, 12.0)]
    assert offered(10, STABLE, rows[10:11]) == [(11 * SECOND - 1, "a", 8, 12.0)]


@given(slicings(), RANGES)
def test_a_window_is_the_one_before_less_what_it_leaves_behind(made, given_range):
    slicing, bucket = made
    first, buckets = given_range
    lo, hi = slicing.cell(first * bucket), slicing.cell((first + buckets) * bucket)
    start = slicing.successor(lo, hi)
    if start is None:
        return
    before = Counter(range(start - slicing.step, start - slicing.step + slicing.length))
    gone = Counter(cell for node in slicing.left_behind(start) for cell in cells_of(node))
    # The range's own cells count in the window by themselves.
    new = Counter(cell for cell, targets in slicing.targets(lo, hi).items() if (-1, start) in targets)
    since = Counter(cell for node in slicing.come_since(start, lo) for cell in cells_of(node))
    assert gone <= before
    assert before - gone + since + new == Counter(range(start, start + slicing.length))
    for level, index in slicing.left_behind(start):
        assert (index + 1) << level <= lo


def test_consecutive_windows_of_one_bucket_each_are_successors():
    for lo, hi in pairwise(range(20)):
        assert Slicing.of(8, 1, 0, 1).successor(lo, hi) == hi - 8
    assert Slicing.of(8, 1, 0, 1).successor(0, 2) is None
