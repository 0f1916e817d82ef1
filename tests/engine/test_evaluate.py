"""Ranges that are narrower than the segments that they are read from."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

import auroral
from auroral.engine.edgelog import STABLE, Segment, parquet_segment
from auroral.engine.evaluate import Engine, Limits
from engine.evaluators import by_reference, shown, source_table
from engine.running import rows

pytestmark = pytest.mark.spark

GIVEN = rows(*((i, i, i % 3) for i in range(40)))


@pytest.mark.parametrize("limits", [Limits(), Limits(0), Limits(0, 0)], ids=["small", "middle", "large"])
@pytest.mark.parametrize("kind", ["table", "files"])
def test_a_row_counts_in_its_own_range_alone(spark, tmp_path, kind, limits):
    d = auroral.diagram("d", bucket="10us")
    given = d.input("in", "t long, k long", stime="t", unit="us")
    given.filter("some", "k > 0").output()
    checked = d.check()
    engine = Engine(spark, checked, tmp_path / "log", limits=limits)
    table, path = source_table(engine.source("in"), GIVEN), tmp_path / "given.parquet"
    if kind == "table":
        engine.offer("in", Segment(0, 40, STABLE, table.num_rows, table))
    else:
        pq.write_table(table, path)
        engine.offer("in", parquet_segment(0, 40, STABLE, [path]))
    (edge,) = engine.small.outputs
    # What a process that was killed left in the folder does not count.
    left = tmp_path / "log" / "some-1.parquet" / "part-left.parquet"
    left.parent.mkdir(parents=True)
    pq.write_table(table.select(["__stime", "t", "k"]), left)
    found = [shown(engine.evaluate(lo, lo + 20).outputs["some"].load(edge)) for lo in (0, 20)]
    assert sorted(found[0] + found[1]) == by_reference(checked, {"in": GIVEN}, 40).outputs["some"]
