"""Filter, map, union and the boxes that pass rows on."""

from decimal import Decimal

from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.diagram import Box
from reference.running import rows, run, run_box, shown


def test_filter_is_a_case_statement():
    given = rows((1, 5), (2, 15), (3, 25), (4, None))
    result = run_box(Filter(("v > 20", "v > 10"), else_port=True), "v int", given, outputs=3)
    assert shown(result, "o0") == [(3, 25)]
    assert shown(result, "o1") == [(2, 15)]
    # Null makes no predicate true, so the row is nobody's but the else-port's.
    assert shown(result, "o2") == [(1, 5), (4, None)]


def test_filter_without_else_port_drops():
    assert shown(run_box(Filter(("v > 20",)), "v int", rows((1, 5), (2, 21), (3, None)))) == [(2, 21)]


def test_map_keeps_stime_and_order():
    """D23."""
    result = run_box(Map((("twice", "v * 2"), ("at", "stime"))), "v int", rows((7, 1), (7, None)))
    assert shown(result) == [(7, None, 7), (7, 2, 7)]
    assert sorted(row.order for row in result.streams["o0"]) == [(0,), (1,)]


def test_the_largest_decimal_may_become_smaller():
    """By seed 155043599 of the random diagrams: Python's abs rounds to 28 digits, up to a number that does not fit."""
    given = rows((1, Decimal("9" * 38), 81), (2, Decimal("9" * 38), -81))
    result = run_box(Map((("m", "d - v"),)), "d decimal(38,0), v int", given)
    assert shown(result) == [(1, Decimal("9" * 36 + "18")), (2, None)]


def union(inputs, spec=None, outputs=("o0",), until=100):
    return run(inputs, [Box("u", spec or Union(), tuple(inputs), outputs)], outputs, until)


def test_union_orders_by_input_then_by_the_inputs_order():
    """D20: rows of equal stimes have one order."""
    result = union({"a": ("v int", rows((2, 1), (2, 2))), "b": ("v int", rows((1, 3), (2, 4)))})
    assert [(row.values, row.order) for row in sorted(result.streams["o0"], key=lambda r: r.values)] == [
        ((1,), (0, 0, None)),
        ((2,), (0, 1, None)),
        ((3,), (1, None, 0)),
        ((4,), (1, None, 1)),
    ]


def test_union_of_a_union_pads_all_order_columns():
    inputs = {name: ("v int", rows((1, value))) for value, name in enumerate("abc")}
    boxes = [Box("u", Union(), ("a", "b"), ("ab",)), Box("w", Union(), ("c", "ab"), ("o",))]
    result = run(inputs, boxes, ["o"])
    assert {row.values[0]: row.order for row in result.streams["o"]} == {
        0: (1, None, 0, 0, None),
        1: (1, None, 1, None, 0),
        2: (0, 0, None, None, None),
    }


def test_union_widens_to_the_common_type():
    big = 2**60 + 2**36 + 1
    given = {"a": ("v single", rows((1, 0.5))), "b": ("v long", rows((2, big), (3, None)))}
    # A long between two singles, just past the middle: by way of a double it would be rounded down.
    assert shown(union(given)) == [(1, 0.5), (2, float(2**60 + 2**37)), (3, None)]


def test_sunion_leaves_by_output_1():
    given = {"a": ("v int", rows((2, 1))), "b": ("v int", rows((1, 2)))}
    result = union(given, SUnion(1000), ("control", "o"))
    assert shown(result, "o") == [(1, 2), (2, 1)]
    assert shown(result, "control") == []


def test_sunion_before_a_join_keeps_its_streams_apart():
    """D22."""
    given = {"a": ("v int", rows((2, 1))), "b": ("w string", rows((1, "x")))}
    result = union(given, SUnion(1000), ("control", "o", "p"))
    assert (shown(result, "control"), shown(result, "o"), shown(result, "p")) == ([], [(2, 1)], [(1, "x")])


def test_delay_and_soutput_change_nothing():
    given = rows((3, 1), (1, 2))
    assert shown(run_box(Delay(5), "v int", given)) == [(1, 2), (3, 1)]
    result = run_box(SOutput(), "v int", given, outputs=2)
    assert (shown(result, "o0"), shown(result, "o1")) == ([], [(1, 2), (3, 1)])
