"""Random rows for the inputs of random diagrams: odd values, equal rows, equal stimes, and buckets without any."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from auroral.model.expression.singles import nearest_single
from auroral.reference.rows import Row

FIELDS = (
    "t {t}, k string, g double, i int, l long, x double, y double, f single, e timestamp, d {d}, c bool, "
    "b byte, h short, o date, z binary, s string(4)"
)
MOST_ROWS = 45

KEYS = ["a", "a", "b", "ß", "😀", "", None]
DOUBLES = [0.0, -0.0, 1.5, -1.5, 0.1, 1e300, -1e300, 1e-300, 5e-324, math.inf, -math.inf, math.nan, None, 2.0**53, 3.0]
DECIMALS = {
    "decimal(12,2)": ["0.00", "-1.25", "9999999999.99"],
    # Sums of two need more digits than there are; with the other sign they come back.
    "decimal(38,0)": ["1", "-6" + "0" * 37, "9" * 38],
    "decimal(38,6)": ["0.000001", "-6" + "0" * 31 + ".000000", "9" * 32 + ".999999"],
    "decimal(38,30)": ["0." + "0" * 29 + "1", "-60000000." + "0" * 30, "99999999." + "9" * 30],
}
LONGS = [0, 1, -1, 7, 2**63 - 1, -(2**63), 2**40, None]


@dataclass(frozen=True, slots=True)
class Shape:
    """What rows are made for: stimes are multiples of `scale`."""

    scale: int
    bucket: int
    decimal: str


def random_rows(random: Random, shape: Shape, lowest: int, until: int) -> list[Row]:
    buckets = (until - lowest) // shape.bucket
    empty = {random.randrange(buckets) for _ in range(buckets // 4)}
    rows: list[Row] = []
    for seq in range(random.randint(0, MOST_ROWS)):
        stime = lowest + random.randrange((until - lowest) // shape.scale) * shape.scale
        if rows and random.random() < 0.3:
            stime = random.choice(rows).stime
        if (stime - lowest) // shape.bucket in empty:
            continue
        if rows and random.random() < 0.15:
            twin = random.choice(rows)
            rows.append(Row(twin.stime, twin.values, (seq,)))
            continue
        rows.append(Row(stime, _values(random, shape, stime), (seq,)))
    return rows


def _values(random: Random, shape: Shape, stime: int) -> tuple[Any, ...]:
    x = random.choice(DOUBLES) if random.random() < 0.5 else random.uniform(-100, 100)
    f = random.choice([0.0, -0.0, 1.5, math.nan, None, nearest_single(3e38), nearest_single(0.1)])
    event = None if random.random() < 0.05 else stime + random.randint(-5 * shape.bucket, shape.bucket)
    return (
        stime // shape.scale,
        random.choice(KEYS),
        random.choice([0.0, -0.0, 1.0, math.nan, None]),
        random.choice([0, 1, 1, 2, -3, 2**31 - 1, -(2**31), None]),
        random.choice(LONGS),
        x,
        None if random.random() < 0.1 else random.uniform(-1e6, 1e6),
        f,
        event,
        random.choice([None, *map(Decimal, DECIMALS[shape.decimal])]),
        random.choice([True, False, None]),
        random.choice([0, 1, -1, 127, -128, None]),
        random.choice([0, 2, -7, 2**15 - 1, -(2**15), None]),
        random.choice([0, -1, 20_000, -700_000, 2_900_000, None]),
        random.choice([b"", b"\x00", b"a", b"\x7f\xff", b"\xff", None]),
        random.choice(["", "a", "ß", "😀bcd", "    ", None]),
    )
