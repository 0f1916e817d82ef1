"""Exact floating sums in SQL: the same as math.fsum for any magnitudes, signs and grouping, rounded once."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from auroral.engine import exact
from auroral.engine.sqltext import aliased, group_by, select
from auroral.engine.states import BoxState, box_state
from auroral.model.aggregates import typed_aggregate
from auroral.model.boxes.base import Report
from auroral.model.errors import Place
from auroral.model.expression import Scope, default_functions
from auroral.model.schema import schema

pytestmark = pytest.mark.spark

CALLS = {"s": "sum(x)", "m": "avg(x)"}


def state_of(calls: dict[str, str], many_bins: bool) -> BoxState:
    scope, report = Scope.of(schema("x double")), Report("b", Place(), default_functions(), 1)
    typed = [typed_aggregate(name, call, scope, report) for name, call in calls.items()]
    assert not report.problems
    return box_state([t for t in typed if t is not None], [], lambda _, name: name, many_bins)


def statement(calls: dict[str, str], many_bins: bool) -> str:
    """Rows (part, grp, x) to partial states of each part, merged, finished: the way that slices take."""
    state = state_of(calls, many_bins)
    text = "SELECT part, grp, x FROM numbers"
    for stage in state.stages():
        text = f"SELECT *, {', '.join(f'{p.sql} AS {p.name}' for p in stage)} FROM ({text})"
    names = list(state.bins)
    partial = select(["part", "grp", *names, *state.of_rows()], f"({text})", group_by(["part", "grp", *names]))
    merged = select(["grp", *names, *state.merge()], f"({partial})", group_by(["grp", *names]))
    if state.bins:
        merged = select(["grp", *state.fold()], f"({merged})", "GROUP BY grp")
    return select(["grp", *aliased(zip(state.finals(), calls, strict=True))], f"({merged})", "ORDER BY grp")


def results(spark: Any, groups: list[list[float | None]], calls: dict[str, str], many_bins: bool) -> list[tuple]:
    random = Random(1)
    flat = [(random.randrange(4), number, x) for number, values in enumerate(groups) for x in values]
    random.shuffle(flat)
    columns = list(zip(*flat, strict=True))
    kinds = (pa.int32(), pa.int32(), pa.float64())
    table = pa.table([pa.array(c, k) for c, k in zip(columns, kinds, strict=True)], ["part", "grp", "x"])
    spark.createDataFrame(table).createOrReplaceTempView("numbers")
    found = spark.sql(statement(calls, many_bins)).toArrow().to_pylist()
    return [tuple(row[name] for name in calls) for row in found]


def bits_of(value: float | None) -> str:
    if value is None:
        return "null"
    return "nan" if math.isnan(value) else struct.pack(">d", value).hex()


def expected_sum(values: list[float | None]) -> float | None:
    given = [v for v in values if v is not None]
    if not given:
        return None
    try:
        # fsum keeps the sign of a sum of negative zeros in newer Pythons; an exact sum has one zero.
        return math.fsum(given) + 0.0
    except OverflowError:
        # Only on the way: fsum gives up where a partial sum is too large.
        total = sum((Fraction(v) for v in given), Fraction(0))
        try:
            return float(total)
        except OverflowError:
            return math.inf if total > 0 else -math.inf
    except ValueError:
        return math.nan


def any_double(random: Random) -> float:
    while True:
        value = struct.unpack(">d", random.randbytes(8))[0]
        if math.isfinite(value):
            return value


def random_groups(random: Random) -> list[list[float | None]]:
    near = [2.0**53 - 1, -(2.0**53) + 1, 2.0**-54, 1.0, -1.0, 0.5, 2.0**52, 1 + 2.0**-52, 0.0, -0.0]
    edge = [2.0**53, 2.0**-55, 5e-324, 1e308, -1e308, 2.0**-1022, 1e16, 1.7976931348623157e308, 2.0**-1074]
    groups: list[list[float | None]] = []
    for _ in range(60):
        kind, length = random.randrange(6), random.randint(1, 12)
        match kind:
            case 0:
                values = [any_double(random) for _ in range(length)]
            case 1:
                values = [random.choice(near) for _ in range(length)]
            case 2:
                values = [random.choice(near + edge) for _ in range(length)]
            case 3:
                values = [random.uniform(-1, 1) * 10.0 ** random.randint(-15, 15) for _ in range(length)]
            case 4:
                # What cancels leaves only the small ones.
                large = [any_double(random) / 4 for _ in range(length)]
                values = [*large, *(-v for v in large), random.choice(near + edge)]
            case _:
                # Ties of rounding, and what breaks them.
                values = [2.0**53, 1.0, random.choice([0.0, 2.0**-40, -(2.0**-40), 2.0**-1074, -(2.0**-1074)])]
        groups.append([None if random.random() < 0.05 else v for v in values])
    return groups


def assert_exact(groups: list[list[float | None]], found: list[tuple]) -> None:
    for values, (total, mean) in zip(groups, found, strict=True):
        expected = expected_sum(values)
        assert bits_of(total) == bits_of(expected), values
        count = sum(v is not None for v in values)
        assert bits_of(mean) == bits_of(None if expected is None else expected / count), values


@pytest.mark.parametrize("seed", range(3))
def test_sums_of_all_magnitudes_are_those_of_fsum(spark, seed):
    groups = random_groups(Random(seed))
    assert_exact(groups, results(spark, groups, CALLS, many_bins=True))


def test_the_smaller_plan_gives_the_same_where_it_applies(spark):
    random = Random(9)
    groups = [
        [random.uniform(-1, 1) * 10.0 ** random.randint(-15, 15) for _ in range(random.randint(1, 12))]
        for _ in range(100)
    ]
    groups += [[2.0**53 - 1] * 9, [2.0**-54, -(2.0**53) + 1, 1.0], [0.0, -0.0], [-0.0], [0.5, None], [None]]
    groups += [[2.0**52, 0.5, tie] for tie in (0.0, 2.0**-54, -(2.0**-54))]
    groups += [[2.0**53 - 1, 2.0**53 - 1, 1.0, tie] for tie in (0.0, 2.0**-54, -(2.0**-54), 1.0, -1.0)]
    groups += [[-(2.0**52), -0.5, tie] for tie in (0.0, 2.0**-54, -(2.0**-54))]
    groups += [[1.0, -1.0, 2.0**-54, -(2.0**-53)], [2.0**-54] * 3, [2.0**30, -(2.0**30), 2.0**-20]]
    assert_exact(groups, results(spark, groups, CALLS, many_bins=False))


def test_the_smaller_plan_stops_at_a_value_that_it_does_not_take(spark):
    with pytest.raises(Exception, match=exact.MANY_BINS):
        results(spark, [[1.0, 1e300]], CALLS, many_bins=False)


@pytest.mark.parametrize("many_bins", [True, False])
def test_infinities_and_nans_follow_ieee(spark, many_bins):
    inf, nan = math.inf, math.nan
    groups: list[list[float | None]] = [[inf, 1.0], [-inf, 1.0], [inf, -inf], [nan, 1.0], [nan, inf], [inf, inf, None]]
    found = [total for total, _ in results(spark, groups, CALLS, many_bins)]
    assert list(map(bits_of, found)) == list(map(bits_of, [inf, -inf, nan, nan, nan, inf]))


def test_deviations_do_not_cancel_away(spark):
    random = Random(3)
    groups: list[list[float | None]] = [[1e9 + random.random() for _ in range(8)] for _ in range(20)]
    groups += [[1e15, 1e15 + 1], [0.1] * 3, [1e-30, 3e-30], [5.0], [1e140, -1e140], [1.0, None], [1.0, math.inf]]
    found = [deviation for (deviation,) in results(spark, groups, {"d": "stddev(x)"}, many_bins=True)]
    for values, deviation in zip(groups, found, strict=True):
        given = [v for v in values if v is not None]
        if len(given) < 2:
            assert deviation is None
        elif not all(map(math.isfinite, given)):
            assert math.isnan(deviation)
        else:
            assert deviation == pytest.approx(_deviation(given), rel=1e-9, abs=0)


def _deviation(values: list[float]) -> float:
    exactly = [Fraction(v) for v in values]
    mean = sum(exactly) / len(exactly)
    return math.sqrt(sum((v - mean) ** 2 for v in exactly) / (len(exactly) - 1))


@pytest.mark.parametrize("x", [9007199254740991.0, -9007199254740991.0, 0.1])
def test_sums_of_as_many_values_as_are_promised(spark: Any, x: float) -> None:
    many = 1 << 28
    named = zip(exact.DIGITS, exact.digits("v"), strict=True)
    digits = select([f"{value} * {many}L AS {name}" for name, value in named], f"(SELECT {x!r}D AS v)")
    part = "named_struct('b', 0, " + ", ".join(f"'{d}', {d}" for d in exact.DIGITS) + ")"
    text = select([exact.total_of_bin_zero(""), exact.total(f"array({part})")], f"({digits})")
    assert list(spark.sql(text).collect()[0]) == [x * many] * 2
