"""Boxes that read the past of an aggregate over slices. Small jobs fetch what it gives before the others can read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import auroral
from auroral.model.aggregates import aggregate_function
from auroral.model.steps import Stream
from engine.evaluators import assert_same, by_batch, by_buckets, by_reference
from engine.running import rows

pytestmark = pytest.mark.spark


def register() -> None:
    """Nested functions: Spark's workers get them by value and need no module of the tests."""
    aggregate_function("added_up", init=lambda: 0, incr=lambda s, v: s + (v or 0), final=lambda s: s, returns="long")


register()

UNTIL = 60
GIVEN = rows(*((3 * i, 3 * i, "ab"[i % 2], i) for i in range(18)), (41, 41, "c", 7))


def joined(name: str, left: Stream, right: Stream, how: Any = "inner") -> None:
    columns = {"k": "left.k", "k2": "right.k", "gap": "left.stime - right.stime"}
    left.join(name, right, on="left.k = right.k", within=("7us", "4us"), columns=columns, how=how).output()


def left_of_a_left_join(agg: Stream, given: Stream) -> None:
    joined("j", agg, given, "left")


def right_of_a_left_join(agg: Stream, given: Stream) -> None:
    joined("j", given, agg, "left")


def right_of_a_right_join(agg: Stream, given: Stream) -> None:
    joined("j", given, agg, "right")


def in_two_joins(agg: Stream, given: Stream) -> None:
    joined("j", agg, given)
    joined("i", given, agg)


def with_itself(agg: Stream, given: Stream) -> None:
    joined("j", agg, agg)


def under_a_user_aggregate(agg: Stream, given: Stream) -> None:
    agg.aggregate("u", {"v": "added_up(n)"}, window="20us", advance="10us").output()


def under_a_function(agg: Stream, given: Stream) -> None:
    agg.apply(
        "f", lambda df: df.groupBy("k").agg({"n": "sum"}).toDF("k", "n"), schema="k string, n long", horizon="20us"
    ).output()


def summed(given: Any) -> list[tuple[None, tuple[str, int]]]:
    keys = dict.fromkeys(row.values[0] for row in given)
    return [(None, (key, sum(row.values[1] for row in given if row.values[0] == key))) for key in keys]


SHAPES = [
    left_of_a_left_join,
    right_of_a_left_join,
    right_of_a_right_join,
    in_two_joins,
    with_itself,
    under_a_user_aggregate,
    under_a_function,
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_the_past_of_an_aggregate(spark, tmp_path, shape: Callable[[Stream, Stream], None]) -> None:
    d = auroral.diagram("d", bucket="10us")
    given = d.input("in", "t long, k string, v long", stime="t", unit="us")
    shape(given.aggregate("agg", {"n": "count()"}, window="20us", advance="10us", by=["k"]), given)
    checked = d.check()
    expected = by_reference(checked, {"in": GIVEN}, UNTIL, {"f": summed})
    assert all(len(found) > 3 for found in expected.outputs.values())
    found = by_buckets(spark, checked, {"in": GIVEN}, [0, 10, 40, UNTIL], tmp_path / "small")
    assert_same(expected, found)
    assert_same(expected, by_batch(spark, checked, {"in": GIVEN}, UNTIL, tmp_path / "batch"))
