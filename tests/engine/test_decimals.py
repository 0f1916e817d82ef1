"""Sums and means of decimals with up to 38 digits: exact on every path, also where a part of a sum has too many digits."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.engine.accumulate import Total
from auroral.model import types
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.diagram import Box
from auroral.model.windows import Landmark, StimeWindow
from engine.running import checked_diagram, rows, run_all
from engine.user_code import register_aggregates

register_aggregates()

SCALES = (0, 2, 6, 7, 17, 18, 19, 30, 38)
MOST = 10**38 - 1
LARGE = 6 * 10**37
UNITS = [
    *((1, MOST), (2, 1), (3, -1), (4, -MOST)),  # too many digits on the way, none at last
    *((11, LARGE), (12, LARGE), (21, 1)),  # too many in the first part; the second must not pass for the whole
    *((31, -LARGE), (32, -LARGE), (33, LARGE), (34, None)),
    *((41, 10**18 - 1), (42, 1), (43, -(10**18)), (51, 123456789012345678901234567890123), (52, -5)),
    *((61, None), (62, -(10**20)), (71, MOST), (81, MOST), (91, -MOST), (101, 1)),
]
CALLS = (("s", "sum(v)"), ("m", "avg(v)"), ("lowest", "min(v)"), ("values", "count(v)"))


def decimal(units, scale):
    return None if units is None else Decimal((units < 0, tuple(map(int, str(abs(units)))), -scale))


@pytest.mark.parametrize("scale", SCALES)
@given(st.lists(st.integers(-MOST, MOST) | st.sampled_from([MOST, -MOST, LARGE, 10**28, -(10**29), 0, 1]), min_size=1))
def test_totals_of_scans_keep_every_digit(scale, units):
    kind, whole = types.decimal(38, scale), sum(units)
    for function, expected in (
        ("sum", decimal(whole, scale) if abs(whole) <= MOST else None),
        ("avg", float(Fraction(whole, 10**scale)) / len(units)),
    ):
        total = Total(function, kind, kind if function == "sum" else types.DOUBLE)
        for one in units:
            total.add([decimal(one, scale)])
        assert total.result() == expected


@pytest.mark.spark
def test_sums_of_any_cut_are_those_of_the_reference(spark, tmp_path):
    """Windows that are cells, windows of slices, windows and folds that are scanned; small, large and in one batch."""
    boxes, sources, ddl = [], {}, {}
    for scale in (0, 7, 18, 38):
        stream = f"in{scale}"
        ddl[stream] = f"v decimal(38,{scale})"
        sources[stream] = rows(*((stime, decimal(units, scale)) for stime, units in UNITS))
        for name, window, calls in (
            ("cells", StimeWindow(10, 10), CALLS),
            ("slices", StimeWindow(60, 5), CALLS),
            ("scanned", StimeWindow(40, 20), (*CALLS, ("u", "listed(v)"))),
            ("running", Landmark(None), CALLS),
        ):
            boxes.append(Box(f"{name}{scale}", Aggregate(calls, window), (stream,), (f"{name}{scale}",)))
    found = run_all(spark, tmp_path, checked_diagram(ddl, boxes), sources, 120)
    first, *_ = found.outputs["cells0"]
    assert first == (9, Decimal(0), 0.0, Decimal(-MOST), 4)
    assert found.outputs["cells0"][1] == (19, None, 6e37, Decimal(LARGE), 2)
    assert None in {row[1] for row in found.outputs["slices38"]}
