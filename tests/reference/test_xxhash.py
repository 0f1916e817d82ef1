"""The hash of drop boxes is Spark's."""

import math
from decimal import Decimal

import pytest

from auroral.model import types
from auroral.model.types import parse_type
from auroral.model.xxhash import xxh64, xxhash64

CASES = [
    ("byte", [0, -1, 127, -128, None]),
    ("short", [0, -300, 32767]),
    ("int", [0, 1, -1, 2**31 - 1, -(2**31), None]),
    ("long", [0, 1, -1, 2**63 - 1, -(2**63)]),
    ("bool", [True, False, None]),
    ("single", [0.0, -0.0, 1.5, -2.25, math.inf, math.nan]),
    ("double", [0.0, -0.0, 0.1, -1e300, 5e-324, -math.inf, math.nan, None]),
    ("string", ["", "a", "abcd", "abcdefgh", "é€🙂" * 3, "x" * 31, "y" * 32, "z" * 100, None]),
    ("binary", [b"", b"\x00\xff", bytes(range(77))]),
    ("timestamp", [0, 1_700_000_000_123_456, -1]),
    ("date", [0, 20_000, -1]),
    ("decimal(10,2)", [Decimal("0.00"), Decimal("-12345678.90"), Decimal("1.5")]),
    (
        "decimal(38,4)",
        [
            Decimal("0"),
            Decimal("-0.0001"),
            Decimal("12.8000"),
            Decimal(-(10**33)),
            Decimal("9" * 34 + ".9999"),
        ],
    ),
]


def test_xxh64_of_the_published_examples():
    assert xxh64(b"", 0) == 0xEF46DB3751D8E999
    assert xxh64(b"abc", 0) == 0x44BC2CF5AD770999


def test_nulls_leave_the_hash_as_it_is():
    assert xxhash64([(types.INT, None)]) == 42
    assert xxhash64([(types.INT, None), (types.LONG, 7)]) == xxhash64([(types.LONG, 7)])


def literal(field_type, value):
    """A Spark SQL expression for a value of the reference."""
    kind = field_type.kind.value
    if value is None:
        return f"CAST(NULL AS {field_type.spark})"
    if kind == "string":
        return f"CAST(unhex('{value.encode().hex()}') AS STRING)"
    if kind == "binary":
        return f"unhex('{value.hex()}')"
    if kind == "timestamp":
        return f"timestamp_micros({value}L)"
    if kind == "date":
        return f"date_from_unix_date({value})"
    return f"CAST('{value}' AS {field_type.spark})"


@pytest.mark.spark
def test_hashes_are_those_of_spark(spark):
    cases = [[(parse_type(text), value)] for text, values in CASES for value in values]
    cases.append([case[0] for case in cases])
    selected = [f"xxhash64({', '.join(literal(t, v) for t, v in case)})" for case in cases]
    (answer,) = spark.sql(f"SELECT {', '.join(f'{text} AS h{i}' for i, text in enumerate(selected))}").collect()
    for case, hashed in zip(cases, answer, strict=True):
        assert xxhash64(case) == hashed % 2**64, case
