"""Forms that only old files have: each was accepted by the old parser, and loads here."""

import pytest

from auroral.model.boxes.join import Join, JoinBuffer
from auroral.model.boxes.stateless import Filter
from auroral.model.checking import check
from auroral.model.diagram import Stamp, Table
from auroral.model.stamps import with_stamps
from model.xml.compose import AGGREGATE, JOIN, box, load, problem, problems, spec, warning

FILTER = {"expression.0": "v > 1"}


def test_a_query_may_declare_what_it_needs() -> None:
    loaded = load(
        '<query name="q">',
        '<schema name="Pair"><field name="n" type="long"/></schema>',
        '<input stream="Own" schema="pair"/><output stream="Big" schema="pair"/>',
        '<connection_point_view name="recent" stream="big"><size value="9"/></connection_point_view>',
        box("filter", {"expression.0": "n > 1"}, ["own"], ["big"]),
        "</query>",
    )
    assert [source.stream for source in loaded.diagram.inputs] == ["a", "b", "own"]
    assert [output.stream for output in loaded.diagram.outputs] == ["big"]
    assert [view.name for view in loaded.diagram.views] == ["recent"]
    assert loaded.warnings == ()
    assert str(check(loaded.diagram).streams["big"].schema) == "n long"


def test_array_types_inside_a_query_are_refused_too() -> None:
    found = problem('<query name="q"><type name="grid" array="int(0...9)"/></query>')
    assert "arrays are not supported" in found.what


@pytest.mark.parametrize("bounds", ["int(9)", "byte (319, 239)", "Row(4)"])
def test_an_upper_bound_alone_is_an_array_too(bounds: str) -> None:
    found = problem(f'<schema name="s"><field name="x" type="{bounds}"/></schema>')
    assert "is an array" in found.what


def test_an_input_that_a_box_makes_only_declares_the_stream() -> None:
    loaded = load(
        '<input stream="Middle" schema="row"/>',
        box("filter", FILTER, ["a"], ["middle"], "one"),
        '<query name="q">' + box("filter", FILTER, ["middle"], ["end"], "two") + "</query>",
        '<output stream="end"/>',
    )
    assert [source.stream for source in loaded.diagram.inputs] == ["a", "b"]
    assert [(w.what, w.place.line) for w in loaded.warnings] == [
        ("<input> of stream 'middle' is ignored: a box makes the stream", 5)
    ]
    check(loaded.diagram).runnable()


@pytest.mark.parametrize(
    "keys", ['<key field="K, t"/>', '<key field="k"/><key field="t"/>', '<parameter name="Key" value="k,T"/>']
)
def test_keys_of_a_table_in_one_list(keys: str) -> None:
    loaded = load(f'<query name="q"><table name="seen" schema="row">{keys}</table></query>')
    (table,) = loaded.diagram.queries[0].tables
    assert isinstance(table, Table)
    assert table.keys == ("k", "t")


def test_wrong_keys_in_a_list() -> None:
    found = problems('<table name="seen" schema="row">\n<key field="k,tt"/></table>', "<table/>")
    assert [(p.what, p.place.line) for p in found][:1] == [("unknown field 'tt'", 6)]


@pytest.mark.parametrize("by", ["VALUES", "TUPLES"])
def test_a_function_that_repeats_the_order_field_has_its_place(by: str) -> None:
    loaded = load(
        box("aggregate", {**AGGREGATE, "window-size-by": by, "aggregate-function-output-name.0": "T"}, outs=["x"])
    )
    assert loaded.warnings[0].place.line == 13
    assert "it has the function's" in loaded.warnings[0].what
    checked = check(loaded.diagram)
    assert str(checked.runnable().streams["x"].schema) == "t long"


@pytest.mark.parametrize("by", ["VALUES", "TUPLES"])
def test_groups_by_the_order_field_have_it_once(by: str) -> None:
    given = {**AGGREGATE, "window-size-by": by, "group-by": "k, T"}
    loaded = load(box("aggregate", given, outs=["x"]))
    (odd,) = [w for w in loaded.warnings if "'t'" in w.what]
    assert odd.place.element.endswith("parameter 'group-by'")
    assert str(check(loaded.diagram).runnable().streams["x"].schema) == "k string(4), t int, agg_0 long"


def test_values_in_order_of_arrival_have_no_order_field() -> None:
    arrival = {**AGGREGATE, "order-by": "TUPLENUM"}
    checked = check(with_stamps(load(box("aggregate", arrival, ["a"], ["x"])).diagram)[0])
    assert checked.diagram.inputs[0].stamp == Stamp(), "the order of arrival is not that of the field"
    assert str(checked.runnable().streams["x"].schema) == "agg_0 long"
    assert "slack does nothing" in warning(box("aggregate", {**arrival, "slack": "2"})).what


def test_windows_without_rows_give_nothing() -> None:
    assert load(box("aggregate", {**AGGREGATE, "drop-empty-outputs": "1"})).warnings == ()
    assert "gives nothing" in warning(box("aggregate", {**AGGREGATE, "drop-empty-outputs": "0"})).what


def test_a_number_of_tuples_may_be_written_as_a_float() -> None:
    found = spec("join", {**JOIN, "left-order-by": "TUPLES", "left-buffer-size": "3.0"}, ["a", "b"])
    assert isinstance(found, Join)
    assert found.left == JoinBuffer(3, tuples=True)


def test_an_if_as_an_operand() -> None:
    found = spec("filter", {"expression.0": "1 + if v > 1 then 2 else 3 > 2"})
    assert found == Filter(("1 + if v > 1 then 2 else 3 > 2",))
