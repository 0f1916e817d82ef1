"""X1: every element and attribute of diagram files."""

import pytest

from auroral.model import types
from auroral.model.boxes.stateless import Filter
from auroral.model.checking import check
from auroral.model.diagram import ConnectionPointView, Query, Table
from auroral.model.xml import read_diagram
from model.xml.compose import JOIN, box, diagram, load, problem, problems, warning

FILTER = {"expression.0": "v > 1"}


def test_inputs_and_outputs() -> None:
    loaded = load(
        '<input stream="C" schema="row" node="host:15001"/>',
        box("filter", FILTER),
        '<output stream="OUT" schema="Row"/>',
    )
    given = loaded.diagram.input("c")
    assert given is not None
    assert (given.node, given.place.line, given.place.file) == ("host:15001", 5, "f.xml")
    output = loaded.diagram.output("out")
    assert output is not None
    assert output.schema == given.schema
    assert output.availability is None


def test_old_endpoints_are_tolerated() -> None:
    loaded = load('<input stream="c" schema="row" endpoint=":15000"/>', '<output stream="c" endpoint=":25000"/>')
    assert [w.place.line for w in loaded.warnings] == [5, 6]
    assert all("endpoint" in w.what for w in loaded.warnings)


@pytest.mark.parametrize("name", ["byte", "short", "int", "long", "single", "double", "timestamp", "Int", "DOUBLE"])
def test_field_types(name: str) -> None:
    diagram = load(f'<schema name="s"><field name="x" type="{name}"/></schema>').diagram
    assert dict(diagram.schemas)["s"]["x"] == types.parse_type(name)


def test_strings_have_sizes() -> None:
    loaded = load('<schema name="s"><field name="x" type="String" size="7"/></schema>')
    assert dict(loaded.diagram.schemas)["s"]["x"] == types.string(7)
    missing = problem('<schema name="s">', '<field name="x" type="string"/></schema>')
    assert "without a size" in missing.what
    assert missing.place.line == 6
    assert missing.place.element == "schema 's', field 'x'"
    assert "'0'" in problem('<schema name="s"><field name="x" type="string" size="0"/></schema>').what
    assert "no size" in warning('<schema name="s"><field name="x" type="int" size="4"/></schema>').what


def test_wrong_schemas() -> None:
    found = problem('<schema name="s"><field name="x" type="inte"/></schema>')
    assert "'inte' is not a field type" in found.what
    twice = '<schema name="s"><field name="x" type="int"/><field name="X" type="int"/></schema>'
    assert "there twice" in problem(twice, '<input stream="c" schema="S"/>').what
    assert "schema 'row' is there twice" in problem('<schema name="row"/>').what
    unknown = problem('<input stream="c" schema="rwo"/>', box("filter", FILTER, ins=["c"]))
    assert (unknown.what, unknown.next_step, unknown.place.line) == (
        "unknown schema 'rwo'",
        "did you mean 'row'?",
        5,
    )


def test_a_misspelt_type_does_not_hide_what_else_is_wrong() -> None:
    """X7: the rest of the file is checked with the type that was meant, and with a string of any size."""
    found = problems(
        '<schema name="s"><field name="x" type="dobule"/><field name="y" type="string"/></schema>',
        '<input stream="c" schema="s"/>',
        box("filter", {"expression.0": "x > 1.0 and z > 1"}, name="one", ins=["c"], outs=["d"]),
        box("map", {"expression.0": "y + 1", "output-field-name.0": "m"}, name="two", ins=["c"], outs=["e"]),
    )
    expected = ["'dobule' is not", "without a size", "unknown field 'z'", "+ does not work"]
    assert [part in p.what for part, p in zip(expected, found, strict=True)] == [True] * 4


@pytest.mark.parametrize("array", ["int(0...9)", "double(*...*, 0...3)", "row(0...*)", "grid", "row"])
def test_arrays_are_refused(array: str) -> None:
    found = problems(
        '<type name="grid" array="int(0...9)"/>',
        f'<schema name="s"><field name="x" type="{array}"/></schema>',
    )
    assert [p.place.line for p in found] == [5, 6]
    assert all("array" in p.what for p in found)


def test_queries_and_boxes() -> None:
    loaded = load(
        '<query name="Grid" node=":15002">',
        box("filter", FILTER, name="One", extra='node="pair"'),
        "</query>",
    )
    (query,) = loaded.diagram.queries
    assert (query.name, query.node) == ("Grid", ":15002")
    (found,) = query.boxes
    assert (found.name, found.node, found.inputs, found.outputs) == ("one", "pair", ("a",), ("out",))
    assert found.spec == Filter(("v > 1",))
    assert (found.place.line, found.place.element) == (6, "box 'One'")


def test_a_box_outside_a_query_is_a_query() -> None:
    loaded = load(box("union", name="Alone", ins=["a", "b"]))
    assert [(q.name, [b.name for b in q.boxes]) for q in loaded.diagram.queries] == [("alone", ["alone"])]


def test_queries_of_one_name_are_one() -> None:
    loaded = load(
        '<query name="q">' + box("union", name="x") + "</query>",
        '<query name="q">' + box("union", name="y", outs=["z"]) + "</query>",
    )
    assert [len(q.boxes) for q in loaded.diagram.queries] == [2]
    assert "there twice" in loaded.warnings[0].what


def test_tables_and_access() -> None:
    table = (
        '<table name="Seen" schema="row" stream="a" node=":1"><key field="K"/><index field="t"/><index/>'
        '<parameter name="create" value="1"/></table>'
    )
    insert = (
        '<box name="put" type="insert"><in stream="a"/><access table="SEEN"/>'
        '<parameter name="sql" value="insert into SEEN values (input.T, input.k, v)"/></box>'
    )
    loaded = load('<query name="q">', table, insert, "</query>")
    (query,) = loaded.diagram.queries
    row = dict(loaded.diagram.schemas)["row"]
    assert query.tables == (Table("seen", row, ("k",), ("t",), "a", ":1", (("create", "1"),)),)
    assert query.boxes[0].access == ("seen",)
    assert query.boxes[0].outputs == ()


def test_wrong_tables() -> None:
    assert (
        "unknown field 'kk'"
        in problem('<query name="q"><table name="s" schema="row"><key field="kk"/></table></query>').what
    )
    assert "no key" in problem('<query name="q"><table name="s" schema="row"/></query>').what
    insert = '<box name="put" type="insert"><in stream="a"/><access table="sen"/><parameter name="sql" value="delete from seen"/></box>'
    table = '<table name="seen" schema="row"><key field="k"/></table>'
    assert problems(f'<query name="q">{table}{insert}</query>')[0].next_step == "did you mean 'seen'?"


def test_a_table_outside_a_query() -> None:
    loaded = load('<table name="s" schema="row"><key field="k"/></table>')
    assert [(q.name, len(q.tables)) for q in loaded.diagram.queries] == [("s", 1)]


def test_connection_point_views() -> None:
    loaded = load(
        '<connection_point_view name="Back" stream="A"><order field="T"/><size value="100"/>'
        '<parameter name="p" value="1"/></connection_point_view>',
        '<connection_point_view name="part" stream="a"><order/><range start="-5" end="9"/><radius value="3"/>'
        "</connection_point_view>",
        '<box name="x" type="union"><in stream="a" connection_point_view="BACK"/><in stream="b"/>'
        '<out stream="o"/></box>',
    )
    assert loaded.diagram.views == (
        ConnectionPointView("back", "a", "t", 100, parameters=(("p", "1"),)),
        ConnectionPointView("part", "a", None, None, -5, 9, 3),
    )
    assert next(loaded.diagram.boxes).port_views == ("back", None)


def test_wrong_views() -> None:
    assert (
        "'many'"
        in problem('<connection_point_view name="v" stream="a"><size value="many"/></connection_point_view>').what
    )
    both = '<size value="1"/><range start="1" end="2"/>'
    assert "both" in problem(f'<connection_point_view name="v" stream="a">{both}</connection_point_view>').what
    assert "stream 'q'" in warning('<connection_point_view name="v" stream="q"/>').what


def test_a_view_that_only_a_port_names_is_of_its_stream() -> None:
    named = (
        '<box name="x" type="union"><in stream="b"/><in stream="A" connection_point_view="V"/><out stream="o"/></box>'
    )
    loaded = load(named)
    assert loaded.warnings == ()
    assert loaded.diagram.views == (ConnectionPointView("v", "a"),)
    assert next(loaded.diagram.boxes).port_views == (None, "v")
    near = warning('<connection_point_view name="vw" stream="a"/>', named)
    assert near.next_step == "did you mean 'vw'?"


def test_fields_of_views_and_of_update_queues_are_looked_up() -> None:
    union = (
        '<box name="x" type="union"{}><in stream="a"/><in stream="b" {}/><out stream="o"/></box><output stream="o"/>'
    )
    view = '<connection_point_view name="v" stream="a"><order field="{}"/></connection_point_view>'
    right = load(union.format(' update_queue="1" key="k,T"', 'key="v"'), view.format("t"))
    assert check(right.diagram).warnings == ()
    wrong = load(union.format(' update_queue="1" key="k,nokey"', 'key="v"'), view.format("nosuch"))
    key, order = check(wrong.diagram).warnings
    assert "the update queue before 'a' does nothing" in key.what and "no field 'nokey'" in key.what
    assert "the stream has no field 'nosuch'" in order.what
    assert (key.place.line, order.place.line) == (5, 6)


def test_modify_changes_parameters_and_inputs() -> None:
    loaded = load(
        '<modify box="IT"><parameter name="Expression.0" value="V > 2"/><in stream="b"/></modify>',
        box("filter", FILTER),
    )
    (found,) = loaded.diagram.boxes
    assert found.spec == Filter(("v > 2",))
    assert found.inputs == ("b",)
    join = load(box("join", JOIN, ins=["a", "a"]), '<modify box="it"><in stream="b" port="1"/></modify>')
    assert next(join.diagram.boxes).inputs == ("a", "b")


def test_modify_of_tables() -> None:
    table = '<table name="s" schema="row"><key field="k"/><parameter name="type" value="btree"/></table>'
    loaded = load('<modify table="s"><parameter name="type" value="hash"/></modify>', table)
    assert loaded.diagram.queries[0].tables[0].parameters == (("type", "hash"),)


def test_wrong_modify() -> None:
    unknown = problem(
        box("filter", FILTER, name="split"), '<modify box="splt"><parameter name="x" value="1"/></modify>'
    )
    assert (unknown.next_step, unknown.place.line) == ("did you mean 'split'?", 9)
    assert "exactly one" in str(problem("<modify/>"))
    assert "port is '7'" in problem(box("filter", FILTER), '<modify box="it"><in stream="b" port="7"/></modify>').what


def test_not_applied() -> None:
    loaded = load('<query name="Q"/>', '<delete query="q"/>', '<publish stream="a"/>', '<subscribe stream="b"/>')
    assert [w.place.line for w in loaded.warnings] == [6, 7, 8]
    assert "no such query" in warning('<delete query="q"/>').what
    assert loaded.diagram.queries == (Query("Q"),)


def test_unknown_elements_and_attributes_warn() -> None:
    loaded = load('<querry name="q"/>', '<query name="q" nod="x"/>', '<field name="x" type="int"/>', "<zzz/>")
    assert [(w.place.line, w.next_step) for w in loaded.warnings] == [
        (5, "did you mean 'query'?"),
        (6, "did you mean 'node'?"),
        (7, "move it into schema"),
        (8, None),
    ]


def test_missing_attributes() -> None:
    found = problems("<input/>", '<input strem="x" schema="row"/>', '<output schema="row"/>', '<query name=" "/>')
    assert [(p.place.line, p.what) for p in found] == [
        (5, "<input> needs the attribute 'stream'"),
        (5, "<input> needs the attribute 'schema'"),
        (6, "<input> needs the attribute 'stream' and has 'strem'"),
        (7, "<output> needs the attribute 'stream'"),
        (8, "attribute 'name' is empty"),
    ]


def test_a_box_needs_an_input_and_its_streams() -> None:
    assert "reads no stream" in problem('<box name="x" type="union"><out stream="o"/></box>').what
    found = problems('<box name="x" type="filter">', "<in/><out/>", '<parameter name="x"/></box>')
    assert [p.place.line for p in found] == [5, 6, 6, 7]


def test_long_names_are_refused() -> None:
    assert "256 characters" in problem(f'<query name="{"q" * 256}"/>').what


def test_the_name_of_a_diagram() -> None:
    assert read_diagram(diagram(), "dir/net.xml").diagram.name == "net"
    assert read_diagram(diagram(), "dir/net.xml", name="other").diagram.name == "other"
