"""Forms that only old files have: each was accepted by the old parser, and loads here."""

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.join import Join, JoinBuffer
from auroral.model.boxes.later import Later
from auroral.model.boxes.stateless import Filter
from auroral.model.checking import check
from auroral.model.diagram import Table
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


def test_a_function_that_repeats_the_order_field_loads() -> None:
    loaded = load(box("aggregate", {**AGGREGATE, "aggregate-function-output-name.0": "T"}, outs=["x"]))
    assert isinstance(next(loaded.diagram.boxes).spec, Later)
    assert loaded.warnings[0].place.line == 13
    (blocker,) = check(loaded.diagram).blockers
    assert "'t'" in blocker.what
    assert isinstance(spec("aggregate", {**AGGREGATE, "aggregate-function-output-name.0": "other"}), Aggregate)


@pytest.mark.parametrize("type_name", ["aggregate", "revisionaggregate"])
def test_groups_by_the_order_field_load(type_name: str) -> None:
    by_order = {**AGGREGATE, "group-by": "k, T"}
    more = {"processing-mode": "UPSTREAM"} if type_name == "revisionaggregate" else {}
    loaded = load('<output stream="x" schema="row"/>', box(type_name, {**by_order, **more}, outs=["x"]))
    assert isinstance(next(loaded.diagram.boxes).spec, Later)
    (odd,) = [w for w in loaded.warnings if "'t'" in w.what]
    assert odd.place.element.endswith("parameter 'group-by'")
    (blocker,) = check(loaded.diagram).blockers
    assert "does not run yet" in blocker.what and blocker.next_step


def test_values_in_order_of_arrival_say_why_they_do_not_run() -> None:
    arrival = {**AGGREGATE, "order-by": "TUPLENUM"}
    assert "order of arrival" in warning(box("aggregate", arrival)).what
    (blocker,) = check(load(box("aggregate", arrival)).diagram).blockers
    assert "order of arrival" in blocker.what


def test_a_number_of_tuples_may_be_written_as_a_float() -> None:
    found = spec("join", {**JOIN, "left-order-by": "TUPLES", "left-buffer-size": "3.0"}, ["a", "b"])
    assert isinstance(found, Join)
    assert found.left == JoinBuffer(3, tuples=True)


def test_an_if_as_an_operand() -> None:
    found = spec("filter", {"expression.0": "1 + if v > 1 then 2 else 3 > 2"})
    assert found == Filter(("1 + if v > 1 then 2 else 3 > 2",))
