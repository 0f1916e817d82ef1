"""Whole diagrams: order, boundaries, flush, and what is refused."""

import math
from itertools import pairwise

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.apply import Apply
from auroral.model.boxes.stateless import Filter, Union
from auroral.model.checking import check
from auroral.model.diagram import Box, Diagram, Input, Output
from auroral.model.errors import DiagramError
from auroral.model.schema import schema
from auroral.model.windows import StimeWindow
from auroral.reference.apply import Stime
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row, canonical_key
from reference.running import rows, run, run_box, shown


def test_outputs_are_in_canonical_order():
    values = [math.nan, math.inf, 0.0, -0.0, None, -1.0]
    result = run_box(Filter(("stime >= 0",)), "v double, w int", rows(*((1, v, 0) for v in values), (0, 9.0, 0)))
    assert repr([v for _, v, _ in shown(result)]) == repr([9.0, None, -1.0, -0.0, 0.0, math.inf, math.nan])


def test_signs_of_zeros_come_after_all_columns():
    a, b, c = Row(1, (0.0, 1)), Row(1, (-0.0, 2)), Row(1, (-0.0, 1))
    assert sorted([a, b, c], key=canonical_key) == [c, a, b]
    assert [math.copysign(1, row.values[0]) for row in sorted([a, b, c], key=canonical_key)] == [-1, 1, -1]


def test_strings_booleans_and_bytes_go_by_their_bytes():
    given = rows((1, "é", True, b"\xff"), (1, "z", True, b"\x00"), (1, "z", False, b"\x01"), (1, "Z", None, None))
    result = run_box(Filter(("stime >= 0",)), "s string, b bool, x binary", given)
    assert [v[1:] for v in shown(result)] == [
        ("Z", None, None),
        ("z", False, b"\x01"),
        ("z", True, b"\x00"),
        ("é", True, b"\xff"),
    ]


def chain(until, flush):
    boxes = [
        Box("fine", Aggregate((("n", "count()"),), StimeWindow(10, 10)), ("s",), ("f",)),
        Box("coarse", Aggregate((("t", "sum(n)"),), StimeWindow(100, 100)), ("f",), ("o",)),
    ]
    return run({"s": ("v int", rows((5, 0), (12, 0), (13, 0)))}, boxes, ["o", "f"], until, flush)


def test_flush_goes_through_the_whole_diagram():
    open_still = chain(15, flush=False)
    assert (shown(open_still, "f"), shown(open_still, "o")) == ([(9, 1)], [])
    flushed = chain(15, flush=True)
    assert (shown(flushed, "f"), shown(flushed, "o")) == ([(9, 1), (19, 2)], [(99, 3)])


def test_a_later_boundary_only_adds_rows():
    results = [shown(chain(until, flush=False), "f") for until in range(0, 40, 3)]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(results))


def test_order_sensitive_boxes_see_rows_in_processing_order():
    boxes = [
        Box("u", Union(), ("a", "b"), ("ab",)),
        Box(
            "agg",
            Aggregate((("f", "firstval(v)"), ("l", "lastval(v)")), StimeWindow(10, 10)),
            ("ab",),
            ("o",),
        ),
    ]
    inputs = {"a": ("v int", rows((3, 1), (2, 2))), "b": ("v int", rows((3, 3), (2, 4)))}
    assert shown(run(inputs, boxes, ["o"], until=10), "o") == [(9, 2, 3)]


class TestApply:
    """The reference calls a stand-in with rows where the engine calls the function with DataFrames."""

    inputs = {"s": ("v int", rows((1, 1), (12, 2), (38, 3)))}  # noqa: RUF012

    def run(self, past, function, until=40, flush=False):
        box = Box("ap", Apply(lambda frame: frame, schema("t int"), past), ("s",), ("o",))
        return run(self.inputs, [box], ["o"], until, flush, functions={"ap": function} if function else None)

    def apply(self, past, function, until=40, flush=False):
        result = self.run(past, function, until, flush)
        return [(row.stime, *row.values, *row.order) for row in result.streams["o"]]

    def test_results_without_stime_lie_at_the_buckets_end(self):
        total = lambda given: [(None, (sum(row.values[0] for row in given),))]  # noqa: E731
        assert self.apply(0, total) == [(9, 1, 1), (19, 2, 2), (39, 3, 3)]
        # Buckets 10..19 and 20..29 still see the row of the bucket before them.
        assert self.apply(9, total) == [(9, 1, 1), (19, 3, 3), (29, 2, 2), (39, 3, 3)]

    def test_results_of_earlier_buckets_are_not_given_again(self):
        assert self.apply(30, lambda given: [(row.stime, row.values) for row in given]) == [
            (1, 1, 1),
            (12, 2, 2),
            (38, 3, 3),
        ]

    @pytest.mark.parametrize("past", [0, 10, 30])
    @pytest.mark.parametrize("moved", [-9, -10, -1000, 1000])
    def test_a_result_that_no_bucket_can_give_is_counted_once(self, past, moved):
        """However many buckets see its row."""
        result = self.run(past, lambda given: [(row.stime + moved, row.values) for row in given], until=80)
        assert shown(result, "o") == []
        assert result.ledger == {("ap", "rejected"): 3}

    @pytest.mark.parametrize("past", [0, 1, 5, 9, 10, 11])
    @pytest.mark.parametrize("moved", [0, 2, 8, 9, 11, 13, 19, 21, 30])
    def test_every_result_is_given_or_counted(self, past, moved):
        """Also where the horizon is not of whole buckets: what a bucket leaves to a later one, that one makes again."""
        result = self.run(past, lambda given: [(row.stime + moved, row.values) for row in given], until=100)
        assert len(shown(result, "o")) + result.ledger.get(("ap", "rejected"), 0) == 3

    def test_a_result_without_a_stime_is_counted_once(self):
        assert self.run(30, lambda given: [(Stime.NULL, row.values) for row in given], until=80).ledger == {
            ("ap", "rejected"): 3
        }

    def test_earlier_results_may_change_with_newer_rows(self):
        """Each row with the number of rows seen: those of earlier buckets were given then, as they were then."""
        result = self.run(30, lambda given: [(row.stime, (len(given),)) for row in given])
        assert shown(result, "o") == [(1, 1), (12, 2), (38, 3)]
        assert not result.ledger

    def test_pairs_that_lie_before_their_later_row_are_counted(self):
        """(1, 12) in bucket 10..19, (1, 38) and (12, 38) in 30..39: no bucket gives the earlier stime any more."""

        def pairs(given):
            return [(a.stime, (b.values[0],)) for a in given for b in given if a.stime < b.stime]

        result = self.run(30, pairs, until=80)
        assert shown(result, "o") == []
        assert result.ledger == {("ap", "rejected"): 3}

    def test_a_bucket_that_is_cut_waits(self):
        same = lambda given: [(row.stime, row.values) for row in given]  # noqa: E731
        assert self.apply(0, same, until=39) == [(1, 1, 1), (12, 2, 2)]
        assert self.apply(0, same, until=39, flush=True)[-1] == (38, 3, 3)

    def test_a_missing_stand_in_is_named(self):
        with pytest.raises(DiagramError, match=r"box 'ap' .*\n.*\n.*functions=\{'ap'"):
            self.apply(0, None)


@pytest.mark.parametrize(
    ("sources", "complaint"),
    [({}, "no rows are given for input 's'"), ({"S": [], "s": []}, "unknown input 'S'")],
)
def test_sources_must_be_the_inputs(sources, complaint):
    checked = check(Diagram("d", inputs=(Input("s", schema("v int")),), outputs=(Output("s"),)))
    with pytest.raises(DiagramError, match=complaint):
        evaluate(checked, sources, 10)


def test_an_input_may_be_an_output():
    checked = check(Diagram("d", inputs=(Input("s", schema("v int")),), outputs=(Output("s"),)))
    result = evaluate(checked, {"s": rows((3, 1), (1, 2), (9, 9))}, 9)
    assert shown(result, "s") == [(1, 2), (3, 1)]
