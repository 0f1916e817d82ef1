"""Rows with a value, no value and an odd value of every type that a stream can have."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa

ROWS = pa.table(
    {
        "byte": pa.array([1, None, -128], pa.int8()),
        "short": pa.array([1, None, -32_768], pa.int16()),
        "int": pa.array([2**31 - 1, None, -(2**31)], pa.int32()),
        "long": pa.array([2**63 - 1, None, -(2**63)], pa.int64()),
        "single": pa.array([1.5, None, -0.0], pa.float32()),
        "double": pa.array([math.inf, None, -0.0]),
        "flag": [True, None, False],
        "text": ["ä", None, ""],
        "bytes": pa.array([b"\0", None, b""]),
        "day": pa.array([date(9999, 12, 31), None, date(1, 1, 1)], pa.date32()),
        "time": pa.array(
            [datetime(9999, 1, 1, tzinfo=UTC), None, datetime(1, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")
        ),
        "money": pa.array([Decimal("1.50"), None, Decimal("-9.99")], pa.decimal128(10, 2)),
        "wide": pa.array([Decimal(10**37), None, Decimal(-1)], pa.decimal128(38, 0)),
        "a.b `c` #d": pa.array([1, None, 3], pa.int64()),
    }
)
