"""The order key of pairs tells all of them apart that are not equal."""

from __future__ import annotations

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.join import Join, JoinBuffer, JoinKind
from auroral.model.diagram import Box
from auroral.model.windows import StimeWindow
from reference.running import rows, run


def test_pairs_of_rows_that_differ_in_time_alone_have_an_order() -> None:
    """Results of an aggregate are ordered by their group: those of one group, at two times, meet one row of the other side."""
    counts = Aggregate((("n", "count()"),), StimeWindow(5, 5), ("k",))
    for kind in JoinKind:
        pairs = Join("left.k = right.k", JoinBuffer(20), JoinBuffer(20), (("n", "left.n"),), kind)
        boxes = [Box("counts", counts, ("s",), ("c",)), Box("pairs", pairs, ("c", "t"), ("p",))]
        given = {"s": ("k int", rows((0, 1), (5, 1), (6, 1))), "t": ("k int", rows((12, 1)))}
        found = run(given, boxes, ["p"]).streams["p"]
        assert [row.values for row in found] == [(1,), (2,)]
        assert len({(row.stime, row.order) for row in found}) == 2
