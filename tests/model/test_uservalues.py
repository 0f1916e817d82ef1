"""What the user's functions are given and may give."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum

import numpy as np
import pandas as pd
import pytest

from auroral.model.expression.uservalues import as_arguments, as_result
from auroral.model.types import parse_type

NOON = datetime(2026, 10, 25, 12, tzinfo=UTC)
MICROS = 1_792_929_600_000_000
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


class Size(IntEnum):
    LARGE = 7


class Colour(StrEnum):
    RED = "red"


class Numpys:
    """As numpy's numbers are: not of Python's classes."""

    dtype = "int64"

    def item(self):
        return 7


@pytest.mark.parametrize(
    ("kind", "plain", "given"),
    [
        ("timestamp", MICROS, NOON),
        ("timestamp", -1, datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
        ("timestamp", FIRST, datetime.min.replace(tzinfo=UTC)),
        ("timestamp", LAST, datetime.max.replace(tzinfo=UTC)),
        ("timestamp", None, None),
        ("date", -1, date(1969, 12, 31)),
        ("date", 2_932_896, date.max),
        ("date", -719_162, date.min),
        ("binary", bytearray(b"x"), b"x"),
        ("decimal(10,2)", Decimal("1.50"), Decimal("1.50")),
        ("int", 5, 5),
    ],
)
def test_arguments_are_pythons_own_values(kind, plain, given):
    (found,) = as_arguments([parse_type(kind)])([plain])
    assert found == given and type(found) is type(given)
    assert getattr(found, "tzinfo", UTC) is UTC
    assert as_result(parse_type(kind))(found) == plain


@pytest.mark.parametrize(
    ("kind", "plain"),
    [("timestamp", FIRST - 1), ("timestamp", LAST + 1), ("timestamp", 2**63 - 1), ("timestamp", -(2**63)),
     ("date", -719_163), ("date", 2_932_897), ("date", 2**31 - 1), ("date", -(2**31))],
)  # fmt: skip
def test_times_that_python_has_not(kind, plain):
    with pytest.raises(OverflowError, match=f"^{plain} (microseconds|days) since 1970 are outside Python's years"):
        as_arguments([parse_type("int"), parse_type(kind)])([1, plain])


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("int", 5, 5),
        ("int", None, None),
        ("byte", 127, 127),
        ("int", Numpys(), 7),
        ("int", Size.LARGE, 7),
        ("double", 5, 5.0),
        ("double", 0.1, 0.1),
        ("double", np.float64(0.1), 0.1),
        ("single", 0.1, 0.10000000149011612),
        ("string(1)", "abc", "abc"),
        ("string", Colour.RED, "red"),
        ("string", "\U0001f600", "\U0001f600"),
        ("bool", True, True),
        ("bool", False, False),
        ("bool", np.True_, True),
        ("binary", bytearray(b"x"), b"x"),
        ("timestamp", NOON, MICROS),
        ("timestamp", datetime(2026, 10, 25, 14, tzinfo=timezone(timedelta(hours=2))), MICROS),
        ("timestamp", pd.Timestamp("2026-10-25T12:00:00.000001Z"), MICROS + 1),
        ("date", date(1970, 1, 3), 2),
        ("decimal(4,2)", Decimal("1.5"), Decimal("1.50")),
        ("decimal(4,2)", Decimal("99.990"), Decimal("99.99")),
        ("decimal(4,2)", Decimal("-0"), Decimal("0.00")),
        ("decimal(4,2)", Decimal("1e1"), Decimal("10.00")),
        ("decimal(4,2)", 99, Decimal("99.00")),
        ("decimal(38,0)", 10**38 - 1, Decimal(10**38 - 1)),
        ("decimal(38,38)", Decimal("1e-38"), Decimal("1e-38")),
    ],
)
def test_results_are_of_the_declared_type(kind, given, value):
    found = as_result(parse_type(kind))(given)
    assert found == value and type(found) is type(value) and str(found) == str(value)


@pytest.mark.parametrize(
    ("kind", "given"),
    [("int", "5"), ("int", 5.0), ("int", True), ("int", 2**31), ("byte", -129), ("double", "1"), ("double", False),
     ("bool", 1), ("string", 5), ("string", b"x"), ("binary", "x"),
     ("timestamp", MICROS), ("timestamp", date(2026, 1, 1)), ("timestamp", "2026-01-01"),
     ("timestamp", pd.Timestamp("2026-10-25T12:00:00.000000001Z")),
     ("date", NOON), ("date", 5), ("date", "2026-01-01"), ("date", pd.NaT),
     ("decimal(4,2)", 1.5), ("decimal(4,2)", "1.5"), ("decimal(4,2)", True), ("decimal(4,2)", Decimal("1.005")),
     ("decimal(4,2)", Decimal(100)), ("decimal(4,2)", 100), ("decimal(4,2)", Decimal("NaN")),
     ("decimal(4,2)", Decimal("sNaN")), ("decimal(4,2)", Decimal("-Infinity")), ("decimal(4,2)", Decimal("1e999"))],
)  # fmt: skip
def test_other_results_are_errors(kind, given):
    with pytest.raises(TypeError, match=r"it gave .*, which is not of type "):
        as_result(parse_type(kind))(given)


@pytest.mark.parametrize("given", [datetime(2026, 10, 25), pd.Timestamp("2026-10-25"), pd.NaT])  # noqa: DTZ001
def test_a_result_without_a_time_zone_is_no_instant(given):
    with pytest.raises(TypeError, match=r"it gave .*, which has no time zone"):
        as_result(parse_type("timestamp"))(given)


def test_text_that_cannot_be_stored_is_an_error():
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        as_result(parse_type("string"))("\ud800")
