"""X2: the six parsing rules of the old parser."""

import pytest

from auroral.model.boxes.serialize import SOutput
from auroral.model.boxes.stateless import Filter, Map, TypedMap
from auroral.model.boxes.tables import Select
from auroral.model.checking import check
from auroral.model.diagram import QueueOptions
from auroral.model.expression.evaluate import evaluate
from auroral.model.xml import read_diagram
from auroral.model.xml.folding import fold_expression
from model.xml.compose import AGGREGATE, JOIN, box, diagram, load, problem, problems, spec, warning

FILTER = {"expression.0": "v > 1"}


def test_rule_1_order_is_free() -> None:
    head, *rest = diagram(box("filter", FILTER)).removesuffix("</borealis>\n").splitlines()
    turned = "\n".join([head, *rest[3:], *rest[:3], "</borealis>"])
    assert read_diagram(turned).diagram == read_diagram(diagram(box("filter", FILTER))).diagram


def test_rule_2_names_are_lower_cased() -> None:
    (found,) = load(box("FILTER", {"Expression.0": "V > T"}, ins=["A"], outs=["Out"], name="Big")).diagram.boxes
    assert (found.name, found.inputs, found.outputs) == ("big", ("a",), ("out",))
    assert found.spec == Filter(("v > t",))


def test_rule_2_holds_for_columns_of_data() -> None:
    assert all(given.any_case for given in load(box("union")).diagram.inputs)


def test_rule_2_fields_in_parameters() -> None:
    aggregate = spec("aggregate", {**AGGREGATE, "order-on-field": "T", "group-by": "K, V"})
    assert aggregate == spec("aggregate", {**AGGREGATE, "group-by": "k,v"})
    assert spec("map", {"expression.0": "T", "output-field-name.0": "Time"}) == Map((("time", "t"),))
    assert spec("join", {**JOIN, "predicate": "LEFT.K = Right.k", "left-order-on-field": "T"}, ["a", "b"]) == spec(
        "join", JOIN, ["a", "b"]
    )


def test_rule_2_literals_keep_their_case_with_a_warning() -> None:
    body = box("filter", {"expression.0": """K = 'NoRTH' and k != "s" """})
    (found,) = load(body).diagram.boxes
    assert found.spec == Filter(("""k = 'NoRTH' and k != "s\"""",))
    said = warning(body)
    assert "'NoRTH'" in said.what
    assert said.place.line == 7


def test_rule_2_predicates_never_lost_their_literals() -> None:
    loaded = load(box("join", {**JOIN, "predicate": "Left.k = 'X'"}, ["a", "b"]))
    assert loaded.warnings == ()
    assert next(loaded.diagram.boxes).spec.predicate == "left.k = 'X'"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "folded", "kept"),
    [
        ("A + 1.5F", "a + 1.5f", ()),
        ("""A = "It's" """, """a = "It's" """, ('"It\'s"',)),
        (r"A = 'd:\' or B = 'D:\New'", r"a = 'd:\\' or b = 'D:\\New'", (r"'D:\New'",)),
        ("""FIELD( "Odd Name" ) = 'Q'""", """field( "odd name" ) = 'Q'""", ("'Q'",)),
        ("myfield('X')", "myfield('X')", ("'X'",)),
        ("A = 'open", "a = 'open", ()),
        ("", "", ()),
    ],
)
def test_rule_2_folding(text: str, folded: str, kept: tuple[str, ...]) -> None:
    assert fold_expression(text) == (folded, kept)


def test_backslashes_in_files_are_characters() -> None:
    loaded = load(box("map", {"expression.0": r"'C:\' + 'd:\new'", "output-field-name.0": "x"}))
    (found,) = check(loaded.diagram).boxes
    assert isinstance(found.typed, TypedMap)
    ((_, typed),) = found.typed.columns
    assert evaluate(typed, {}) == r"C:\d:\new"
    statement = {"sql": r"select x from t where y = 'A:\'"}
    assert spec("select", statement) == Select(r"select x from t where y = 'A:\\'")


def test_rule_3_queue_options_are_inherited() -> None:
    loaded = load(
        '<query name="q" queue_type="4">',
        '<box name="x" type="union" key="K"><in stream="a"/><in stream="b" queue_type="8"/><out stream="o"/></box>',
        '<box name="y" type="union" update_queue="0"><in stream="a"/><out stream="p"/></box>',
        "</query>",
        root='<borealis update_queue="1">',
    )
    assert loaded.diagram.queue == QueueOptions(True)
    (query,) = loaded.diagram.queries
    assert query.queue == QueueOptions(True, 4)
    x, y = query.boxes
    assert x.queue == QueueOptions(True, 4, "k")
    assert x.port_queues == (QueueOptions(True, 4, "k"), QueueOptions(True, 8, "k"))
    assert (y.queue, y.port_queues) == (QueueOptions(False), ())


@pytest.mark.parametrize("options", ['update_queue="0" key="k"', 'update_queue="0" queue_type="1"'])
def test_rule_3_a_queue_that_is_off_has_no_details(options: str) -> None:
    found = problem(f'<query name="q" {options}/>')
    assert "update_queue is 0" in found.what
    assert found.place.line == 5


def test_rule_3_wrong_values() -> None:
    found = problems('<query name="q" queue_type="9"/>', '<query name="r" update_queue="maybe"/>')
    assert [p.what for p in found] == ["queue_type is '9'", "update_queue is 'maybe'"]
    assert found[0].allowed is not None
    assert "0 fifo" in found[0].allowed


def test_rule_3_off_outside_and_details_inside() -> None:
    assert "update_queue is 0" in warning('<query name="q" key="k"/>', root='<borealis update_queue="0">').what


def test_rule_5_numbered_parameters_stop_at_a_gap() -> None:
    body = box("filter", {"expression.0": "v > 1", "expression.1": "v > 2", "expression.3": "v > 3"}, outs=["x", "y"])
    (found,) = load(body).diagram.boxes
    assert found.spec == Filter(("v > 1", "v > 2"))
    said = warning(body)
    assert "'expression.3'" in said.what
    assert "expression.2" in said.what
    assert said.place.line == 9


def test_rule_5_a_name_that_may_be_left_out_makes_no_gap() -> None:
    functions = {f"aggregate-function.{n}": call for n, call in enumerate(("count()", "max(v)", "min(v)"))}
    third = {"aggregate-function-output-name.2": "Low"}
    body = box("aggregate", {**AGGREGATE, **functions, **third})
    loaded = load(body)
    (found,) = loaded.diagram.boxes
    assert found.spec.functions == (("agg_0", "count()"), ("agg_1", "max(v)"), ("low", "min(v)"))
    assert not loaded.warnings
    said = warning(box("aggregate", {**AGGREGATE, **third}))
    assert (
        said.what
        == "parameter 'aggregate-function-output-name.2' is ignored: there is no 'aggregate-function.2' that it names"
    )
    fields = {"out-field.0": "v", "out-field.1": "t", "out-field-name.1": "At", "window-size": "1"}
    expressions = {"key-field": "t", "expression.0": "v", "expression.1": "t", "output-field-name.1": "At"}
    sampled, combined = (
        found.spec
        for type_name, given in (("resample", fields), ("combine", expressions))
        for found in load(box(type_name, given, ["a", "b"])).diagram.boxes
    )
    assert [name for name, _ in sampled.fields] == [name for name, _ in combined.columns] == ["v", "at"]


def test_rule_5_numbers_start_at_0() -> None:
    found = problem(box("filter", {"expression.1": "v > 1"}))
    assert "'expression.0' is required" in found.what
    assert found.next_step is not None
    assert "numbers start at 0" in found.next_step


def test_rule_6_types_are_left_to_the_checker() -> None:
    loaded = load(box("filter", FILTER), '<output stream="out" schema="none"/>')
    output = loaded.diagram.output("out")
    assert output is not None
    assert output.schema is not None
    assert len(output.schema) == 0


def test_other_boxes_keep_their_parameters_folded() -> None:
    found = spec("soutput", {"Group-By": "V, W", "Processing-Mode": "UPSTREAM"})
    assert isinstance(found, SOutput)
    assert found.parameters == (("group-by", "v, w"), ("processing-mode", "UPSTREAM"))
