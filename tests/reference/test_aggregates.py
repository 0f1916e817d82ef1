"""Aggregate functions over one window."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.model import aggregates, types
from auroral.model.aggregates import UserAggregate, register_aggregate
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.windows import StimeWindow
from auroral.reference.exact import ExactTotal
from reference.running import rows, run_box, shown

INF, NAN = math.inf, math.nan


def over(field_type, values, *calls):
    """Each call over `values` as one window, in order."""
    spec = Aggregate(tuple((f"f{i}", call) for i, call in enumerate(calls)), StimeWindow(1000, 1000))
    ((_, *results),) = shown(run_box(spec, f"x {field_type}", rows(*((1, v) for v in values)), until=1000))
    return results[0] if len(results) == 1 else results


def same(a, b):
    """Equal, with equal signs of zero; NaN is NaN."""
    return repr(a) == repr(b)


def test_count_counts_rows_and_count_of_x_values():
    assert over("int", [1, None, 1], "count()", "count(x)", "count_distinct(x)") == [3, 2, 1]


@pytest.mark.parametrize("call", ["sum(x)", "avg(x)", "min(x)", "max(x)", "stddev(x)", "firstval(x)"])
def test_no_values_give_null(call):
    assert over("double", [None, None], call) is None


def test_counts_of_no_values_are_zero():
    assert over("double", [None, None], "count(x)", "count_distinct(x)") == [0, 0]


def test_integer_sums_wrap_but_averages_do_not():
    assert over("long", [2**63 - 1, 1], "sum(x)", "avg(x)") == [-(2**63), 2.0**62]


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([1e100, 1.0, -1e100], 1.0),
        ([0.1] * 10, 1.0),
        ([1e308, 1e308, -1e308], 1e308),
        ([1e308, 1e308], INF),
        ([-1e308, -1e308], -INF),
        ([5e-324, 5e-324], 1e-323),
        ([-0.0, -0.0], 0.0),
        ([1.0, -1.0], 0.0),
        ([INF, 1.0], INF),
        ([INF, -INF], NAN),
        ([-INF, -INF, 1e308, 1e308], -INF),
        ([NAN, 1.0], NAN),
    ],
)
def test_floating_sums_are_exact(values, total):
    assert same(over("double", values, "sum(x)"), total)
    assert same(over("double", values[::-1], "sum(x)"), total)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_exact_total_is_the_sum_of_fractions_rounded_once(values):
    total = ExactTotal()
    for value in values:
        total.add(value)
    exact = sum(map(Fraction, values), Fraction(0))
    try:
        assert total.rounded() == float(exact)
    except OverflowError:
        assert total.rounded() == (INF if exact > 0 else -INF)


def test_average_divides_the_rounded_sum():
    assert over("double", [0.1, 0.2, 0.4], "avg(x)") == math.fsum([0.1, 0.2, 0.4]) / 3
    assert over("long", [2**53, 1, 0], "avg(x)") == float(2**53) / 3


def test_decimals():
    big = Decimal("9" * 38)
    assert over("decimal(10,2)", [Decimal("0.10"), Decimal("0.2")], "sum(x)", "avg(x)") == [
        Decimal("0.30"),
        0.15,
    ]
    assert over("decimal(38,0)", [big, Decimal("-" + "9" * 38), big], "sum(x)") == big
    assert over("decimal(38,0)", [big, big], "sum(x)", "avg(x)") == [None, 1e38]


def test_stddev_of_a_sample():
    assert over("int", [2, 4, 4, 4, 5, 5, 7, 9], "stddev(x)") == math.sqrt(32 / 7)
    assert over("double", [1.0], "stddev(x)") is None
    assert over("double", [0.1, 0.1], "stddev(x)") == 0.0
    # Squares of these lose the difference in doubles.
    assert over("double", [1e15, 1e15 + 1], "stddev(x)") == math.sqrt(0.5)
    assert same(over("double", [1.0, INF], "stddev(x)"), NAN)
    assert over("double", [NAN], "stddev(x)") is None


def test_min_and_max_order_nan_last():
    assert same(over("double", [NAN, 1.0, None, -INF], "min(x)", "max(x)"), [-INF, NAN])
    assert same(over("double", [-0.0, 0.0], "min(x)", "max(x)"), [0.0, 0.0])
    assert over("string", ["z", "é", "a"], "min(x)", "max(x)") == ["a", "é"]
    assert over("bool", [True, False], "min(x)", "max(x)") == [False, True]


def test_first_and_last_include_nulls():
    assert over("int", [None, 1, 2], "firstval(x)", "lastval(x)") == [None, 2]
    assert over("int", [1, None], "firstval(x)", "lastval(x)") == [1, None]


def test_count_distinct_takes_nans_and_zeros_as_one_each():
    assert over("double", [NAN, -NAN, 0.0, -0.0, 1.0, None], "count_distinct(x)") == 3


def test_user_aggregates_see_every_row_in_order(monkeypatch):
    monkeypatch.setattr(aggregates, "_registered", {})
    register_aggregate(UserAggregate("joined", list, lambda s, v: [*s, v], lambda s: repr(s), types.STRING))
    assert over("int", [3, None, 1], "joined(x)") == "[3, None, 1]"


def test_arguments_are_expressions():
    assert over("int", [1, 2, 3], "sum(x * 2)", "max(0 - x)") == [12, -1]
